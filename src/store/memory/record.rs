//! The record of one hold.

use std::{sync::Arc, time::Duration};

use crate::{
    core::{Fence, Mode, Moment, Owner, Token, since_given},
    store::{Acquisition, Holder, HolderState, Metadata},
};

/// A holder of a resource, which may keep it closed afterwards.
#[derive(Debug)]
pub(super) struct HoldRecord {
    pub(super) token: Token,
    pub(super) owner: Option<Owner>,
    pub(super) mode: Mode,
    pub(super) fence: Fence,
    pub(super) state: HolderState,
    end: Moment,
    lock_delay: Duration,
    /// The time at which the resource is free of it.
    pub(super) opening: Moment,
    pub(super) metadata: Arc<Metadata>,
    /// The number of permits.
    pub(super) slot: Option<u32>,
}

impl HoldRecord {
    pub(super) fn new(asked: &Acquisition, fence: Fence, now: Moment) -> Self {
        let mut record = Self::handed_over(asked, fence, now);
        record.extend(asked.ttl, now);
        record
    }

    /// Creates a hold that nobody has taken up yet: no lock delay keeps the resource closed after its end. The first
    /// [`extend`](Self::extend) takes it up.
    pub(super) fn handed_over(asked: &Acquisition, fence: Fence, end: Moment) -> Self {
        Self {
            token: asked.hold.token,
            owner: asked.hold.owner.clone(),
            mode: asked.mode,
            fence,
            state: HolderState::Holding,
            end,
            lock_delay: whole_millis(asked.lock_delay),
            opening: end,
            metadata: Arc::clone(&asked.metadata),
            slot: None,
        }
    }

    pub(super) fn extend(&mut self, ttl: Duration, now: Moment) {
        self.end = now + positive_millis(ttl);
        self.opening = self.end + self.lock_delay;
    }

    pub(super) fn holds(&self) -> bool {
        self.state == HolderState::Holding
    }

    /// Returns the time at which it changes by itself: its end, and after that its opening.
    pub(super) fn due(&self) -> Moment {
        if self.holds() { self.end } else { self.opening }
    }

    pub(super) fn permits(&self) -> u32 {
        match self.mode {
            Mode::Permits { count, .. } => count.get(),
            Mode::Exclusive | Mode::Shared => 0,
        }
    }

    pub(super) fn inspect(&self, now: Moment) -> Holder {
        let held_for = since_given(self.fence.get(), now.micros()).filter(|_| self.holds());
        Holder { held_for, ..self.describe(now) }
    }

    pub(super) fn describe(&self, now: Moment) -> Holder {
        Holder {
            token: self.token.prefix(),
            mode: self.mode,
            state: self.state,
            owner: self.owner.clone(),
            fence: Some(self.fence),
            remaining: self.due().remaining(now),
            held_for: None,
            metadata: Metadata::clone(&self.metadata),
        }
    }
}

/// Rounds a duration up to whole milliseconds, as a server keeps it, so that nothing is kept shorter than asked.
pub(super) fn whole_millis(duration: Duration) -> Duration {
    let millis = duration.as_nanos().div_ceil(1_000_000);
    u64::try_from(millis).map_or(Duration::MAX, Duration::from_millis)
}

/// Rounds a duration up to at least 1 ms.
pub(super) fn positive_millis(duration: Duration) -> Duration {
    whole_millis(duration).max(Duration::from_millis(1))
}
