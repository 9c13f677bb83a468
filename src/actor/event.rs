//! What happens to a lease, told to whoever wants to hear it.

use actix::Message;

use crate::protocol::{Fence, LossReason, ResourceName, TokenPrefix};

/// Something happened to a lease; sent to the `Recipient` that its request named with
/// [`events`](super::Request::events).
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
#[non_exhaustive]
pub struct LeaseEvent {
    /// What is, or was, held.
    pub resource: ResourceName,
    /// The first digits of the lease's token.
    pub token: TokenPrefix,
    /// The fencing number, where the store gives one.
    pub fence: Option<Fence>,
    /// What happened.
    pub change: LeaseChange,
}

/// What happened to a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseChange {
    /// It waits, with this many ahead of it: told when it begins to wait, and when that number has changed.
    Queued {
        /// How many wait ahead of it.
        ahead: u64,
    },
    /// It was granted.
    Granted,
    /// A renewal was confirmed; the lease may have been at risk before.
    Renewed,
    /// A renewal was missed. The lease is still valid, and renewing is tried again.
    AtRisk,
    /// It is over, for this reason; told before anybody else could be granted the resource,
    /// except with [`LossReason::NotHeld`].
    Lost(LossReason),
    /// It was given back.
    Released,
}
