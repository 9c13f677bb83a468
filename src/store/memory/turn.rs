//! What a verb works with: the time, new fences, and the inboxes that it may announce to.

use std::time::Duration;

use super::inboxes::Inboxes;
use crate::{
    protocol::{Fence, Moment},
    store::{Announcement, Inbox},
};

/// One verb's turn at the store.
pub(super) struct Turn<'a> {
    pub(super) now: Moment,
    last_fence: &'a mut u64,
    inboxes: &'a Inboxes,
}

impl<'a> Turn<'a> {
    pub(super) fn new(now: Moment, last_fence: &'a mut u64, inboxes: &'a Inboxes) -> Self {
        Self { now, last_fence, inboxes }
    }

    pub(super) fn new_fence(&mut self) -> Fence {
        let micros = u64::try_from(since_origin(self.now).as_micros()).unwrap_or(u64::MAX);
        *self.last_fence = (*self.last_fence + 1).max(micros);
        Fence::new(*self.last_fence)
    }

    /// Fences that are given out from now on are larger than this.
    pub(super) fn raise_fence(&mut self, fence: Fence) {
        *self.last_fence = (*self.last_fence).max(fence.get());
    }

    /// Answers whether anybody listens.
    pub(super) fn announce(&self, inbox: Inbox, announcement: &Announcement) -> bool {
        self.inboxes.announce(inbox, announcement)
    }
}

pub(super) fn since_origin(moment: Moment) -> Duration {
    Moment::since_origin(Duration::ZERO).elapsed(moment)
}
