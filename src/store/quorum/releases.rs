//! The pending releases of one node.

use std::{
    collections::{BTreeMap, HashMap},
    iter,
    sync::Arc,
    time::Duration,
};

use tokio::sync::Notify;

use crate::{
    core::{Moment, Token},
    store::{Acquisition, Certainty, Hold, quorum::tokens::AFTER},
};

/// The largest number of pending releases of a node. Holds beyond it are left to their TTL.
const MOST_PENDING: usize = 10_000;

/// The repetition of a release that found nothing, because its acquisition may still be executed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repetition {
    /// The pause before it, which doubles.
    pub(super) pause: Duration,
    /// The time at which a hold of that acquisition has ended by itself.
    pub(super) until: Moment,
}

impl Repetition {
    /// Creates the first one.
    pub(super) const fn first(until: Moment) -> Self {
        Self { pause: Duration::from_millis(50), until }
    }

    /// Returns the one after this, unless it would be too late.
    pub(super) fn next(self, now: Moment) -> Option<Self> {
        (self.pause < self.until.remaining(now)).then(|| Self { pause: 2 * self.pause, ..self })
    }
}

/// A pending release: a hold that nobody wants any more.
#[derive(Clone, Debug)]
pub(super) struct PendingRelease {
    pub(super) hold: Hold,
    /// The time at which its resource opens.
    pub(super) opening: Moment,
    /// The time at which the hold has ended by itself.
    pub(super) end: Moment,
    /// The latest attempt that left the hold; a later one wants it again.
    pub(super) attempt: u64,
    /// Set for an acquisition that may still be executed: it is released again if it is not held.
    pub(super) again: Option<Repetition>,
    /// The acquisition of a waiter that gives way: it is queued again by the call that releases it.
    pub(super) queued_again: Option<Arc<Acquisition>>,
    /// True if the token is granted by other nodes, and is repaired on this one when it has answered.
    pub(super) then_repair: bool,
}

impl PendingRelease {
    /// Creates the release of a hold that this attempt left.
    pub(super) const fn new(hold: Hold, opening: Moment, end: Moment, attempt: u64) -> Self {
        Self { hold, opening, end, attempt, again: None, queued_again: None, then_repair: false }
    }

    /// Returns this release in place of an earlier one of its token, whose acquisition may still be executed.
    fn after(self, before: Option<Self>) -> Self {
        let Some(before) = before else { return self };
        let opening = before.opening.max(self.opening);
        Self { opening, end: before.end.max(self.end), again: self.again.or(before.again), ..self }
    }

    /// Returns the same release for a token that is not queued again; the call that would queue it may still be executed.
    pub(super) fn without_place(self) -> Self {
        let again = self.again.or(self.queued_again.as_ref().map(|_| Repetition::first(self.end)));
        Self { again, queued_again: None, ..self }
    }
}

/// The state of the releases of a token on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReleaseState {
    None,
    /// One is to be sent, or is not answered.
    Queued,
    /// One failed that may still be executed, and none is to be sent.
    InFlight,
}

#[derive(Debug, Default)]
pub(super) struct NodeReleases {
    pending: BTreeMap<Token, PendingRelease>,
    /// Pending releases whose token is wanted again, kept until it is known if the node was reached, or is being released by a verb.
    pub(super) aside: HashMap<Token, PendingRelease>,
    /// Tokens whose release failed and may still be executed, and the time until which that is expected.
    in_flight: HashMap<Token, Moment>,
    /// Tokens that the node has been asked to release and has not answered.
    /// True: it is [repaired](PendingRelease::then_repair) then.
    asked: HashMap<Token, bool>,
    /// Notifies of the answers to them, in the order in which they are waited for.
    answered: Arc<Notify>,
    /// True while the pending ones are worked off. If not, the next release that is queued starts the work.
    pub(super) worked_off: bool,
}

impl NodeReleases {
    /// Queues a release. Returns true if the caller has to start the work.
    pub(super) fn queue(&mut self, pending: PendingRelease) -> bool {
        if self.pending.len() >= MOST_PENDING {
            tracing::debug!(token = %pending.hold.token.prefix(), "a node has too many pending releases; this hold ends by itself");
        } else {
            let token = pending.hold.token;
            let pending = pending.after(self.pending.remove(&token));
            self.pending.insert(token, pending);
        }
        !std::mem::replace(&mut self.worked_off, true)
    }

