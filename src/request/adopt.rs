//! The adoption of a lease that was handed over, and its error.

use std::time::Duration;

use actix::Message;

use crate::{
    core::{InvalidValue, Mode, Moment, readable_debug},
    lease::{Lease, LeaseTicket},
    request::{Acquire, Options, Takes, ValidRequest, Wait},
    store::{Grant, Hold, StoreError},
};

/// Makes a lease of a ticket ([`Lease::into_ticket`](crate::Lease::into_ticket)). The manager first renews it in the store, whose
/// answer alone counts, and from then on renews and releases it as any other. Token, fence and end are those of the lease that was
/// handed over. The manager must use the same store, with the same prefix and layout.
///
/// # Cancel safety
/// A caller that drops the future gives the lease up: it is released, unless the store was not asked or gives no certain answer.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Lease, AdoptError>")]
#[must_use = "a message does nothing until it is sent to a LockManager"]
pub struct Adopt(pub LeaseTicket);

/// The reason why a ticket was not made a lease.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AdoptError {
    /// A value of the ticket is invalid, or beyond the limits of this manager. Nothing was sent.
    #[error("the ticket does not fit this lock manager: {0}")]
    Invalid(#[from] InvalidValue),
    /// This manager adopts the ticket just now, or has adopted it, and holds or releases the lease.
    #[error("this lock manager has adopted the ticket already")]
    AlreadyHeld,
    /// The lease is certainly over: released, expired or taken away. Or the ticket is of another store, prefix or layout.
    #[error("the lease of the ticket is over, or of another store: the store says that it is not held")]
    NotHeld,
    /// The manager is shutting down. Another one can adopt the ticket.
    #[error("the lock manager is shutting down")]
    ShuttingDown,
    /// The store gave no certain answer, so the lease may be over or not. It is safe to send the ticket again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes a lease of a hold that was renewed by a call of this moment.
#[derive(Message)]
#[rtype(result = "Result<Lease, AdoptError>")]
pub(crate) struct Adopted(pub(crate) Box<ValidRequest>, pub(crate) Grant, pub(crate) Moment);

impl Adopt {
    /// Returns the request for such a lease, with what is left of its limits. It has to be checked as any other.
    pub(crate) fn request(&self, Hold { resource, owner, .. }: &Hold) -> Acquire {
        let ticket = &self.0;
        // A limit of zero renewals is not one that a request may have.
        let renew_every = ticket.renew_every.filter(|_| ticket.max_renewals != Some(0));
        let options = Options {
            owner: owner.as_ref().map(|owner| owner.as_str().to_owned()),
            ttl: Some(*ticket.ttl),
            wait: Some(Wait::AtMost(Duration::ZERO)),
            no_renew: renew_every.is_none(),
            renew_every,
            max_renewals: ticket.max_renewals.filter(|_| renew_every.is_some()),
            max_hold: *ticket.max_hold,
            min_hold: *ticket.min_hold,
            lock_delay: *ticket.lock_delay,
            heartbeat: ticket.heartbeat.filter(|_| renew_every.is_some()),
            ..Options::default()
        };
        let mut request = Acquire::with(resource.as_bytes(), options);
        request.takes = match ticket.mode {
            Mode::Exclusive => Takes::Everything { reentrant: true },
            Mode::Shared => Takes::OneOfUnlimited,
            Mode::Permits { count, of } => Takes::Permits { count: count.get(), of: of.get() },
        };
        request
    }
}

readable_debug!(AdoptError);
