//! A singleton: an actor that runs in one process of a fleet, while that process leads.

pub(super) mod context;
mod life;

use std::{
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use actix::{Actor, Addr};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use self::{
    context::SingletonContext,
    life::{LifeEnd, live},
};
use super::{Candidacy, Election, TermEnd, TermWork, elect};
use crate::{
    core::{Doubling, InvalidValue},
    lease::Lease,
    manager::LockManager,
    runtime::supervisor::message_of,
};

/// An actor of which one runs in a whole fleet: in the process that is elected.
///
/// * It is made by the factory when a term begins, and again after a crash. What must outlive it lies outside of it.
/// * **It is stopped before the validity of its lease ends**, or when the lead is given up, as by `ctx.stop()`. It may
///   finish: `stopping` returns `Running::Continue`, and the actor stops by itself, within the
///   [budget](Candidacy::budget). Then it is dropped. After the end of the validity it handles no message, and none of its
///   timers goes off. The same holds for its futures, but **not for a `ResponseFuture` or a spawned task**: see
///   [`SingletonContext`] for what lets these end with the lease.
/// * **A panic in it starts it again**, after a pause. So does a stop that nobody asked for. (`actix::Supervisor` does not
///   survive a panic: the mailbox of the actor is closed for good.) After [`max_crashes`](Candidacy::max_crashes) in a row
///   the candidate steps down, so that another instance tries. Until then nobody runs during the pauses: 0.3 s with the
///   defaults. With `panic = "abort"` the process ends.
/// * With [`heartbeat`](crate::Request::heartbeat), an actor that hangs loses the lead. It reports by
///   `ctx.lease().heartbeat()`.
///
/// An actor that blocks its thread cannot be stopped meanwhile. For what it writes then there is the
/// [fence](Lease::fence).
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
pub struct Singleton<A> {
    factory: RefCell<Box<dyn FnMut() -> A>>,
    crashes: RefCell<Crashes>,
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
        let crashes = Crashes::new(&candidacy).into();
        elect(locks, candidacy, Self { factory: RefCell::new(Box::new(factory)), crashes })
    }
}

impl<A: Actor<Context = SingletonContext<A>>> TermWork for Singleton<A> {
    /// Runs one life of the actor after the other.
    async fn term(self: Rc<Self>, lease: Arc<Lease>, stop: CancellationToken) -> TermEnd {
        let resource = lease.resource();
        loop {
            let began = Instant::now();
            let end = match catch_unwind(AssertUnwindSafe(|| self.factory.borrow_mut()())) {
                Ok(actor) => live(&lease, actor, &stop).await,
                Err(panic) => LifeEnd::Panicked(message_of(panic.as_ref())),
            };
            match &end {
                LifeEnd::Over => return TermEnd::Told,
                LifeEnd::Panicked(panic) if stop.is_cancelled() => {
                    tracing::error!(%resource, panic, "the actor of a singleton panicked while it stopped");
                    return TermEnd::Told;
                }
                LifeEnd::Stopped if stop.is_cancelled() => return TermEnd::Told,
                LifeEnd::Stopped | LifeEnd::Panicked(_) => {}
            }
            let Some(pause) = self.crashes.borrow_mut().count(began.elapsed()) else {
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

/// The crashes of an actor, in all terms of its process.
struct Crashes {
    in_a_row: u32,
    most: u32,
    /// The life of an actor that counts as a good one.
    good_life: Duration,
    pauses: Doubling,
}

impl Crashes {
    const fn new(candidacy: &Candidacy) -> Self {
        let (most, good_life) = (candidacy.max_crashes, candidacy.longest_pause());
        Self { in_a_row: 0, most, good_life, pauses: candidacy.doubling() }
    }

    /// Counts a crash after a life of this length. Returns the pause before the next life; `None` after too many.
    fn count(&mut self, lived: Duration) -> Option<Duration> {
        if lived > self.good_life {
            self.begin_again();
        }
        self.in_a_row += 1;
        if self.in_a_row < self.most {
            return Some(self.pauses.next());
        }
        self.begin_again();
        None
    }

    const fn begin_again(&mut self) {
        self.in_a_row = 0;
        self.pauses.reset();
    }
}
