//! The messages that ask about locks and about the manager, change it, or end it.

use std::time::Duration;

use actix::Message;

#[cfg(feature = "actix-web")]
use crate::listeners::statistics::Counts;
use crate::{
    core::{Fence, InvalidValue, LeaseStatus, Mode, Owner, ResourceName, Token, TokenPrefix, ensure},
    listeners::statistics::Statistics,
    request::{AcquireError, InspectError},
    store::{Acquisition, Inspection, Listing, Names, Register, RegisterWrite, StoreError, Walk},
};

/// Asks for the holders of a resource, and for its waiters.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Inspection, InspectError>")]
#[must_use = "a message does nothing until it is sent to a LockManager"]
pub struct Inspect {
    pub(crate) resource: Vec<u8>,
    pub(crate) limit: usize,
}

impl Inspect {
    /// Asks for at most 100 holders of this resource, those that end first, and at most 100 waiters, the first of the queue.
    pub fn new(resource: impl AsRef<[u8]>) -> Self {
        Self { resource: resource.as_ref().to_vec(), limit: 100 }
    }

    /// Sets the maximum number of holders, and of waiters, in the answer, 1 to 10,000. It has 400 of each at most, so that the
    /// server is not kept busy by it. Default: 100.
    pub const fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}

/// Sets the number of permits of a resource in the store, in place of the one that requests name (`of` of
/// [`permits`](crate::Request::permits)), for every process, until it is set anew or removed. It has no end, whether the resource
/// is held or not. [`Inspection::capacity`] tells it.
///
/// * A larger one lets waiters in at once. A smaller one takes nothing from anybody: permits are granted when the sum fits again.
/// * A request for more permits than are set gets [`StoreError::ModeMismatch`], also one that waits already.
/// * Processes of older versions neither follow it nor change it.
///
/// A repeat is harmless, also after an unknown outcome. A quorum and the plain layout answer [`StoreError::Unsupported`], and
/// nothing has changed.
///
/// ```
/// # use leasehold::{Acquire, LockManager, MemoryStore, SetCapacity};
/// # #[actix::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
/// locks.send(SetCapacity::new("gpus", 2)).await??;
/// let lease = locks.send(Acquire::new("gpus").permits(1, 8)).await??; // one of two
/// assert_eq!(lease.slot(), Some(0));
/// locks.send(SetCapacity::new("gpus", None)).await??; // of eight again
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), InspectError>")]
#[must_use = "a message does nothing until it is sent to a LockManager"]
pub struct SetCapacity {
    pub(crate) resource: Vec<u8>,
    pub(crate) permits: Option<u32>,
}

impl SetCapacity {
    /// Sets this number of permits, 1 or more. `None` removes what was set.
    pub fn new(resource: impl AsRef<[u8]>, permits: impl Into<Option<u32>>) -> Self {
        Self { resource: resource.as_ref().to_vec(), permits: permits.into() }
    }
}

/// Asks the store whether a token holds a resource at this moment.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<bool, InspectError>")]
#[must_use = "a message does nothing until it is sent to a LockManager"]
pub struct IsHeld {
    pub(crate) resource: Vec<u8>,
    pub(crate) token: Token,
}

impl IsHeld {
    /// Asks about this resource and this token.
    pub fn new(resource: impl AsRef<[u8]>, token: Token) -> Self {
        Self { resource: resource.as_ref().to_vec(), token }
    }
}

/// Asks for the names of the resources that are not free. This is the only query that walks over all keys of a store, and not
/// meant for hot paths. [`Listing::walked`] says how many it has looked at.
///
/// Page by page, each page is a walk of its own:
///
/// ```
/// # use leasehold::{Acquire, List, LockManager, MemoryStore};
/// # #[actix::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
/// # let _lease = locks.send(Acquire::new("orders/42")).await??;
/// let mut page = locks.send(List::new("orders/").limit(100)).await??;
/// while let (false, Some(last)) = (page.complete, page.resources.last()) {
///     page = locks.send(List::new("orders/").limit(100).after(last.as_bytes())).await??;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Listing, InspectError>")]
#[must_use = "a message does nothing until it is sent to a LockManager"]
pub struct List {
    pub(crate) walk: Walk,
}

