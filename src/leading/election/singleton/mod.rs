//! A singleton: an actor that runs in one process of a fleet, while that process leads.

pub(super) mod context;
mod life;

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use actix::{
    Actor, ActorFutureExt, Addr, AsyncContext, Context, Handler, ResponseFuture, WeakAddr, WrapFuture,
};
use tokio::{sync::oneshot, time::Instant};

use self::{
    context::SingletonContext,
    life::{End, live},
};
use super::{Candidacy, Election, ElectionEvent, Unwell};
use crate::{
    core::{Doubling, InvalidValue, ResourceName},
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
    name: ResourceName,
    /// Weak, so that none of the two keeps the other one alive.
    election: WeakAddr<Election>,
    max_crashes: u32,
    /// The life of an actor that counts as a good one.
    good_life: Duration,
    factory: Box<dyn FnMut() -> A>,
    term: Option<Term>,
    crashes: u32,
    pauses: Doubling,
}

/// The term in which the actor runs.
struct Term {
    number: u64,
    lease: Arc<Lease>,
    /// The way to stop the present life. `None` between two lives.
    stop: Option<oneshot::Sender<()>>,
    /// While the term ends: the election, which waits until the actor has stopped.
    ending: Option<oneshot::Sender<()>>,
    began: Instant,
}

impl<A> Singleton<A>
where
    A: Actor<Context = SingletonContext<A>>,
{
    /// Stands for the lead, and runs the actor that `factory` makes while it leads. Returns the election, which takes
    /// [`Resign`](super::Resign), [`Campaign`](super::Campaign), [`Leader`](super::Leader) and [`Unwell`]. Recipients that
    /// the candidacy names are told beside the singleton.
    ///
    /// # Errors
    /// As [`Election::start`]. A request that the lock manager refuses for good, a TTL below its limits for instance, is no
    /// error here: it is logged, told to the recipients by [`ElectionEvent::NotStanding`], and not repeated.
    ///
    /// # Panics
    /// As [`Election::start`].
    pub fn start(
        locks: &Addr<LockManager>,
        candidacy: impl Into<Candidacy>,
        factory: impl FnMut() -> A + 'static,
    ) -> Result<Addr<Election>, InvalidValue> {
        let mut candidacy = candidacy.into();
        let (name, audience) = (candidacy.check()?, candidacy.tells.clone());
        let (max_crashes, good_life) = (candidacy.max_crashes, candidacy.longest_pause());
        let (crashes, pauses) = (0, candidacy.doubling());
        let context = Context::new();
        candidacy.tells.insert(0, context.address().recipient());
        let election = Election::launch(locks, candidacy, audience)?;
        let factory = Box::new(factory);
        context.run(Self {
            name,
            election: election.downgrade(),
            max_crashes,
            good_life,
            factory,
            term: None,
            crashes,
            pauses,
        });
        Ok(election)
    }

    /// Begins a life of the actor in the present term.
    fn begin(&mut self, ctx: &mut Context<Self>) {
        let Some(term) = &mut self.term else { return };
        let (stop, stopped) = oneshot::channel();
        (term.stop, term.began) = (Some(stop), Instant::now());
        let number = term.number;
        match catch_unwind(AssertUnwindSafe(&mut self.factory)) {
            Ok(actor) => {
                let life = live(Arc::clone(&term.lease), actor, stopped).into_actor(self);
                ctx.spawn(life.map(move |end, this, ctx| this.ended(number, &end, ctx)));
            }
            Err(panic) => self.ended(number, &End::Panicked(message_of(panic.as_ref())), ctx),
        }
    }

    /// Stops the present life in this term, if there is one, and begins no other in it. Returns its end.
    fn stop(&mut self, number: u64) -> Option<oneshot::Receiver<()>> {
        let mut term = self.term.take_if(|term| term.number == number)?;
        term.stop.take()?.send(()).ok()?;
        let (ending, ended) = oneshot::channel();
        self.term = Some(Term { ending: Some(ending), ..term });
        Some(ended)
    }

    fn ended(&mut self, number: u64, end: &End, ctx: &mut Context<Self>) {
        let Some(term) = self.term.as_mut().filter(|term| term.number == number) else { return };
        term.stop = None;
        if let End::Over = end {
            self.term = None;
        } else if let Some(ending) = term.ending.take() {
            if let End::Panicked(panic) = end {
                tracing::error!(resource = %self.name, panic, "the actor of a singleton panicked while it stopped");
            }
            // Nobody waits for it any more when the time to finish is over.
            let _ = ending.send(());
            self.term = None;
        } else {
            self.crashed(end, ctx);
        }
    }

    /// Starts the actor again after a pause, or leaves it to another instance.
    fn crashed(&mut self, end: &End, ctx: &mut Context<Self>) {
        let Some(term) = &self.term else { return };
        if term.began.elapsed() > self.good_life {
            self.crashes = 0;
            self.pauses.reset();
        }
        self.crashes += 1;
        let (resource, crashes) = (&self.name, self.crashes);
        if crashes >= self.max_crashes {
            tracing::error!(%resource, ?end, crashes, "the actor of a singleton crashed too often; stepping down");
            self.crashes = 0;
            self.pauses.reset();
            // Without an election the term has ended.
            return self.election.upgrade().into_iter().for_each(|election| election.do_send(Unwell));
        }
        let (number, pause) = (term.number, self.pauses.next());
        tracing::error!(%resource, ?end, ?pause, "the actor of a singleton crashed; starting it again");
        ctx.run_later(pause, move |this, ctx| {
            if this.term.as_ref().is_some_and(|term| term.number == number && term.stop.is_none()) {
                this.begin(ctx);
            }
        });
    }
}

impl<A> Actor for Singleton<A>
where
    A: Actor<Context = SingletonContext<A>>,
{
    type Context = Context<Self>;
}

impl<A> Handler<ElectionEvent> for Singleton<A>
where
    A: Actor<Context = SingletonContext<A>>,
{
    type Result = ResponseFuture<()>;

    /// The answer to the end of a term comes when the actor has ended.
    fn handle(&mut self, event: ElectionEvent, ctx: &mut Context<Self>) -> Self::Result {
        match event {
            ElectionEvent::Elected { term: number, lease, .. } => {
                self.term = Some(Term { number, lease, stop: None, ending: None, began: Instant::now() });
                self.begin(ctx);
            }
            ElectionEvent::Demoted { term, .. } => {
                if let Some(ended) = self.stop(term) {
                    // Without an answer the actor has ended too, with this one.
                    return Box::pin(async { ended.await.unwrap_or_default() });
                }
            }
            ElectionEvent::LeaderChanged { .. } | ElectionEvent::NotStanding { .. } => {}
        }
        Box::pin(async {})
    }
}

impl<A> fmt::Debug for Singleton<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Singleton")
            .field("name", &self.name)
            .field("runs", &self.term.as_ref().is_some_and(|term| term.stop.is_some()))
            .field("crashes", &self.crashes)
            .finish_non_exhaustive()
    }
}
