//! What the verbs of a store take and answer.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

#[cfg(doc)]
use super::Store;
use super::{Holder, Inbox, StoreError};
use crate::protocol::{Fence, Mode, Owner, ResourceName, Token};

/// What a holder tells about itself: host, process id, purpose, trace id… Shown by `Inspect`, and to those who are
/// refused.
pub type Metadata = BTreeMap<String, String>;

/// How an acquisition waits in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where its hand-over is announced.
    pub inbox: Inbox,
    /// How long its place is kept after the last time the acquisition was repeated.
    pub patience: Duration,
    /// How long what it is handed over is kept for it to take up. At least 1 ms.
    pub grant_window: Duration,
    /// How many may wait for the resource, this one included.
    pub max_waiters: u32,
}

/// One acquisition as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// What is held.
    pub resource: ResourceName,
    /// The secret of this acquisition.
    pub token: Token,
    /// Who re-enters, if anybody.
    pub owner: Option<Owner>,
}

/// What is asked of [`Store::acquire`].
#[derive(Clone, Debug)]
pub struct Acquisition {
    /// Resource, token and owner.
    pub hold: Hold,
    /// How much of the resource.
    pub mode: Mode,
    /// Whether an exclusive acquisition is granted when the same owner has the resource already.
    pub reentrant: bool,
    /// How long it holds unless it is renewed, from when the store executes it. At least 1 ms.
    pub ttl: Duration,
    /// How much longer the resource stays closed if this hold expires instead of being released.
    pub lock_delay: Duration,
    /// What the holder tells about itself.
    pub metadata: Arc<Metadata>,
    /// How it waits if somebody is in its way; `None` is a try, which leaves nothing behind.
    pub place: Option<Place>,
}

/// The certain answers to [`Store::acquire`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// It holds.
    Granted(Grant),
    /// It does not hold, and does not wait.
    Refused(Refusal),
    /// It does not hold, and waits with this many ahead of it.
    Queued {
        /// Who is in the way.
        refusal: Refusal,
        /// How many wait ahead of it; 0 is the head of the queue.
        ahead: u64,
    },
    /// It does not hold, and cannot wait: the queue is as long as it may be.
    Full {
        /// How many wait.
        waiters: u64,
    },
}

/// What was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The fencing number; the same for all holds of one re-entered resource. `None` on stores that cannot give one.
    pub fence: Option<Fence>,
    /// How many holds this owner has of the resource now, this one included; 1 without an owner.
    pub holds: u64,
}

/// Why it was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A holder that is in the way, or kept the resource busy while others wait ahead.
    pub by: Holder,
    /// The time until holders may have ended on their own so that a new attempt is worth while: the first end for
    /// permits, else the last.
    pub remaining: Duration,
}

/// The certain answers to [`Store::renew`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewed {
    /// The end is counted anew.
    Extended,
    /// This token holds nothing.
    NotHeld,
}

/// The certain answers to [`Store::release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a release may find that the lease was lost before"]
pub enum Released {
    /// Given back, and the owner holds nothing of the resource any more.
    Freed,
    /// Given back, and the same owner still holds the resource this many times.
    StillHeld {
        /// The holds that are left, 1 or more.
        count: u64,
    },
    /// This token held nothing: it expired, was taken away, or was given back before.
    NotHeld {
        /// How many holds the same owner has all the same; 0 without an owner.
        count: u64,
    },
}

/// The certain answers to [`Store::pass`].
#[derive(Clone, Debug)]
pub struct Passed {
    /// What the release did.
    pub released: Released,
    /// What the acquisition was told; it may have an unknown outcome though the release has none.
    pub acquired: Result<Acquired, StoreError>,
    /// Whether anybody else waits for the resource now, as far as the store can tell.
    pub others_wait: bool,
}
