//! A singleton: an actor that runs in one process of a fleet, while that process leads: one life after the other.

pub(super) mod context;

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    pin::{Pin, pin},
    rc::Rc,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use actix::{Actor, ActorContext, Addr};
use futures_util::FutureExt;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use self::context::SingletonContext;
use super::{Candidacy, Election, TermEnd, TermWork, elect};
use crate::{
    core::{Doubling, InvalidValue},
    lease::Lease,
    manager::LockManager,
    runtime::supervisor::caught,
};

/// What hears of a life of an actor.
type Begins<A> = dyn Fn(&Addr<A>);

/// An actor of which one runs in a whole fleet: in the process that is elected.
///
/// * It is made by the factory when a term begins, and again after a crash. What must outlive it lies outside of it.
/// * **It is stopped before the validity of its lease ends**, or when the lead is given up, as by `ctx.stop()`. It may finish:
///   `stopping` returns `Running::Continue`, and the actor stops by itself, within the [budget](Candidacy::budget). Then it is
///   dropped. After the end of the validity it handles no message, and none of its timers goes off. The same holds for its futures,
///   but **not for a `ResponseFuture` or a spawned task**: see [`SingletonContext`] for what lets these end with the lease.
/// * **A panic in it starts it again**, after a pause. So does a stop that nobody asked for. (`actix::Supervisor` does not
///   survive a panic: the mailbox of the actor is closed for good.) After [`max_crashes`](Candidacy::max_crashes) in a row
///   the candidate steps down, so that another instance tries. Until then nobody runs during the pauses: 0.3 s with the
///   defaults. With `panic = "abort"` the process ends.
/// * With [`heartbeat`](crate::Request::heartbeat), an actor that hangs loses the lead. It reports by `ctx.lease().heartbeat()`.
///
/// An actor that blocks its thread cannot be stopped meanwhile. For what it writes then there is the [fence](Lease::fence).
///
/// ```
/// use std::time::Duration;
/// use actix::prelude::*;
/// use leasehold::{Acquire, election::{Resign, Singleton, SingletonContext}};
/// # use leasehold::{LockManager, MemoryStore, Shutdown};
///
/// struct Reports;
///
/// impl Actor for Reports {
///     type Context = SingletonContext<Self>;
///
///     fn started(&mut self, ctx: &mut Self::Context) {
///         ctx.run_interval(Duration::from_millis(500), |_, ctx| {
///             println!("a report, with fence {:?}", ctx.lease().fence());
///             ctx.lease().heartbeat();
///         });
///     }
/// }
///
/// # #[actix::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
/// let ask = Acquire::new("reports").heartbeat(Duration::from_secs(2));
/// let election = Singleton::start(&locks, ask, || Reports)?;
/// election.send(Resign).await?; // it has stopped, and runs in another process
/// # locks.send(Shutdown { drain: Duration::ZERO }).await?;
/// # Ok(())
/// # }
/// ```
pub struct Singleton<A: Actor> {
    factory: RefCell<Box<dyn FnMut() -> A>>,
    /// Hears of each life before it begins.
    begins: Box<Begins<A>>,
    /// The number of crashes in a row, in all terms of its process.
    crashes: Cell<u32>,
    max_crashes: u32,
    pauses: Doubling,
}

impl<A: Actor<Context = SingletonContext<A>>> Singleton<A> {
    /// Stands for the lead, and runs the actor that `factory` makes while it leads. Returns the election, which takes
    /// [`Resign`](super::Resign), [`Campaign`](super::Campaign), [`Leader`](super::Leader) and [`Unwell`](super::Unwell).
    /// Recipients that the candidacy names are told beside the singleton.
    ///
    /// # Errors
    /// As [`Election::start`]. A request that the lock manager refuses for good, a TTL below its limits for instance, is no
    /// error here: it is logged, told to the recipients by [`ElectionEvent::NotStanding`](super::ElectionEvent::NotStanding),
    /// and not repeated.
    ///
    /// # Panics
    /// As [`Election::start`].
    pub fn start(
        locks: &Addr<LockManager>,
        candidacy: impl Into<Candidacy>,
        factory: impl FnMut() -> A + 'static,
    ) -> Result<Addr<Election>, InvalidValue> {
        let candidacy = candidacy.into();
        let singleton = Self::new(&candidacy, factory, |_| {});
        elect(locks, candidacy, singleton)
    }