impl List {
    /// Asks for at most 1,000 resources whose name starts with `prefix`. An empty prefix matches all.
    pub fn new(prefix: impl AsRef<[u8]>) -> Self {
        Self { walk: Walk::new(prefix, 1_000) }
    }

    /// Sets the maximum number of names in the answer, 1 to 10,000. Default: 1,000.
    pub const fn limit(mut self, limit: usize) -> Self {
        self.walk.limit = limit;
        self
    }

    /// Asks only for names behind this one, in the order of their bytes: for the next page. Default: from the first name.
    pub fn after(mut self, name: impl AsRef<[u8]>) -> Self {
        self.walk.after = name.as_ref().to_vec();
        self
    }

    /// Asks for the resources that somebody waits for instead. No waiter is looked at: a queue of which all waiters have died
    /// is among them until its last ticket has expired. The plain layout has no queues, and so no such resources.
    pub const fn waited_for(mut self) -> Self {
        self.walk.names = Names::WaitedFor;
        self
    }

    /// Asks for the names of the [schedules](crate::schedule) of the store instead, whether they run or not. A quorum has
    /// none, and answers [`StoreError::Unsupported`].
    pub const fn schedules(mut self) -> Self {
        self.walk.names = Names::Registers;
        self
    }
}

/// Reads or writes a register of the store: the way of a schedule to what it remembers.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Register, StoreError>")]
pub(crate) struct UseRegister {
    pub(crate) name: ResourceName,
    pub(crate) write: Option<RegisterWrite>,
}

/// Asks if the locks are in the memory of this process.
#[cfg(feature = "actix-web")]
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "bool")]
pub(crate) struct IsLocal;

/// Asks for the manager's counters, to be added to those of others.
#[cfg(feature = "actix-web")]
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Box<Counts>")]
pub(crate) struct AskCounts;

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
    /// The part of the resource that is held.
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
    /// The part of the resource that it asks for.
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

impl OwnWaiter {
    /// Describes a request that waits for this.
    pub(crate) fn of(wanted: &Acquisition, waited: Duration, attempts: u32, ahead: Option<u64>) -> Self {
        let (Acquisition { hold, mode, .. }, token) = (wanted, wanted.hold.token.prefix());
        let (resource, owner) = (hold.resource.clone(), hold.owner.clone());
        Self { resource, token, mode: *mode, owner, waited, attempts, ahead }
    }
}

/// Asks for the manager's counters.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Statistics")]
#[must_use = "a message does nothing until it is sent to a LockManager"]
pub struct Stats;

/// Asks whether the manager can serve requests at this moment, for a health check. The error is the reason why not: the
/// manager shuts down, it has as many pending requests as it may have, or the store does not answer.
///
/// It costs nothing while the store answers anything else at least every few seconds. Otherwise the manager reads one key,
/// and all who ask meanwhile get the same answer, 2 s later at the latest. On a cluster that is one master of many. A
/// read does not show that the store refuses writes; the requests do.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<(), AcquireError>")]
#[must_use = "a message does nothing until it is sent to a LockManager"]
pub struct Ready;

/// Shuts the manager down. New requests are refused, and pending ones are answered at once. Holders may finish
/// until the deadline, and their leases are renewed as before. What is still held then is lost to its holder
/// (who is told), and released.
///
/// The manager's actor stops when it has answered. That may take 2 s longer than `drain` if something is still in
/// flight to the store. A second shutdown can bring the deadline forward, not back; the manager stops after the last.
///
/// # Cancel safety
/// A shutdown that the manager has begun to handle goes on if its sender goes. Before that, the message is dropped with the
/// future of `send`. What `do_send` sends is not dropped.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Drained")]
#[must_use = "a message does nothing until it is sent to a LockManager"]
pub struct Shutdown {
    /// The time that holders have to finish. Zero takes everything away at once.
    pub drain: Duration,
}

/// The result of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Leases that were held when the shutdown began and were released in time, or ended by themselves.
    pub finished: usize,
    /// Leases that were taken away at the deadline.
    pub revoked: usize,
    /// The number of these whose release the store has not confirmed. They end with their TTL.
    pub unconfirmed: usize,
}

/// Refuses a limit that would make an answer unbounded.
pub(crate) fn check_limit(limit: usize) -> Result<usize, InvalidValue> {
    ensure((1..=10_000).contains(&limit), "limit", limit, "1 to 10000").map(|()| limit)
}
