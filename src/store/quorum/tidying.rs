//! The end of an attempt: what was not granted is released, or waits, and late answers are handled.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use crate::{
    core::{Fence, TokenPrefix, most_named},
    store::{
        Acquisition, Grant,
        quorum::{
            asking::raise,
            core::{Core, FIRST_PAUSE},
            counting::can_give_way,
            ledger::PendingRelease,
            node::Ballot,
            poll::Round,
            voting::Attempt,
        },
    },
};

/// Raises fences on a node that gave smaller ones.
async fn raise_late(
    core: Arc<Core>,
    asked: Arc<[Arc<Acquisition>]>,
    node: usize,
    raises: Vec<(usize, Fence)>,
) {
    if raises.is_empty() {
        return;
    }
    let node = &core.nodes[node];
    for error in raise(&core, node, &asked, &raises).await.into_iter().filter_map(Result::err) {
        let error = &error as &dyn std::error::Error;
        tracing::debug!(node = node.name, error, "a late fence was not written");
    }
}

/// Returns the holders that nodes named when they refused a request.
fn in_the_way(votes: &Round<Ballot>, which: usize) -> impl Iterator<Item = TokenPrefix> {
    votes.on(which).flatten().filter_map(|ballot| Some(ballot.refusal()?.by.token))
}

impl Attempt {
    /// Ends the attempt on each request: it is granted, waits, or everything that it left is released. Raises the fence of
    /// nodes that gave a smaller one. All that also goes for nodes that answer late.
    pub(super) async fn tidy_up(
        &self,
        votes: Round<Ballot>,
        (granted, waits): (&[Option<Grant>], &[bool]),
        written: &[(usize, Fence)],
    ) {
        for which in self.requests() {
            let asked = &self.asked[which];
            let ticket = asked.ticket.filter(|_| waits[which]);
            let end = ticket.map(|ticket| self.core.now() + ticket.ttl);
            if granted[which].is_some() {
                self.hold_where_named(&votes, which);
            } else if self.core.ledger.finish(self.number, asked, end) {
                self.wait(&votes, which);
            } else {
                self.release_everywhere(&votes, which);
            }
        }
        let smaller = self.smaller_fences(&votes, granted, written);
        for (node, raises) in smaller {
            tokio::spawn(raise_late(Arc::clone(&self.core), Arc::clone(&self.asked), node, raises));
        }
        self.await_late(votes, granted).await;
    }

    /// Has a token that is granted hold also on nodes that named it as next after it was counted.
    fn hold_where_named(&self, votes: &Round<Ballot>, which: usize) {
        let token = self.asked[which].hold.token;
        for node in self.core.waiters.remove(token, None) {
            if !matches!(votes.on(which).nth(node).flatten(), Some(Ballot::Yes(_))) {
                self.core.repair_later(node, token);
            }
        }
    }

    fn release_everywhere(&self, votes: &Round<Ballot>, which: usize) {
        self.core.waiters.remove(self.asked[which].hold.token, Some(self.number));
        if planted!("what a node grants to a failed attempt is left there") {
            return;
        }
        for (node, ballot) in votes.on(which).enumerate() {
            if let Some(ballot) = ballot {
                self.release_later(node, which, ballot);
            }
        }
    }

    /// Leaves a request in the queues. If its votes were split, it gives way on the nodes that granted it.
    fn wait(&self, votes: &Round<Ballot>, which: usize) {
        let (asked, mut split) = (&self.asked[which], Vec::new());
        for (node, ballot) in votes.on(which).enumerate() {
            match ballot {
                Some(Ballot::Yes(_)) => split.push(node),
                Some(ballot) => self.left_by_waiter(node, which, ballot),
                None => {}
            }
        }
        let token = asked.hold.token;
        // As many as can refuse a request together.
        let is_held = most_named(in_the_way(votes, which)) > self.core.nodes.len() - self.core.needed();
        let named = self.core.waiters.answered(token, self.number, &split, is_held, self.core.needed());
        self.core.await_majority(token, named);
        for (node, ballot) in votes.on(which).enumerate() {
            if let Some(ballot @ Ballot::Yes(_)) = ballot {
                self.give_way(node, which, ballot);
            }
        }
    }

    /// Releases what a node granted to a request that waits, and queues it there again at its place: the same on all nodes, or
    /// the end if it has none.
    fn give_way(&self, node: usize, which: usize, ballot: &Ballot) {
        let asked = &self.asked[which];
        let queued_again = can_give_way(asked).then(|| Arc::clone(asked));
        if queued_again.is_some() && planted!("nobody gives way in a split") {
            return;
        }
        self.core.release_later(node, PendingRelease { queued_again, ..self.pending(which, ballot) });
    }

