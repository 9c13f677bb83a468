//! The repair of leases: a granted token holds again on nodes that lost it, and on those that missed its grant.

use std::sync::Arc;

use super::{
    ballot::Ballot,
    releases::{PendingRelease, ReleaseState, Repetition},
    shared::Quorum,
    tokens::Granted,
};
use crate::{
    core::{Fence, Token, TurnEvent},
    store::{Acquisition, Certainty, Inbox, QueueTicket},
};

impl Quorum {
    /// Handles what a node says of a token. A waiter follows it. A token that a majority of the others has granted may still be in
    /// the queue of this node: it is repaired there.
    pub(super) fn heard(self: &Arc<Self>, token: Token, node: usize, event: TurnEvent<'_>) {
        let is_granted = || self.books(|books| books.tokens.granted(token, self.now()).is_some());
        if !self.follow(token, None, event) && is_granted() {
            self.repair_later(node, token);
        }
    }

    /// Has a granted token hold, in the background, also on a node that lost it or did not grant it.
    pub(super) fn repair_later(self: &Arc<Self>, node: usize, token: Token) {
        tokio::spawn(repair(Arc::clone(self), node, token));
    }
}

/// Returns the grant of a token that is to be repaired on a node now. If an earlier release of it may still be executed there, which
/// would undo the repair, another release is sent first: its answer makes certain that the earlier one is over.
fn begin(quorum: &Arc<Quorum>, node: usize, token: Token) -> Option<Granted> {
    let now = quorum.now();
    let (granted, begins) = quorum.books(|books| {
        let Some(granted) = books.tokens.granted(token, now).cloned() else { return (None, false) };
        match books.releases[node].repair_after(token, now) {
            ReleaseState::None => (Some(granted), false),
            ReleaseState::Queued => (None, false),
            ReleaseState::InFlight => {
                let Acquisition { hold, ttl, .. } = &*granted.asked;
                let again = PendingRelease::new(hold.clone(), now, now + *ttl, granted.attempt);
                (None, books.release_later(node, PendingRelease { then_repair: true, ..again }))
            }
        }
    });
    quorum.work_off_if(begins, node);
    granted
}

async fn repair(quorum: Arc<Quorum>, node: usize, token: Token) {
    let Some(Granted { attempt, asked, fence }) = begin(&quorum, node, token) else { return };
    // First in the queue, unless it waits there already: a waiter that holds there gives way, for a majority refuses it, and the node
    // has the lease again. A token that never waited hears nothing from the node, and is repaired after its next renewal.
    let (max_waiters, place) = (u32::MAX, Some(1));
    let ticket = match asked.ticket {
        Some(ticket) => QueueTicket { max_waiters, place, ..ticket },
        None => {
            QueueTicket { inbox: Inbox(token), ttl: asked.ttl, grant_window: asked.ttl, max_waiters, place }
        }
    };
    let again = Acquisition { ticket: Some(ticket), ..Acquisition::clone(&asked) };
    let (ballots, _) = quorum.ballots(node, &[Arc::new(again)], Fence::new(0)).await;
    if let (Some(fence), true) = (fence, ballots.iter().all(Ballot::may_hold)) {
        // The node's own fence may be larger. It stands for that of the lease then.
        ballots.iter().filter_map(Ballot::fence).for_each(|said| fence.said(node, said));
        let _raised = quorum.store(node).raise_fences(&[(&asked.hold, fence.get())]).await;
    }
    let now = quorum.now();
    let is_unknown =
        ballots.iter().filter_map(Ballot::failure).any(|error| error.certainty() == Certainty::Unknown);
    let end = now + asked.ttl.max(ticket.ttl);
    let left = PendingRelease::new(asked.hold.clone(), now, end, attempt);
    let left = PendingRelease { again: is_unknown.then(|| Repetition::first(end)), ..left };
    let holds = quorum.books(|books| {
        let holds = books.tokens.holds_since(token, attempt, now);
        if holds && is_unknown {
            // It may be executed after the release of the lease, which is then repeated.
            books.releases[node].set_aside(left.clone());
        }
        holds
    });
    if !holds {
        // The lease was released, or has ended, while it was being repaired.
        quorum.release_later(node, left);
    }
}
