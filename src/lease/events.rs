//! The events of a lease, sent to the listener that its request named.

use std::{fmt, sync::Arc, time::Duration};

use actix::Message;

use crate::{
    core::{Fence, LossReason, Moment, ResourceName, Token, TokenPrefix, rough},
    store::Hold,
};

/// An event of a lease, sent to the `Recipient` that its request named with [`events`](crate::Request::events).
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
#[non_exhaustive]
pub struct LeaseEvent {
    /// The resource that is, or was, held.
    pub resource: ResourceName,
    /// The first digits of the lease's token.
    pub token: TokenPrefix,
    /// The fencing number, if the store issues one.
    pub fence: Option<Fence>,
    /// The change that happened.
    pub change: LeaseChange,
}

impl LeaseEvent {
    pub(crate) fn of(hold: &Hold, fence: Option<Fence>, change: LeaseChange) -> Self {
        Self { resource: hold.resource.clone(), token: hold.token.prefix(), fence, change }
    }
}

/// A change of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseChange {
    /// The request waits. Sent when it begins to wait, and when the number of waiters ahead has changed. One that begins to
    /// wait before anything is known of its wait may hear the same number again, with its expected wait.
    Queued {
        /// The number of waiters ahead of it.
        ahead: u64,
        /// The time that it is likely to wait from now on, from what its manager has seen of this resource: how long its holders
        /// held it, and how fast its queue moved. `None` as long as nothing is known, where there are readers, and while somebody
        /// holds it for much longer than was expected. A wait is a matter of chance: the longer the queue, the nearer this comes.
        expected_wait: Option<Duration>,
    },
    /// The lease was granted.
    Granted,
    /// A renewal was confirmed. The lease may have been at risk before.
    Renewed,
    /// A renewal was missed. The lease is still valid, and the renewal is retried.
    AtRisk,
    /// The manager shuts down. The lease is still valid, and renewed until the deadline of the shutdown: time to finish,
    /// and to release it.
    ShuttingDown,
    /// Somebody wants the resource back ([`Revoke`](crate::Revoke)). The lease is still valid and renewed: time to finish, and
    /// to release it. When the grace is over it is taken away by force. Sent once for each `Revoke`.
    RevokeRequested(RevokeRequested),
    /// The lease is over, for this reason. Sent before anybody else could be granted the resource, except
    /// with [`LossReason::NotHeld`] and [`LossReason::Forced`].
    Lost(LossReason),
    /// The lease was released.
    Released,
}

/// The request to give a lease back, as its holder is told. [`Lease::revoke_requested`](crate::Lease::revoke_requested)
/// waits for it, and [`Lease::revoke_requested_sooner`](crate::Lease::revoke_requested_sooner) for one that ends before it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RevokeRequested {
    /// The reason that was given.
    pub reason: Arc<str>,
    /// The time that was left to finish when this was sent or returned. Zero if it is over: it may be taken at any moment.
    pub grace: Duration,
    /// The random id of the revocation: it is told once, however often it is notified.
    pub(super) revocation: Token,
    /// The end of its grace, as early as any notice has said.
    pub(super) end: Moment,
}

impl fmt::Display for RevokeRequested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "somebody wants it back within {}: {}", rough(self.grace), self.reason)
    }
}