    /// Creates the work of a candidacy. `begins` is called with the address of each life.
    pub(crate) fn new(
        candidacy: &Candidacy,
        factory: impl FnMut() -> A + 'static,
        begins: impl Fn(&Addr<A>) + 'static,
    ) -> Self {
        let Candidacy { max_crashes, pauses, .. } = *candidacy;
        let factory = RefCell::new(Box::new(factory) as Box<_>);
        Self { factory, begins: Box::new(begins), crashes: Cell::new(0), max_crashes, pauses }
    }

    /// Counts a crash after a life of this length. Returns the pause before the next life; `None` after too many.
    fn count_crash(&self, lived: Duration) -> Option<Duration> {
        let before = if lived > self.pauses.longest() { 0 } else { self.crashes.get() };
        let goes_on = before + 1 < self.max_crashes;
        self.crashes.set(if goes_on { before + 1 } else { 0 });
        goes_on.then(|| self.pauses.after(before))
    }

    /// Runs an actor while the lease is valid. When `stop` is cancelled it is stopped as by `ctx.stop()`, and may go on.
    async fn live(&self, lease: &Arc<Lease>, actor: A, stop: &CancellationToken) -> LifeEnd {
        let mut life = Box::new(SingletonContext::life(Arc::clone(lease), actor));
        // Without an address an actor stops when it has nothing to do.
        let address = life.address();
        (self.begins)(&address);
        // Until it cancels `stop`, the election watches the lease. This saves a timer.
        let mut lost = pin!(stop.cancelled().then(|()| lease.lost()));
        let (mut stop, mut began) = (pin!(stop.cancelled().fuse()), false);
        let end = poll_fn(|cx| {
            if lost.as_mut().poll(cx).is_ready() || !lease.is_valid() {
                return Poll::Ready(LifeEnd::Over);
            }
            if stop.as_mut().poll(cx).is_ready() {
                life.ctx().stop();
            }
            began = true;
            match caught(|| Pin::new(&mut *life).poll(cx)) {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(())) => Poll::Ready(LifeEnd::Stopped),
                Err(panic) => Poll::Ready(LifeEnd::Panicked(panic)),
            }
        })
        .await;
        if !began || matches!(end, LifeEnd::Panicked(_)) {
            // A drop would begin it, or go on with an actor that is broken.
            life.ctx().terminate();
        }
        // A drop may call `stopping` and `stopped`, which may panic.
        match (caught(|| drop(life)), end) {
            (Err(panic), LifeEnd::Over | LifeEnd::Stopped) => LifeEnd::Panicked(panic),
            // The first panic says more than one that follows from it.
            (_, end) => end,
        }
    }

    /// Runs one life of the actor after the other.
    async fn lives(self: Rc<Self>, lease: Arc<Lease>, stop: CancellationToken) -> TermEnd {
        let resource = lease.resource();
        loop {
            let began = Instant::now();
            let end = match caught(|| self.factory.borrow_mut()()) {
                Ok(actor) => self.live(&lease, actor, &stop).await,
                Err(panic) => LifeEnd::Panicked(panic),
            };
            if stop.is_cancelled() || matches!(end, LifeEnd::Over) {
                if let LifeEnd::Panicked(panic) = end {
                    tracing::error!(%resource, panic, "the actor of a singleton panicked while it stopped");
                }
                return TermEnd::Told;
            }
            let Some(pause) = self.count_crash(began.elapsed()) else {
                tracing::error!(%resource, ?end, "the actor of a singleton crashed too often; stepping down");
                return TermEnd::Unwell;
            };
            tracing::error!(%resource, ?end, ?pause, "the actor of a singleton crashed; starting it again");
            if stop.run_until_cancelled(sleep(pause)).await.is_none() {
                return TermEnd::Told;
            }
        }
    }
}

impl<A: Actor<Context = SingletonContext<A>>> TermWork for Singleton<A> {
    async fn term(self: Rc<Self>, lease: Arc<Lease>, stop: CancellationToken) -> TermEnd {
        lease.scope().around(self.lives(Arc::clone(&lease), stop)).await
    }
}

/// The end of one life of an actor.
#[derive(Debug)]
enum LifeEnd {
    /// The lease is over. The actor was dropped, after `stopping` and `stopped`.
    Over,
    /// It stopped: by itself, or because it was told to.
    Stopped,
    Panicked(String),
}
