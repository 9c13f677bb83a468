//! The pending releases of one node.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

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

    /// Has a waiter that is to give way only released, because it does not wait any more.
    pub(super) fn forget_place(&mut self, token: Token) {
        if let Some(pending) = self.pending.get_mut(&token) {
            pending.queued_again = None;
        }
    }

    /// Queues a release. Returns true if the caller has to start the work.
    pub(super) fn queue(&mut self, pending: PendingRelease) -> bool {
        if self.pending.len() >= MOST_PENDING {
            tracing::debug!(token = %pending.hold.token.prefix(), "a node has too many pending releases; this hold ends by itself");
            return false;
        }
        self.pending.insert(pending.hold.token, pending);
        !std::mem::replace(&mut self.worked_off, true)
    }
}