    /// Sets a release aside, with what is aside of its token already, until that is released or an attempt misses the node.
    pub(super) fn set_aside(&mut self, pending: PendingRelease) {
        if self.aside.len() >= MOST_PENDING {
            return;
        }
        let token = pending.hold.token;
        let pending = pending.after(self.aside.remove(&token));
        self.aside.insert(token, PendingRelease { queued_again: None, then_repair: false, ..pending });
    }

    /// Holds the pending release of a token back. Returns true if its release is already in flight.
    pub(super) fn want_again(&mut self, token: Token, now: Moment) -> bool {
        self.hold_back(token);
        self.is_in_flight(token, now)
    }

    /// Sets the pending release of a token aside.
    pub(super) fn hold_back(&mut self, token: Token) {
        if let Some(pending) = self.pending.remove(&token) {
            self.set_aside(pending);
        }
    }

    /// Returns true if a release of this token may still be executed, so that the node does not count for it.
    pub(super) fn is_in_flight(&self, token: Token, now: Moment) -> bool {
        self.asked.contains_key(&token) || self.in_flight.get(&token).is_some_and(|end| *end > now)
    }

    /// Returns true if there is nothing to release and nothing in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.asked.is_empty() && self.in_flight.is_empty()
    }

    /// Returns the state of the releases of this token. The node does not count for a renewal unless there are none.
    pub(super) fn state(&self, token: Token, now: Moment) -> ReleaseState {
        if self.pending.contains_key(&token) || self.asked.contains_key(&token) {
            ReleaseState::Queued
        } else if self.is_in_flight(token, now) {
            ReleaseState::InFlight
        } else {
            ReleaseState::None
        }
    }

    /// Has a token repaired after the release that is to be sent, or to be answered. Returns the state of its releases.
    pub(super) fn repair_after(&mut self, token: Token, now: Moment) -> ReleaseState {
        let pending = self.pending.get_mut(&token).map(|pending| &mut pending.then_repair);
        pending.into_iter().chain(self.asked.get_mut(&token)).for_each(|then_repair| *then_repair = true);
        self.state(token, now)
    }

    /// Has a waiter that is to give way only released, because it does not wait any more.
    pub(super) fn forget_place(&mut self, token: Token) {
        if let Some(pending) = self.pending.get_mut(&token) {
            pending.queued_again = None;
        }
    }

    /// Takes up to `most` pending releases. An empty result means that the work is done.
    pub(super) fn take(&mut self, most: usize, now: Moment) -> Vec<PendingRelease> {
        self.pending.retain(|_, pending| pending.end > now);
        self.aside.retain(|_, pending| pending.end > now);
        self.in_flight.retain(|_, end| *end > now);
        let due: Vec<_> = iter::from_fn(|| self.pending.pop_first()).take(most).collect();
        self.asked.extend(due.iter().map(|(token, pending)| (*token, pending.then_repair)));
        self.worked_off = !due.is_empty();
        due.into_iter().map(|(_, pending)| pending).collect()
    }

    /// Settles the releases of a token: the node has answered one, and executes none that was sent before. Returns true if the
    /// token is to be repaired.
    pub(super) fn settled(&mut self, token: Token) -> bool {
        self.in_flight.remove(&token);
        self.note_answer(token)
    }

    /// Puts back a release that failed: in flight if it may still be executed, and pending too unless it is held back.
    pub(super) fn failed(&mut self, pending: PendingRelease, is_held_back: bool, certainty: Certainty) {
        let token = pending.hold.token;
        if certainty == Certainty::Unknown {
            let end = self.in_flight.entry(token).or_insert(pending.end + AFTER);
            *end = (*end).max(pending.end + AFTER);
        }
        let then_repair = self.note_answer(token);
        let pending = PendingRelease { then_repair, ..pending };
        if is_held_back {
            self.set_aside(pending);
        } else {
            // With what has been queued meanwhile.
            let queued = self.pending.remove(&token);
            self.pending.insert(token, pending.after(queued));
        }
    }

    /// Returns what notifies of the next answer if the node has not answered the release of one of these tokens.
    pub(super) fn unanswered(&self, mut tokens: impl Iterator<Item = Token>) -> Option<Arc<Notify>> {
        tokens.any(|token| self.asked.contains_key(&token)).then(|| Arc::clone(&self.answered))
    }

    fn note_answer(&mut self, token: Token) -> bool {
        let then_repair = self.asked.remove(&token);
        self.answered.notify_waiters();
        then_repair == Some(true)
    }
}
