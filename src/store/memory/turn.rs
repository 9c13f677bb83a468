//! The environment of a verb: the time, new fences, and the inboxes that it may notify.

use crate::{
    core::{AHEAD_AT_MOST, Fence, Moment, Token},
    store::{HolderNotice, Notification, memory::inboxes::Inboxes},
};

/// One verb's turn at the store.
pub(super) struct VerbTurn<'a> {
    pub(super) now: Moment,
    last_fence: &'a mut u64,
    /// The smallest fence for a new grant that a quorum has proposed.
    pub(super) least_fence: Option<u64>,
    pub(super) inboxes: &'a Inboxes,
    /// The work for waiters so far, which `STEPS_AT_MOST` bounds.
    pub(super) steps: u32,
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

    pub(super) fn raise_fence(&mut self, fence: Fence) {
        *self.last_fence = (*self.last_fence).max(fence.get());
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
