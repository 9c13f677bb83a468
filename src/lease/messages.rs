//! The messages of a lease to its manager: release and renew.

use std::{sync::Arc, time::Duration};

use actix::{Message, Recipient};

use crate::{
    core::{InvalidValue, LossReason, Moment, RecordKey, ResourceName, Token},
    lease::{LeaseShared, ReleaseError, RenewError},
    store::Metadata,
};

/// Releases a lease by its token. [`Lease::release`](crate::Lease::release) sends it, and so does dropping a lease.
///
/// A token that this manager does not know is looked up in the store. Another process than the one that acquired a
/// lease can release it, if it is given the resource and the token.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Released, ReleaseError>")]
#[must_use = "a message does nothing until it is sent to a LockManager"]
pub struct Release {
    pub(crate) resource: Result<ResourceName, InvalidValue>,
    pub(crate) token: Token,
    /// The lease itself, which the manager may have removed because it was lost.
    pub(crate) lease: Option<Arc<LeaseShared>>,
    /// The number of times that handling it panicked.
    pub(crate) panics: u32,
}

impl Release {
    /// Releases what this token holds of this resource.
    pub fn new(resource: impl AsRef<[u8]>, token: Token) -> Self {
        Self { resource: ResourceName::new(resource), token, lease: None, panics: 0 }
    }

    pub(crate) fn of(lease: &Arc<LeaseShared>) -> Self {
        let (resource, token) = (Ok(lease.hold().resource.clone()), lease.hold().token);
        Self { resource, token, lease: Some(Arc::clone(lease)), panics: 0 }
    }
}

/// The result of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// The owner holds nothing of the resource any more. With a `min_hold` the resource opens when that is over.
    Freed,
    /// The same owner still holds the resource this many times, because it had re-entered.
    StillHeld {
        /// The number of holds that are left, 1 or more.
        count: u64,
    },
}

/// Renews a lease of this manager now. The renewer of a lease sends it whenever a renewal is due. For a lease with `no_renew` the
/// holder does, through [`Lease::renew`](crate::Lease::renew). The answer is the time for which the lease is certainly valid.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<Duration, RenewError>")]
#[must_use = "a message does nothing until it is sent to a LockManager"]
pub struct Renew {
    pub(crate) token: Token,
    /// The record of the lease, if the lease itself sends the message.
    pub(crate) record: Option<RecordKey>,
    /// The moment at which a renewer found that the renewal is due. What was sent since then makes it needless.
    pub(crate) due: Option<Moment>,
}

impl Renew {
    /// Renews the lease with this token.
    pub const fn new(token: Token) -> Self {
        Self { token, record: None, due: None }
    }

    pub(crate) fn of(lease: &LeaseShared) -> Self {
        Self { record: Some(lease.record), ..Self::new(lease.hold().token) }
    }
}

/// Has the manager forget a lease, which is not released. The answer is the moment until which it certainly holds.
#[derive(Message)]
#[rtype(result = "Result<Moment, LossReason>")]
pub(crate) struct HandOver(pub(crate) Arc<LeaseShared>);

/// The way from a lease to its manager.
pub(crate) struct ManagerLink {
    pub(crate) release: Recipient<Release>,
    pub(crate) renew: Recipient<Renew>,
    pub(crate) hand_over: Recipient<HandOver>,
    /// The metadata that every holder of the manager reports about itself.
    pub(crate) about: Arc<Metadata>,
}
