//! The question about the leases and the waiters of one manager, and its answer.

use std::time::Duration;

use actix::Message;

use crate::{
    core::{Fence, LeaseStatus, Mode, Owner, ResourceName, TokenPrefix},
    request::InspectError,
};

/// Asks a manager for its own leases, and for its requests that wait. The store is not asked: other processes hold other
/// leases, which [`List`](crate::List) and [`Inspect`](crate::Inspect) know.
///
/// The manager looks at each lease that it holds and at each request that waits, and serves nobody else meanwhile. It is meant
/// for people and for dashboards, not for hot paths.
///
/// ```
/// # use leasehold::{Acquire, Leases, LockManager, MemoryStore};
/// # #[actix::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
/// let _lease = locks.send(Acquire::new("orders/42")).await??;
/// let own = locks.send(Leases::new().limit(20)).await??;
/// for lease in &own.held {
///     println!("{} for {:?}, valid for {:?}", lease.resource, lease.held_for, lease.valid_for);
/// }
/// println!("{} of {} shown", own.held.len(), own.held_in_all);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<OwnLeases, InspectError>")]
#[must_use = "a message does nothing until it is sent to a LockManager"]
pub struct Leases {
    pub(crate) limit: usize,
}

impl Leases {
    /// Asks for at most 100 leases, those that have been held longest, and at most 100 requests, those that have waited
    /// longest.
    pub const fn new() -> Self {
        Self { limit: 100 }
    }

    /// Sets the maximum number of leases, and of requests, in the answer, 1 to 10,000. Default: 100.
    pub const fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}

impl Default for Leases {
    fn default() -> Self {
        Self::new()
    }
}

/// The leases of one manager, and its requests that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnLeases {
    /// The leases that are held, longest held first.
    pub held: Vec<OwnLease>,
    /// The number of leases that are held, those beyond the limit included.
    pub held_in_all: usize,
    /// The requests that wait, longest waiting first.
    pub waiting: Vec<OwnWaiter>,
    /// The number of requests that wait, those beyond the limit included. The resources of an
    /// [`AcquireAll`](crate::AcquireAll) count from its first try on; `Statistics::pending` counts them after it.
    pub waiting_in_all: usize,
}

/// A lease of this manager.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnLease {
    /// The resource that is held.
    pub resource: ResourceName,
    /// The beginning of its token, as in logs. It releases nothing.
    pub token: TokenPrefix,
    /// How much of the resource is held.
    pub mode: Mode,
    /// The fencing number; `None` on stores that cannot issue one.
    pub fence: Option<Fence>,
    /// The owner that the request named.
    pub owner: Option<Owner>,
    /// The status at this moment.
    pub status: LeaseStatus,
    /// The time since the grant.
    pub held_for: Duration,
    /// The time for which it certainly holds if no renewal succeeds. Zero when it is over and not yet cleaned up.
    pub valid_for: Duration,
}

/// A request of this manager that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnWaiter {
    /// The resource that it waits for.
    pub resource: ResourceName,
    /// The beginning of its token, as in logs.
    pub token: TokenPrefix,
    /// How much of the resource it asks for.
    pub mode: Mode,
    /// The owner that it names.
    pub owner: Option<Owner>,
    /// The time since it arrived.
    pub waited: Duration,
    /// The number of attempts that it has made. Zero if another waiter of this manager attempts for it.
    pub attempts: u32,
    /// The number of waiters ahead of it, as last reported. `None` if it is not in the queue.
    pub ahead: Option<u64>,
}
