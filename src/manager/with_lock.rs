//! Work under a lock in one statement: acquire, run, release; and its error.

use std::{future::Future, panic::resume_unwind, sync::Arc, time::Duration};

use actix::{Addr, MailboxError};
use parking_lot::Mutex;
use tokio::task::spawn_blocking;

use crate::{
    core::{LossReason, readable_debug},
    lease::{Lease, LeaseLostError, ReleaseError, Released},
    manager::LockManager,
    request::{AcquireError, Request},
    runtime::reactor,
};

/// Work under a lock in one statement: an extension of `Addr<LockManager>`.
pub trait WithLock {
    /// Acquires a lease, runs `work` while it holds, and releases it.
    ///
    /// The request is any of [`Acquire`](crate::Acquire), with permits or without, [`ReadLock`](crate::ReadLock) and
    /// [`WriteLock`](crate::WriteLock). When the lease is lost, `work` is stopped: its future is dropped at the next
    /// await. When `work` panics, the lease is released by being dropped.
    ///
    /// ```
    /// # use std::time::Duration;
    /// use leasehold::{Acquire, WithLock};
    /// # use leasehold::{LockManager, MemoryStore};
    /// # #[actix::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
    /// let ask = Acquire::new("orders/42").wait(Duration::from_secs(2));
    /// let done = locks.with_lock(ask, async |lease| format!("paid, with fence {:?}", lease.fence())).await?;
    /// println!("{}", done.value);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`WithLockError::NotAcquired`], [`WithLockError::ManagerGone`] and [`WithLockError::NoRuntime`]: `work` was not
    /// started.
    /// [`WithLockError::Lost`]: `work` was stopped on its way, and its outcome is unknown. A release that fails is no
    /// error of the work: [`Done`] has the value all the same.
    ///
    /// # Cancel safety
    /// A caller that drops the future gives up. Before the grant, the request leaves the queue. After it, `work` is dropped where
    /// it is, and the lease is released. During the release, the lease is released all the same, and the value is lost.
    fn with_lock<Kind: 'static, T>(
        &self,
        request: Request<Kind>,
        work: impl AsyncFnOnce(&Lease) -> T,
    ) -> impl Future<Output = Result<Done<T>, WithLockError>>;

    /// Acquires a lease, runs `work` on a thread for blocking work while it holds, and releases it: for diesel, for files, for
    /// long computations. The caller's thread is not blocked, and the lease is renewed. On a thread that blocks already use
    /// [`BlockingLocks`](crate::BlockingLocks).
    ///
    /// **Nothing stops a thread.** When the lease is lost, `work` goes on, beside another holder perhaps, until it looks:
    /// [`check`](Lease::check) between two steps returns an error then. What it wrote after the loss stays. A lease can also end
    /// within a step: for what others must not see there is the [`fence`](Lease::fence). [`Done::release`] tells the loss,
    /// beside the value.
    ///
    /// When `work` panics, the lease is released, and the panic goes on in the caller.
    ///
    /// ```
    /// use leasehold::{Acquire, LeaseLostError, WithLock};
    /// # use leasehold::{LockManager, MemoryStore};
    /// # #[actix::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
    /// let done = locks.with_lock_blocking(Acquire::new("reports/daily"), |lease| {
    ///     for page in 0..100 {
    ///         lease.check()?; // an error when the lease is lost
    ///         println!("page {page}, with fence {:?}", lease.fence());
    ///     }
    ///     Ok::<_, LeaseLostError>(100)
    /// });
    /// let done = done.await?;
    /// println!("{} pages, alone until the end: {}", done.value?, done.release.is_ok());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`WithLockError::NotAcquired`], [`WithLockError::ManagerGone`] and [`WithLockError::NoRuntime`]: `work` was not
    /// started. [`WithLockError::Lost`]: neither was it, because the lease was lost before a thread was free. A loss while `work`
    /// runs is no error: [`Done`] has the value all the same.
    ///
    /// # Cancel safety
    /// A caller that drops the future gives up. Before the grant, the request leaves the queue. Until a thread is free, the lease
    /// is released, and `work` never starts. After that, `work` goes on to its end under the lease, and its value is lost.
    fn with_lock_blocking<Kind: 'static, T: Send + 'static>(
        &self,
        request: Request<Kind>,
        work: impl FnOnce(&Lease) -> T + Send + 'static,
    ) -> impl Future<Output = Result<Done<T>, WithLockError>>;
}

