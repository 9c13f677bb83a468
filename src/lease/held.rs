//! The leases that are held around a piece of code, and the assertion that one of them is there.

use std::{future::Future, iter, sync::Arc};

use parking_lot::Mutex;

use super::{LeaseLostError, LeaseShared};
use crate::core::{ResourceName, readable_debug};

tokio::task_local! {
    /// The innermost scope around the code that runs: of a future while it is polled, of a closure while it is called.
    static SCOPE: HeldScope;
}

/// Checks that the code that calls it runs under a lease of this resource, in any mode, which is valid now: for code deep
/// below that must not run without its lock, and that nobody passes the lease to. Only the clock is read.
///
/// A lease is held around:
///
/// * the work of [`with_lock`](crate::WithLock::with_lock), [`with_lock_blocking`](crate::WithLock::with_lock_blocking) and
///   [`BlockingLocks::with_lock`](crate::BlockingLocks::with_lock), and the future that [`Lease::run`](crate::Lease::run) or
///   [`LeaseSet::run`](crate::LeaseSet::run) is given;
/// * handlers with a `web::Locked`, and those below a `web::Locks` with a lock, their response bodies included;
/// * the work of a [`Schedule`](crate::schedule::Schedule), whose resource is the name of the schedule;
/// * everything that a [`SingletonContext`](crate::election::SingletonContext) polls, and `stopping` and `stopped` of its actor.
///
/// **A task that is spawned, a thread, and a message to another actor are outside**: they may go on when the lease is over. Give
/// them the lease.
///
/// ```
/// use leasehold::{Acquire, NotHeldError, WithLock, assert_held};
/// # use leasehold::{LockManager, MemoryStore};
///
/// async fn write_invoice() -> Result<(), NotHeldError> {
///     assert_held("orders/42")?;
///     Ok(()) // writes it
/// }
///
/// # #[actix::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
/// let done = locks.with_lock(Acquire::new("orders/42"), async |_| write_invoice().await).await?;
/// assert!(done.value.is_ok());
/// assert!(write_invoice().await.is_err(), "nobody holds it around this");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`NotHeldError::NotHere`]: no lease of the resource is held around the caller. [`NotHeldError::Lost`]: one was, and is over.
pub fn assert_held(resource: impl AsRef<[u8]>) -> Result<(), NotHeldError> {
    let resource = resource.as_ref();
    let not_here = || NotHeldError::NotHere { resource: ResourceName::encode_prefix(resource) };
    // Cloned, so that nothing is borrowed while a clock is read.
    SCOPE.try_with(HeldScope::clone).map_err(|_| not_here())?.check(resource, not_here)
}

/// The reason why [`assert_held`] refuses to go on.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotHeldError {
    /// No lease of this resource is held around the code that asked, and others may hold it: a mistake of the program.
    #[error("{resource} is not held here: the code runs outside of its lock, or in a task of its own")]
    NotHere {
        /// The resource, as its [name](ResourceName) shows itself.
        resource: String,
    },
    /// A lease was held around it, and is over. What was done since the loss may have run beside another holder.
    #[error(transparent)]
    Lost(#[from] LeaseLostError),
}

/// The leases that are held around a piece of code.
#[derive(Clone)]
pub(crate) struct HeldScope {
    held: Held,
    /// The scope around it, if there is one.
    outer: Option<Arc<HeldScope>>,
}

#[derive(Clone)]
enum Held {
    /// Nothing is allocated for it.
    One(Arc<LeaseShared>),
    /// Leases that are held together, or join while the code runs.
    Several(Arc<Mutex<Vec<Arc<LeaseShared>>>>),
}

impl HeldScope {
    /// Returns the scope of one lease, inside of that of the caller.
    pub(super) fn of(lease: &Arc<LeaseShared>) -> Self {
        Self::within(Held::One(Arc::clone(lease)))
    }

    /// Returns the scope of several leases, inside of that of the caller.
    pub(crate) fn of_several(leases: Vec<Arc<LeaseShared>>) -> Self {
        Self::within(Held::Several(Arc::new(Mutex::new(leases))))
    }

    fn within(held: Held) -> Self {
        Self { held, outer: SCOPE.try_with(|outer| Arc::new(outer.clone())).ok() }
    }

    /// Adds a lease to a scope of several.
    #[cfg(feature = "actix-web")]
    pub(crate) fn add(&self, lease: Arc<LeaseShared>) {
        if let Held::Several(leases) = &self.held {
            leases.lock().push(lease);
        }
    }

    /// Runs a future in this scope.
    pub(crate) fn around<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        SCOPE.scope(self, work)
    }

    /// Calls a function in this scope.
    pub(crate) fn call<T>(self, work: impl FnOnce() -> T) -> T {
        SCOPE.sync_scope(self, work)
    }

    fn leases(&self) -> Vec<Arc<LeaseShared>> {
        match &self.held {
            Held::One(lease) => vec![Arc::clone(lease)],
            Held::Several(leases) => leases.lock().clone(),
        }
    }

    fn check(&self, resource: &[u8], not_here: impl FnOnce() -> NotHeldError) -> Result<(), NotHeldError> {
        let around = iter::successors(Some(self), |scope| scope.outer.as_deref()).flat_map(Self::leases);
        let mut lost = None;
        for lease in around.filter(|lease| lease.hold().resource.as_bytes() == resource) {
            let Some(reason) = lease.end() else { return Ok(()) };
            lost.get_or_insert_with(|| LeaseLostError { resource: lease.hold().resource.clone(), reason });
        }
        Err(lost.map_or_else(not_here, NotHeldError::Lost))
    }
}

readable_debug!(NotHeldError);
