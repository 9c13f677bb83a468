//! What is kept of one hold.

use std::time::Duration;

use crate::{
    protocol::{Fence, Mode, Moment, Owner, Token},
    store::{Holder, HolderState, Metadata},
};

/// One who holds, or keeps closed, a resource.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) token: Token,
    pub(super) owner: Option<Owner>,
    pub(super) mode: Mode,
    pub(super) fence: Fence,
    /// When it stops to hold.
    pub(super) end: Moment,
    pub(super) lock_delay: Duration,
    /// When the resource is free of it.
    pub(super) opening: Moment,
    pub(super) metadata: Metadata,
}

impl Record {
    pub(super) fn permits(&self) -> u64 {
        match self.mode {
            Mode::Permits { count, .. } => u64::from(count.get()),
            Mode::Exclusive | Mode::Shared => 0,
        }
    }

    pub(super) fn describe(&self, now: Moment) -> Holder {
        let (state, ends) = if now < self.end {
            (HolderState::Holding, self.end)
        } else {
            (HolderState::Closed, self.opening)
        };
        Holder {
            token: self.token.prefix(),
            mode: self.mode,
            state,
            owner: self.owner.clone(),
            fence: Some(self.fence),
            remaining: ends.remaining(now),
            metadata: self.metadata.clone(),
        }
    }
}

/// A duration as a server keeps it: in whole milliseconds, rounded down.
pub(super) fn whole_millis(duration: Duration) -> Duration {
    Duration::new(duration.as_secs(), duration.subsec_millis() * 1_000_000)
}

/// A hold lasts 1 ms at least.
pub(super) fn lifetime(ttl: Duration) -> Duration {
    whole_millis(ttl).max(Duration::from_millis(1))
}
