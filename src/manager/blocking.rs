//! Locks for threads that block: without a future in the caller, and without a runtime.

use std::sync::Arc;

use actix::Addr;
use tokio::sync::oneshot;

use crate::{
    lease::{Lease, ReleaseError, Released},
    manager::{
        LockManager,
        anywhere::ManagerThread,
        with_lock::{Done, WithLockError},
    },
    request::Request,
    runtime::block_on::block_on,
};

/// Locks for threads that block: plain threads, handlers of actors in a `SyncArbiter`, closures of `web::block`. Each call
/// blocks its thread, and needs no runtime there. A clone is another handle to the same manager.
///
/// It is made of a [`ManagerThread`], which it keeps until the last handle is dropped, or of the address of a manager that runs
/// elsewhere.
///
/// ```
/// use std::{thread, time::Duration};
/// use leasehold::{Acquire, BlockingLocks, Config, start_anywhere};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let locks = BlockingLocks::from(start_anywhere(|| Config::load()?.start_here())?);
/// let (there, ask) = (locks.clone(), Acquire::new("reports/daily").wait(Duration::from_secs(2)));
/// let worker = thread::spawn(move || there.with_lock(ask, |lease| lease.check().is_ok()));
/// assert!(worker.join().unwrap()?.value);
///
/// let lease = locks.acquire(Acquire::new("orders/42"))?;
/// locks.release(lease)?; // a drop releases it too, without an answer
/// drop(locks); // the last handle: the manager is shut down, and its thread ends
/// # Ok(())
/// # }
/// ```
///
/// # Panics
/// Every call panics in async code, before anything is asked for: it would block the thread of a runtime.
#[derive(Clone, Debug)]
pub struct BlockingLocks {
    locks: Addr<LockManager>,
    /// Shut down with the last handle.
    _thread: Option<Arc<ManagerThread>>,
}

impl From<ManagerThread> for BlockingLocks {
    fn from(thread: ManagerThread) -> Self {
        Self { locks: thread.locks(), _thread: Some(Arc::new(thread)) }
    }
}

impl From<Addr<LockManager>> for BlockingLocks {
    fn from(locks: Addr<LockManager>) -> Self {
        Self { locks, _thread: None }
    }
}

impl BlockingLocks {
    /// Acquires a lease, and blocks until it is granted or refused. It is renewed until it is released, dropped or lost.
    ///
    /// # Errors
    /// [`WithLockError::NotAcquired`] and [`WithLockError::ManagerGone`]: the caller holds nothing that it could use.
    pub fn acquire<Kind: 'static>(&self, request: Request<Kind>) -> Result<Lease, WithLockError> {
        wait_for(async { Ok(self.locks.send(request).await??) })
    }

    /// Releases a lease, and blocks until the store has answered.
    ///
    /// # Errors
    /// Those of [`Lease::release`].
    pub fn release(&self, lease: Lease) -> Result<Released, ReleaseError> {
        wait_for(lease.release())
    }

    /// Acquires a lease, runs `work` on this thread while it holds, and releases it, also when `work` panics. A loss on the way is
    /// told as by [`with_lock_blocking`](crate::WithLock::with_lock_blocking).
    ///
    /// # Errors
    /// [`WithLockError::NotAcquired`], [`WithLockError::ManagerGone`] and [`WithLockError::Lost`]: `work` was not started.
    pub fn with_lock<Kind: 'static, T>(
        &self,
        request: Request<Kind>,
        work: impl FnOnce(&Lease) -> T,
    ) -> Result<Done<T>, WithLockError> {
        let lease = self.acquire(request)?;
        let value = lease.run_blocking(work)?;
        Ok(Done { value, release: self.release(lease) })
    }
}

/// Blocks this thread until the future is done. Panics in async code.
fn wait_for<T>(future: impl Future<Output = T>) -> T {
    // Tokio knows whether this thread may block, and panics if it may not. The channel is closed: nothing is waited for.
    let (_, closed) = oneshot::channel::<()>();
    let _ = closed.blocking_recv();
    block_on(future)
}
