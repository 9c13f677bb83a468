//! The environment of a verb: the time, new fences, and the inboxes that it may notify.

use crate::{
    core::{AHEAD_AT_MOST, Fence, Moment, Token},
    store::{HolderNotice, Inbox, Notification, STEPS_AT_MOST, memory::inboxes::Inboxes},
};

/// One verb's turn at the store.
pub(super) struct VerbTurn<'a> {
    pub(super) now: Moment,
    last_fence: &'a mut u64,
    /// The smallest fence for a new grant that a quorum has proposed.
    least_fence: Option<u64>,
    inboxes: &'a Inboxes,
    steps: u32,
    /// Set while the verb has found a hand-over that was not taken up, and has not acted on it yet.
    pub(super) found_unclaimed: bool,
}

impl<'a> VerbTurn<'a> {
    pub(super) fn new(now: Moment, last_fence: &'a mut u64, inboxes: &'a Inboxes) -> Self {
        Self { now, last_fence, least_fence: None, inboxes, steps: 0, found_unclaimed: false }
    }

    pub(super) fn new_fence(&mut self) -> Fence {
        let clock = self.now.micros();
        if planted!("a fence that expires") && clock > *self.last_fence + 1_000_000 {
            return Fence::new(1);
        }
        *self.last_fence = (*self.last_fence + 1).max(clock).max(self.least_fence.unwrap_or(0));
        Fence::new(*self.last_fence)
    }

    /// Makes the next fence at least this one, or as far past the time as it may be, whichever is less.
    pub(super) fn propose(&mut self, fence: Fence) {
        self.least_fence = Some(fence.get().min((self.now + AHEAD_AT_MOST).micros()));
    }

    pub(super) const fn has_proposal(&self) -> bool {
        self.least_fence.is_some()
    }

    pub(super) fn raise_fence(&mut self, fence: Fence) {
        *self.last_fence = (*self.last_fence).max(fence.get());
    }

    /// Returns true if the verb has served as many waiters as one verb may.
    pub(super) const fn is_used_up(&self) -> bool {
        self.steps >= STEPS_AT_MOST
    }

    pub(super) const fn handed_over(&mut self) {
        const STEPS: u32 = 5;
        self.steps += STEPS;
    }

    pub(super) const fn passed_over(&mut self) {
        self.steps += 1;
    }

    pub(super) fn notify(&self, inbox: Inbox, notification: &Notification) -> bool {
        self.inboxes.notify(inbox, notification)
    }

    /// Sends a notice to these holders, if there are any.
    pub(super) fn notify_holders(&self, holders: &[Token], notice: HolderNotice) {
        if !holders.is_empty() {
            self.inboxes.notify_all(&Notification::ToHolders(holders.to_vec(), notice));
        }
    }
}

/// Returns a time as the smallest fence that could be given out at it.
pub(super) fn micros(moment: Moment) -> Fence {
    Fence::new(moment.micros())
}
