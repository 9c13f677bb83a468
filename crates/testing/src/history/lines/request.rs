//! A request in a written history that got no lease.

use std::time::Duration;

use leasehold::{Mode, Owner, ResourceName, env::Moment};

/// A request, and the moment of its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The resource.
    pub resource: ResourceName,
    /// The share of the resource that was asked for.
    pub mode: Mode,
    /// The owner, if one was named.
    pub owner: Option<Owner>,
    /// The TTL that was asked for.
    pub ttl: Duration,
    /// The moment at which it was asked for.
    pub asked: Moment,
    /// The moment of the answer; the end of the history for one that has none.
    pub answered: Moment,
}