    /// Handles what a ballot other than a grant left for a request that waits. What may still be executed is released
    /// together with the token.
    fn left_by_waiter(&self, node: usize, which: usize, ballot: &Ballot) {
        if matches!(ballot, Ballot::Abstains(_)) {
            self.release_later(node, which, ballot);
        } else if ballot.may_hold() || self.granted_first(ballot) {
            self.core.ledger.set_aside(node, self.pending(which, ballot));
        } else if self.is_being_released(node, which) {
            // Until that is certain the node counts for nothing.
            self.release_later(node, which, ballot);
        }
    }

    fn is_being_released(&self, node: usize, which: usize) -> bool {
        self.core.ledger.is_being_released(node, self.asked[which].hold.token, self.core.now())
    }

    async fn await_late(&self, mut votes: Round<Ballot>, granted: &[Option<Grant>]) {
        while let Some(node) = votes.late().await {
            let mut raises = Vec::new();
            for (which, ballot) in votes.of(node).iter().enumerate() {
                let token = self.asked[which].hold.token;
                match granted[which] {
                    Some(grant) if self.core.ledger.holds(token, self.core.now()) => {
                        let said = ballot.fence();
                        self.core.ledger.said(token, node, said);
                        let unraised = grant.fence.filter(|_| ballot.may_hold() && said < grant.fence);
                        raises.extend(unraised.map(|fence| (which, fence)));
                    }
                    None if self.core.ledger.waits(token, Some(self.number)) => match ballot {
                        Ballot::Yes(_) => self.give_way(node, which, ballot),
                        ballot => self.left_by_waiter(node, which, ballot),
                    },
                    _ if planted!("what a node grants late to a failed attempt is left there") => {}
                    // Not granted, or already over: it has ended, or was released, and this node may have executed the
                    // release first.
                    _ => self.release_later(node, which, ballot),
                }
            }
            // Other nodes that are late do not wait for it.
            tokio::spawn(raise_late(Arc::clone(&self.core), Arc::clone(&self.asked), node, raises));
        }
    }

    /// Returns the fences to raise on each node: those of nodes that answered with a smaller fence than the granted one and
    /// were not yet asked to write it.
    fn smaller_fences(
        &self,
        votes: &Round<Ballot>,
        granted: &[Option<Grant>],
        written: &[(usize, Fence)],
    ) -> Vec<(usize, Vec<(usize, Fence)>)> {
        let unwritten =
            granted.iter().enumerate().filter_map(|(which, grant)| Some((which, (*grant)?.fence?)));
        let unwritten: Vec<_> = unwritten.filter(|raise| !written.contains(raise)).collect();
        let smaller = |node| {
            let is_smaller = |&(which, fence): &(usize, Fence)| {
                let said = votes.on(which).nth(node).flatten().and_then(Ballot::fence);
                said.is_some_and(|said| said < fence)
            };
            unwritten.iter().copied().filter(is_smaller).collect::<Vec<_>>()
        };
        let nodes = (0..self.core.nodes.len()).map(|node| (node, smaller(node)));
        nodes.filter(|(_, raises)| !raises.is_empty()).collect()
    }

    /// Queues the release of what a ballot for a request that is over may have left on its node: a hold or a queue ticket. A
    /// ballot that was certainly not executed has left nothing, but what an earlier attempt left there is pending again.
    fn release_later(&self, node: usize, which: usize, ballot: &Ballot) {
        if ballot.may_leave_something() || self.granted_first(ballot) {
            let pending = self.pending(which, ballot);
            self.core.release_later(node, pending);
        } else if matches!(ballot, Ballot::Failed(_)) {
            self.core.release_again(node, self.asked[which].hold.token, self.number);
        }
    }

    /// Returns true if a node that the second vote did not reach may have granted in the first.
    fn granted_first(&self, ballot: &Ballot) -> bool {
        matches!(ballot, Ballot::Failed(_)) && self.voted_twice.load(Ordering::Relaxed)
    }

    fn pending(&self, which: usize, ballot: &Ballot) -> PendingRelease {
        let Acquisition { hold, ttl, ticket, .. } = &*self.asked[which];
        let (now, ticket_ttl) = (self.core.now(), ticket.map_or(Duration::ZERO, |ticket| ticket.ttl));
        PendingRelease {
            hold: hold.clone(),
            opening: now,
            end: now + ticket_ttl.max(*ttl),
            attempt: self.number,
            again: matches!(ballot, Ballot::Failed(_)).then_some(FIRST_PAUSE),
            queued_again: None,
        }
    }
}
