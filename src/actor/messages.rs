//! The other messages that a lock manager takes: release, renew, questions, shutdown.

use std::{sync::Arc, time::Duration};

use actix::Message;

use crate::{
    actor::{InspectError, ReleaseError, RenewError, Statistics, state::LeaseState},
    protocol::{Backoff, Invalid, ResourceName, Token},
    store::{Inspection, Listing},
};

/// Gives a lease back by its token. [`Lease::release`](super::Lease::release) sends it, and so does dropping a lease.
///
/// A token that this manager does not know is looked for in the store: a lease may be released by another process
/// than the one that acquired it, if that hands over resource and token.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Released, ReleaseError>")]
pub struct Release {
    pub(crate) resource: Result<ResourceName, Invalid>,
    pub(crate) token: Token,
    /// The lease itself, which the manager may have forgotten because it was lost.
    pub(crate) lease: Option<Arc<LeaseState>>,
    /// How often handling it panicked.
    pub(crate) panics: u32,
}

impl Release {
    /// Gives back what this token holds of this resource.
    pub fn new(resource: impl AsRef<[u8]>, token: Token) -> Self {
        Self { resource: ResourceName::new(resource), token, lease: None, panics: 0 }
    }

    pub(crate) fn of(lease: &Arc<LeaseState>) -> Self {
        let (resource, token) = (Ok(lease.hold.resource.clone()), lease.hold.token);
        Self { resource, token, lease: Some(Arc::clone(lease)), panics: 0 }
    }
}

/// What a release did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// The owner holds nothing of the resource any more. (With a `min_hold` it opens when that is over.)
    Freed,
    /// The same owner still holds the resource this many times: it had re-entered.
    StillHeld {
        /// The holds that are left, 1 or more.
        count: u64,
    },
}

/// Renews a lease of this manager now. The lease's renewer sends it; for a lease with `no_renew` the holder does,
/// through [`Lease::renew`](super::Lease::renew). Answered with how long the lease is certainly valid.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<Duration, RenewError>")]
pub struct Renew {
    pub(crate) token: Token,
}

impl Renew {
    /// Renews the lease of this token.
    pub const fn new(token: Token) -> Self {
        Self { token }
    }
}

/// Asks who holds a resource.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Inspection, InspectError>")]
pub struct Inspect {
    pub(crate) resource: Vec<u8>,
    pub(crate) limit: usize,
}

impl Inspect {
    /// Asks for at most 100 holders of this resource, those that end first.
    pub fn new(resource: impl AsRef<[u8]>) -> Self {
        Self { resource: resource.as_ref().to_vec(), limit: 100 }
    }

    /// How many holders are told at most; 1 to 10,000. Default: 100.
    pub const fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}

/// Asks the store whether a token holds a resource at this moment.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<bool, InspectError>")]
pub struct IsHeld {
    pub(crate) resource: Vec<u8>,
    pub(crate) token: Token,
}

impl IsHeld {
    /// Asks for this resource and this token.
    pub fn new(resource: impl AsRef<[u8]>, token: Token) -> Self {
        Self { resource: resource.as_ref().to_vec(), token }
    }
}

/// Asks for the resources that are not free. The only question that walks over names: not for hot paths.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Listing, InspectError>")]
pub struct List {
    pub(crate) prefix: Vec<u8>,
    pub(crate) limit: usize,
}

impl List {
    /// Asks for at most 1,000 resources whose name starts with `prefix`; an empty one matches all.
    pub fn new(prefix: impl AsRef<[u8]>) -> Self {
        Self { prefix: prefix.as_ref().to_vec(), limit: 1_000 }
    }

    /// How many resources are told at most; 1 to 10,000. Default: 1,000.
    pub const fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}

/// Takes a resource away from whoever holds it: an operator's last resort. Holders learn of it at their next renewal;
/// until then two may believe that they hold it. Answered with how many holders there were.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<u64, InspectError>")]
pub struct ForceRelease {
    pub(crate) resource: Vec<u8>,
}

impl ForceRelease {
    /// Takes away this resource.
    pub fn new(resource: impl AsRef<[u8]>) -> Self {
        Self { resource: resource.as_ref().to_vec() }
    }
}

/// Asks what the manager has counted.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Statistics")]
pub struct Stats;

/// Changes the pauses between attempts that the manager assumes where a request does not say: for requests that come
/// after it. Answered with those that it assumed before.
///
/// For whoever adapts while running: longer pauses and fewer attempts when the server is loaded or [`Statistics`] show
/// a falling success rate, the reverse when it is idle.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Backoff")]
pub struct SetBackoff(
    /// What is assumed from now on.
    pub Backoff,
);

/// Ends the manager: new requests are refused and pending ones answered at once; holders may finish until the
/// deadline, renewed as ever; what is still held then is lost to its holder (told), and released.
///
/// The manager's actor stops when it has answered, which may take 2 s longer than `drain` where something is still on its
/// way to the store. A second shutdown can bring the deadline forward, not back; the manager stops after the last.
///
/// # Cancel safety
/// A shutdown that was received goes on if its sender goes.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Drained")]
pub struct Shutdown {
    /// How long holders may take to finish; zero takes everything away at once.
    pub drain: Duration,
}

/// How a shutdown went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Leases that were held when the shutdown began and were given back in time, or ended by themselves.
    pub finished: usize,
    /// Leases that were taken away at the deadline.
    pub revoked: usize,
    /// How many of these the store has not confirmed: they end with their TTL.
    pub unconfirmed: usize,
}

/// Refuses a limit that would make an answer unbounded.
pub(crate) fn check_limit(limit: usize) -> Result<usize, Invalid> {
    const MOST: usize = 10_000;
    if (1..=MOST).contains(&limit) {
        return Ok(limit);
    }
    Err(Invalid::new("limit", limit, format!("1 to {MOST}")))
}
