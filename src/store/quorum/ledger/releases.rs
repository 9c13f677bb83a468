//! The pending releases of one node.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use tokio::sync::Notify;

use super::{Books, Ledger};
use crate::{
    core::{Moment, Token},
    store::{Acquisition, Hold, quorum::core::FIRST_PAUSE},
};

/// The largest number of pending releases of a node. Holds beyond it are left to their TTL.
const MOST_PENDING: usize = 10_000;

/// The pending releases of one node.
#[derive(Debug, Default)]
pub(super) struct NodeReleases {
    pub(super) pending: BTreeMap<Token, PendingRelease>,
    /// Pending releases whose token is wanted again, kept until it is known if the node was reached.
    pub(super) wanted: HashMap<Token, PendingRelease>,
    /// Tokens whose release may still be executed, and the time until which that is expected.
    pub(super) in_flight: HashMap<Token, Moment>,
    /// Tokens that the node has been asked to release and has not answered. All of them are in flight.
    pub(super) asked: HashSet<Token>,
    /// Notifies of the answers to them, in the order in which they are waited for.
    pub(super) answered: Arc<Notify>,
    pub(super) worked_off: bool,
}

/// A pending release: a hold that nobody wants any more.
#[derive(Clone, Debug)]
pub(in crate::store::quorum) struct PendingRelease {
    pub(in crate::store::quorum) hold: Hold,
    /// The time at which its resource opens.
    pub(in crate::store::quorum) opening: Moment,
    /// The time at which the hold has ended by itself.
    pub(in crate::store::quorum) end: Moment,
    /// The latest attempt that left the hold; a later one wants it again.
    pub(in crate::store::quorum) attempt: u64,
    /// The pause after which it is released again if it is not held. Set for an acquisition that may still be executed.
    pub(in crate::store::quorum) again: Option<Duration>,
    /// The acquisition of a waiter that gives way: it is queued again by the call that releases it.
    pub(in crate::store::quorum) queued_again: Option<Arc<Acquisition>>,
}

impl PendingRelease {
    /// Returns the same release for a token that is not queued again. The acquisition that would queue it may still be
    /// executed.
    pub(in crate::store::quorum) fn without_place(self) -> Self {
        let again = self.again.or(self.queued_again.as_ref().map(|_| FIRST_PAUSE));
        Self { again, queued_again: None, ..self }
    }
}

impl NodeReleases {
    /// Sets a release aside, together with what is set aside of the same token already.
    pub(super) fn set_aside(&mut self, pending: PendingRelease) {
        if self.wanted.len() >= MOST_PENDING {
            return;
        }
        let before = self.wanted.remove(&pending.hold.token);
        let end = before.as_ref().map_or(pending.end, |before| before.end.max(pending.end));
        let again = pending.again.or(before.and_then(|before| before.again));
        self.wanted.insert(pending.hold.token, PendingRelease { end, again, queued_again: None, ..pending });
    }

    /// Holds the pending release of a token back. Returns true if its release is already in flight.
    pub(super) fn want_again(&mut self, token: Token, now: Moment) -> bool {
        if let Some(pending) = self.pending.remove(&token) {
            self.set_aside(pending);
        }
        self.in_flight.get(&token).is_some_and(|end| *end > now)
    }

    /// Has a waiter that is to give way only released, because it does not wait any more.
    pub(super) fn forget_place(&mut self, token: Token) {
        if let Some(pending) = self.pending.get_mut(&token) {
            pending.queued_again = None;
        }
    }

    /// Notes that the node has answered a release, or will not.
    pub(super) fn note_answer(&mut self, token: Token) {
        self.asked.remove(&token);
        self.answered.notify_waiters();
    }

    /// Queues a release. Returns true if the caller has to start the work.
    pub(super) fn queue(&mut self, pending: PendingRelease) -> bool {
        if self.pending.len() >= MOST_PENDING {
            tracing::debug!(token = %pending.hold.token.prefix(), "a node has too many pending releases; this hold ends by itself");
        } else {
            self.pending.insert(pending.hold.token, pending);
        }
        !std::mem::replace(&mut self.worked_off, true)
    }
}

/// Releases that stand in the way of votes.
impl Ledger {
    /// Marks the tokens of these requests as wanted again on a node that is about to be asked, which holds their pending
    /// releases back. Returns true for each whose release is already in flight, so that it is too late.
    pub(in crate::store::quorum) fn want_again(
        &self,
        node: usize,
        asked: &[Arc<Acquisition>],
        now: Moment,
    ) -> Vec<bool> {
        let releases = &mut self.books().releases[node];
        asked.iter().map(|asked| releases.want_again(asked.hold.token, now)).collect()
    }

    /// Does the same for an attempt that has waited for releases. Also returns true for each token that was released or asked
    /// for again meanwhile.
    pub(in crate::store::quorum) fn still_want(
        &self,
        node: usize,
        asked: &[Arc<Acquisition>],
        attempt: u64,
        now: Moment,
    ) -> Vec<bool> {
        let Books { tokens, releases, .. } = &mut *self.books();
        let is_too_late = |asked: &Arc<Acquisition>| {
            let token = asked.hold.token;
            let is_latest = tokens.get(&token).is_some_and(|entry| entry.attempt == attempt);
            !is_latest || releases[node].want_again(token, now)
        };
        asked.iter().map(is_too_late).collect()
    }

    /// Waits until the node has answered all releases of these requests' tokens that it was asked for.
    pub(in crate::store::quorum) async fn await_releases(&self, node: usize, of: &[Arc<Acquisition>]) {
        let answered = Arc::clone(&self.books().releases[node].answered);
        let is_asked = || {
            let books = self.books();
            of.iter().any(|of| books.releases[node].asked.contains(&of.hold.token))
        };
        loop {
            let mut next = pin!(answered.notified());
            // An answer that comes after the check counts.
            next.as_mut().enable();
            if !is_asked() {
                return;
            }
            next.await;
        }
    }

    /// Returns true if a release of this token may still be executed there, so that the node does not count for it.
    pub(in crate::store::quorum) fn is_being_released(&self, node: usize, token: Token, now: Moment) -> bool {
        self.books().releases[node].in_flight.get(&token).is_some_and(|end| *end > now)
    }
}
