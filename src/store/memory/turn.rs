//! The environment of a verb: the time, new fences, and the inboxes that it may notify.

use crate::{
    core::{AHEAD_AT_MOST, Fence, Moment, Token},
    store::{HolderNotice, Inbox, Notification, STEPS_AT_MOST, memory::inboxes::Inboxes},
};

/// One verb's turn at the store.
pub(super) struct VerbTurn<'a> {
    pub(super) now: Moment,
    last_fence: &'a mut u64,
    has_proposal: bool,
    least_fence: u64,
    inboxes: &'a Inboxes,
    steps: u32,
    /// Set while the verb has found a hand-over that was not taken up, and has not acted on it yet.
    pub(super) found_unclaimed: bool,
}

impl<'a> VerbTurn<'a> {
    pub(super) fn new(now: Moment, last_fence: &'a mut u64, inboxes: &'a Inboxes) -> Self {
        Self {
            now,
            last_fence,
            has_proposal: false,
            least_fence: 0,
            inboxes,
            steps: 0,
            found_unclaimed: false,
        }
    }

    pub(super) fn new_fence(&mut self) -> Fence {
        if planted!("a fence that expires") && self.clock().get() > *self.last_fence + 1_000_000 {
            return Fence::new(1);
        }
        *self.last_fence = (*self.last_fence + 1).max(self.clock().get()).max(self.least_fence);
        Fence::new(*self.last_fence)
    }

    /// Makes the next fence at least this one, or as far past the time as it may be, whichever is less.
    pub(super) fn begin_at(&mut self, fence: Fence) {
        self.has_proposal = true;
        self.least_fence = fence.min(micros(self.now + AHEAD_AT_MOST)).get();
    }

    pub(super) const fn has_proposal(&self) -> bool {
        self.has_proposal
    }

    /// Returns the time, as the smallest fence that could be given out.
    pub(super) fn clock(&self) -> Fence {
        micros(self.now)
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

pub(super) fn micros(moment: Moment) -> Fence {
    Fence::new(moment.micros())
}
