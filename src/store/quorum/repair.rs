//! The repair of leases: a granted token holds again on nodes that lost it, and on those that missed its grant.

use std::sync::Arc;

use crate::{
    core::{Fence, Token, TurnEvent},
    store::{
        Acquisition, Certainty, Inbox, QueueTicket,
        quorum::{
            ballot::Ballot,
            releases::{FIRST_REPEAT, PendingRelease, ReleaseState},
            shared::Quorum,
            tokens::Granted,
        },
    },
};

impl Quorum {
    /// Handles what a node says of a token. A waiter follows it. A majority of the others may have been enough for the token: then
    /// it is granted, is in the queue of this node all the same, and its turn there is one to hold there too.
    pub(super) fn heard(self: &Arc<Self>, token: Token, node: usize, event: TurnEvent<'_>) {
        let is_granted = || self.books(|books| books.tokens.granted(token, self.now()).is_some());
        if !self.follow(token, None, event) && is_granted() {
            self.repair_later(node, token);
        }
    }

    /// Has a granted token hold, in the background, also on a node that lost it or has named it as next.
    pub(super) fn repair_later(self: &Arc<Self>, node: usize, token: Token) {
        tokio::spawn(repair(Arc::clone(self), node, token));
    }
}

async fn repair(quorum: Arc<Quorum>, node: usize, token: Token) {
    let now = quorum.now();
    let (granted, release) = quorum
        .books(|books| (books.tokens.granted(token, now).cloned(), books.releases[node].state(token, now)));
    let Some(Granted { attempt, asked, fence }) = granted else { return };
    match release {
        ReleaseState::None => {}
        // The lease is repaired when the node has answered.
        ReleaseState::Queued => return,
        ReleaseState::InFlight => {
            // An acquisition could be undone by it. The same release once more makes it certain that it is over.
            let again = PendingRelease::new(asked.hold.clone(), now, now + asked.ttl, attempt);
            return quorum.release_later(node, again);
        }
    }
    // First in the queue: a waiter that holds there gives way, for a majority refuses it, and the node has the lease again. A token
    // that had no ticket hears nothing from the node, and is repaired after its next renewal.
    let unheard = QueueTicket {
        inbox: Inbox(token),
        ttl: asked.ttl,
        grant_window: asked.ttl,
        max_waiters: 0,
        place: None,
    };
    let ticket = QueueTicket { max_waiters: u32::MAX, place: Some(1), ..asked.ticket.unwrap_or(unheard) };
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
    let left = PendingRelease { again: is_unknown.then_some(FIRST_REPEAT), ..left };
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
