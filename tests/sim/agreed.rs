//! What a quorum promised, and what its nodes keep of it: every grant and renewal of a majority is judged here.

use std::{collections::HashMap, time::Duration};

use leasehold::{Fence, Mode, Owner, Token};
use leasehold_testing::history::conflicting;

use super::{
    history::Wanted,
    model::{Verdict, property_of},
};

/// One resource as the history of the nodes and of the answers of their majority says.
#[derive(Default)]
pub(crate) struct Agreed {
    /// Where each token holds.
    kept: HashMap<Token, HashMap<usize, Kept>>,
    /// What was answered, as long as it may be believed.
    promises: Vec<Promise>,
    /// The largest fence that had been given out, since when, and to whom.
    largest: Vec<(Duration, Fence, Option<Owner>)>,
    /// Which grant it was that had this fence first.
    order: HashMap<Fence, u64>,
}

/// A token on one node.
#[derive(Clone, Copy)]
struct Kept {
    end: Duration,
    /// When the node forgot it. Until its end it counts all the same: the node must not vote for anybody else.
    forgotten: Option<Duration>,
    /// Whether the node has executed a release of it.
    reclaimed: bool,
}

#[derive(Clone)]
struct Promise {
    token: Token,
    owner: Option<Owner>,
    mode: Mode,
    /// Nobody may believe in it any longer.
    until: Duration,
}

impl Agreed {
    /// A token holds on a node until then; in the past if it does not.
    pub(crate) fn on_node(&mut self, node: usize, token: Token, end: Duration) {
        let nodes = self.kept.entry(token).or_default();
        let reclaimed = nodes.get(&node).is_some_and(|kept| kept.reclaimed);
        nodes.insert(node, Kept { end, forgotten: None, reclaimed });
    }

    /// A node has executed a release.
    pub(crate) fn off_node(&mut self, node: usize, token: Token, now: Duration) {
        let kept = self.kept.entry(token).or_default().entry(node);
        let kept = kept.or_insert(Kept { end: now, forgotten: None, reclaimed: true });
        (kept.end, kept.reclaimed) = (kept.end.min(now), true);
    }

    /// A node was started again, empty.
    pub(crate) fn forgot(&mut self, node: usize, now: Duration) {
        for kept in self.kept.values_mut().filter_map(|nodes| nodes.get_mut(&node)) {
            kept.forgotten.get_or_insert(now);
        }
    }

    /// Until when a token is on a majority of so many nodes.
    pub(crate) fn end_of(&self, token: Token, nodes: usize) -> Option<Duration> {
        let mut ends: Vec<_> = self.kept.get(&token)?.values().map(|kept| kept.end).collect();
        ends.sort_unstable_by(|a, b| b.cmp(a));
        Some(ends.get(nodes / 2).copied().unwrap_or_default())
    }

    pub(crate) fn is_live(&self, token: Token, nodes: usize, now: Duration) -> bool {
        self.end_of(token, nodes).is_some_and(|end| end > now)
    }

    /// Until when a token is on a majority, or on any node that has executed no release of it. An acquisition that a node
    /// executes after its release may stay there: on a minority it does no harm but to the chances of others.
    pub(crate) fn last_end_of(&self, token: Token, nodes: usize) -> Option<Duration> {
        let there = |kept: &Kept| kept.forgotten.map_or(kept.end, |forgotten| kept.end.min(forgotten));
        let kept = self.kept.get(&token)?.values().filter(|kept| !kept.reclaimed);
        kept.map(there).chain(self.end_of(token, nodes)).max()
    }

    pub(crate) fn order_of(&self, fence: Fence) -> Option<u64> {
        self.order.get(&fence).copied()
    }

    /// The majority answered that this is granted; it was asked at `sent`.
    pub(crate) fn granted(
        &mut self,
        asked: &Wanted,
        fence: Fence,
        (sent, now): (Duration, Duration),
        nodes: usize,
    ) -> Verdict {
        self.promises.retain(|promise| promise.until > now);
        let others = self.promises.iter().filter(|promise| {
            promise.token != asked.token && (asked.owner.is_none() || promise.owner != asked.owner)
        });
        let beside = conflicting(asked.mode, others.map(|promise| (promise, promise.mode))).next().cloned();
        let again = self.promises.iter().any(|promise| promise.token == asked.token);
        let floor = self.largest_before(sent);
        self.promises.retain(|promise| promise.token != asked.token);
        let (token, owner, mode) = (asked.token, asked.owner.clone(), asked.mode);
        self.promises.push(Promise { token, owner: owner.clone(), mode, until: sent + asked.ttl });
        let next = self.order.len() as u64 + 1;
        self.order.entry(fence).or_insert(next);
        if self.largest.last().is_none_or(|(_, largest, _)| *largest < fence) {
            self.largest.push((now, fence, owner));
        }
        if let Some(other) = beside {
            let details = format!("granted as {mode} beside {:?} as {}", other.token, other.mode);
            return Err((property_of(mode), details));
        }
        if !self.is_live(token, nodes, now) {
            return Err(("P12", format!("{token:?} was granted, but is not on a majority of {nodes} nodes")));
        }
        // A reader may have held before, without an answer.
        let Some((floor, whose)) = floor.filter(|_| mode == Mode::Exclusive) else { return Ok(()) };
        // Of two holds of one owner, either number may be what the next one enters with.
        let its_own = asked.owner.is_some() && whose == asked.owner;
        match fence > floor || fence == floor && again || its_own {
            true => Ok(()),
            false => Err(("P2", format!("{fence:?}, but {floor:?} was given out before it was asked for"))),
        }
    }

    /// The majority answered that this is renewed; it was asked at `sent`.
    pub(crate) fn renewed(&mut self, token: Token, until: Duration, nodes: usize, now: Duration) -> Verdict {
        // Whoever is released meanwhile has no use for the answer.
        let Some(promise) = self.promises.iter_mut().find(|promise| promise.token == token) else {
            return Ok(());
        };
        promise.until = promise.until.max(until);
        match self.end_of(token, nodes).is_some_and(|end| end >= until) {
            true => Ok(()),
            false => Err(("P12", format!("{token:?} was renewed at {now:?}, but not by a majority"))),
        }
    }

    /// Nobody believes in it any more.
    pub(crate) fn let_go(&mut self, token: Token) {
        self.promises.retain(|promise| promise.token != token);
    }

    fn largest_before(&self, moment: Duration) -> Option<(Fence, Option<Owner>)> {
        let before = self.largest.partition_point(|(since, ..)| *since <= moment);
        before.checked_sub(1).map(|last| (self.largest[last].1, self.largest[last].2.clone()))
    }
}