impl WithLock for Addr<LockManager> {
    async fn with_lock<Kind: 'static, T>(
        &self,
        request: Request<Kind>,
        work: impl AsyncFnOnce(&Lease) -> T,
    ) -> Result<Done<T>, WithLockError> {
        if reactor::is_missing() {
            return Err(WithLockError::NoRuntime);
        }
        // A runtime without timers panics here, and not after the grant.
        drop(tokio::time::sleep(Duration::ZERO));
        let lease = self.send(request).await??;
        // The work is dropped before the lease, which others may get as soon as it is.
        let value = lease.run(work(&lease)).await?;
        Ok(Done { value, release: lease.release().await })
    }

    async fn with_lock_blocking<Kind: 'static, T: Send + 'static>(
        &self,
        request: Request<Kind>,
        work: impl FnOnce(&Lease) -> T + Send + 'static,
    ) -> Result<Done<T>, WithLockError> {
        if reactor::is_missing() {
            return Err(WithLockError::NoRuntime);
        }
        let lease = self.send(request).await??;
        let resource = lease.resource().clone();
        // The caller has the lease until a thread is free. From then on it goes with the work, which may outlive its caller.
        let lease = Arc::new(Mutex::new(Some(lease)));
        let held = Arc::downgrade(&lease);
        let work = move || {
            let lease = held.upgrade()?.lock().take()?;
            Some(lease.run_blocking(work).map(|value| (value, lease)))
        };
        match spawn_blocking(work).await {
            Ok(Some(worked)) => {
                let (value, lease) = worked?;
                Ok(Done { value, release: lease.release().await })
            }
            Err(ended) if ended.is_panic() => resume_unwind(ended.into_panic()),
            // The runtime has ended before a thread was free, and the lease is dropped here.
            Ok(None) | Err(_) => Err(LeaseLostError { resource, reason: LossReason::Released }.into()),
        }
    }
}

/// Work that was done under a lock: its value, and the result of the release.
#[derive(Clone, Debug)]
#[must_use = "it has the value of the work, which may be an error"]
#[non_exhaustive]
pub struct Done<T> {
    /// The value that the work returned.
    pub value: T,
    /// The result of the release. The work is done in any case; this tells for how long it was alone.
    ///
    /// * `Ok`: the lease held until the work was done.
    /// * [`ReleaseError::Store`]: the lease held until the work was done, by the clock of this process. The store did not
    ///   confirm the release. The library repeats it, until the end of the lease.
    /// * [`ReleaseError::Lost`]: the lease was lost before the work was done, and nobody noticed in time to stop it. The
    ///   end of the work may have run beside that of another holder.
    pub release: Result<Released, ReleaseError>,
}

/// The reason why work under a lock was not done.
///
/// `?` also turns the errors of `send`, of a request and of [`Lease::run`](crate::Lease::run) into it.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum WithLockError {
    /// The lock was not acquired. The work was not started, and the caller holds nothing that it could use.
    #[error(transparent)]
    NotAcquired(#[from] AcquireError),
    /// The lease was lost while the work ran. The work was stopped at an await, so that its outcome is unknown: all, some
    /// or none of it is done. Look before repeating it, or make it safe to repeat. If others must be kept from seeing a
    /// half-done state, give them the [`fence`](crate::Lease::fence).
    #[error("{0}; the work was stopped, and its outcome is unknown")]
    Lost(#[from] LeaseLostError),
    /// The lock manager is gone: it was shut down, or its actix system has ended. The work was not started. What the
    /// manager may have been granted was released by the shutdown, or ends with its TTL.
    #[error("the lock manager is gone; the work was not started")]
    ManagerGone,
    /// It was called outside of a tokio runtime, whose timer stops the work when the lease is lost without a word. Nothing was
    /// asked for, and the work was not started. In a thread without one, use [`BlockingLocks`](crate::BlockingLocks), or `block_on`
    /// of a tokio runtime with timers: one that was built without them (`enable_time`) panics, before anything is asked for.
    #[error(
        "with_lock was called outside of a tokio runtime, whose timer it needs; nothing was asked for, and the work was not started"
    )]
    NoRuntime,
}

impl WithLockError {
    /// Returns a short name for counters and logs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::NotAcquired(error) => error.kind(),
            Self::Lost(_) => "lost",
            Self::ManagerGone => "manager_gone",
            Self::NoRuntime => "no_runtime",
        }
    }
}

/// An answer that never came: the mailbox of the manager is closed.
impl From<MailboxError> for WithLockError {
    fn from(_: MailboxError) -> Self {
        Self::ManagerGone
    }
}

readable_debug!(WithLockError);
