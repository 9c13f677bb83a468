//! A lock manager for programs that have no actix system: it runs in a thread that has one.

use std::{
    io,
    panic::resume_unwind,
    sync::mpsc::{self, Sender},
    thread::{self, ThreadId},
    time::Duration,
};

use actix::{Addr, MailboxError, System};
use tokio::{runtime, sync::oneshot};

use crate::{
    manager::LockManager,
    request::{Drained, Shutdown, StartError},
    runtime::block_on::block_on,
};

/// What a shutdown did, or that the manager was gone already.
type End = Result<Drained, MailboxError>;

/// Starts a lock manager in a thread with an actix system of its own: for axum, tonic, plain tokio, and programs without any
/// runtime.
///
/// `start` runs in that thread, and returns the manager: it calls [`Config::start_here`](crate::Config::start_here), or
/// [`start_here`](crate::LockManagerBuilder::start_here) of a builder. It may start elections and schedules there too, which
/// also need an actix system. This function waits until `start` has returned, and needs no store.
///
/// The addresses of the manager, and the leases that it grants, work on every thread and in every runtime of tokio that has timers.
///
/// ```
/// use leasehold::{Acquire, Config, WithLock};
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let manager = leasehold::start_anywhere(|| Config::load()?.start_here())?;
///     let locks = manager.locks(); // clone it into every handler
///     let paid = async move { locks.with_lock(Acquire::new("orders/42"), async |lease| lease.fence()).await };
///     println!("paid, with fence {:?}", tokio::spawn(paid).await??.value);
///     manager.shutdown().await?; // the last line of main
///     Ok(())
/// }
/// ```
///
/// # Errors
/// The error of `start`, or [`StartError::Arbiter`] when the thread cannot be started.
///
/// # Panics
/// When `start` panics: the panic goes on in the caller.
pub fn start_anywhere<E>(
    start: impl FnOnce() -> Result<Addr<LockManager>, E> + Send + 'static,
) -> Result<ManagerThread, E>
where
    E: From<StartError> + Send + 'static,
{
    let (tell, told) = mpsc::channel();
    let ((stop, stopped), (end, ended)) = (oneshot::channel(), oneshot::channel());
    // Its runtime is built there: one that is dropped here, because no thread can be started, panics in async code.
    let life = move || match runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => System::with_tokio_rt(|| runtime).block_on(live(start, tell, stopped, end)),
        Err(error) => drop(tell.send(Err(StartError::Arbiter(error).into()))),
    };
    let thread = thread::Builder::new().name("leasehold".into()).spawn(life).map_err(StartError::Arbiter)?;
    match told.recv() {
        Ok(started) => {
            let (locks, thread) = (started?, thread.thread().id());
            Ok(ManagerThread { locks, drain: Duration::ZERO, stop: Some(stop), ended, thread })
        }
        Err(_) => resume_unwind(thread.join().expect_err("only a panic ends the thread without an answer")),
    }
}

/// Starts the manager, and shuts it down when it is told to. Whoever asked may be gone by then.
async fn live<E>(
    start: impl FnOnce() -> Result<Addr<LockManager>, E>,
    tell: Sender<Result<Addr<LockManager>, E>>,
    stopped: oneshot::Receiver<Duration>,
    end: oneshot::Sender<End>,
) {
    let started = start();
    let locks = started.as_ref().ok().cloned();
    let _ = tell.send(started);
    if let Some(locks) = locks {
        let drain = stopped.await.unwrap_or_default();
        let _ = end.send(locks.send(Shutdown { drain }).await);
    }
}

/// A lock manager in a thread with an actix system of its own, which [`start_anywhere`] has started.
///
/// **Dropping it shuts the manager down**, and blocks the caller until that is done: no new requests, holders have the time of
/// [`drain`](Self::drain), then everything is released. In async code await [`shutdown`](Self::shutdown) instead. The thread ends
/// with this handle. What its addresses are sent afterwards is answered with [`ManagerGone`](crate::WithLockError::ManagerGone).
#[derive(Debug)]
#[must_use = "the lock manager is shut down when its thread is dropped"]
pub struct ManagerThread {
    locks: Addr<LockManager>,
    drain: Duration,
    /// `None` as soon as the shutdown has begun.
    stop: Option<oneshot::Sender<Duration>>,
    ended: oneshot::Receiver<End>,
    thread: ThreadId,
}

impl ManagerThread {
    /// Sets the time that holders have to finish when it is shut down, or dropped. Default: zero. A holder that can only
    /// finish on the thread that drops it cannot finish in that time.
    pub const fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// Returns the address of the manager, for every thread and every runtime.
    pub fn locks(&self) -> Addr<LockManager> {
        self.locks.clone()
    }

    /// Shuts the manager down: no new requests, holders have the time of [`drain`](Self::drain), then everything is released.
    /// It takes up to 2 s longer if the store does not answer.
    ///
    /// # Errors
    /// The manager was gone already, because it was sent [`Shutdown`] before, or its thread has panicked. What was held then
    /// ends with its TTL.
    ///
    /// # Cancel safety
    /// A caller that drops the future does not wait. The shutdown goes on in its thread, and ends with the process.
    pub async fn shutdown(mut self) -> io::Result<Drained> {
        self.begin_to_stop();
        Self::outcome((&mut self.ended).await)
    }

    fn begin_to_stop(&mut self) -> bool {
        self.stop.take().is_some_and(|stop| stop.send(self.drain).is_ok())
    }

    fn outcome(ended: Result<End, oneshot::error::RecvError>) -> io::Result<Drained> {
        match ended {
            Ok(Ok(drained)) => Ok(drained),
            Ok(Err(_)) => Err(io::Error::other("the lock manager was gone before its shutdown")),
            Err(_) => Err(io::Error::other("the thread of the lock manager panicked")),
        }
    }
}

impl Drop for ManagerThread {
    fn drop(&mut self) {
        // After a shutdown there is nothing to wait for, and the thread cannot wait for itself.
        if self.begin_to_stop()
            && self.thread != thread::current().id()
            && let Err(error) = Self::outcome(block_on(&mut self.ended))
        {
            tracing::error!(%error, "the shutdown of a lock manager has no result");
        }
    }
}
