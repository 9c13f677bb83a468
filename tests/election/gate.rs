//! The gate of a singleton's context: what it holds back after the validity, and after a panic.

use std::{
    cell::Cell,
    panic::resume_unwind,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use actix::{Actor, Addr, AsyncContext, Handler, Message, ResponseFuture, Running};
use leasehold::{
    Acquire, LockManager, MemoryStore,
    election::{Candidacy, Demotion, Election, Singleton, SingletonContext},
    env::{Clock, Moment, RuntimeClock},
};
use tokio::time::{advance, sleep};

use crate::election::witness::{Heard, TTL, Witness, until};
use support::virtual_time::{Loaded, World, in_virtual_time, millis, secs};

/// A clock that can go on while the timers of the runtime stand still: a thread is blocked, or a process frozen.
#[derive(Debug)]
pub(crate) struct JumpingClock {
    runtime: RuntimeClock,
    ahead: AtomicU64,
}

impl JumpingClock {
    pub(crate) fn start() -> Self {
        Self { runtime: RuntimeClock::start(), ahead: AtomicU64::new(0) }
    }

    pub(crate) fn jump(&self, time: Duration) {
        self.ahead.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
    }
}

impl Clock for JumpingClock {
    fn now(&self) -> Moment {
        self.runtime.now() + Duration::from_micros(self.ahead.load(Ordering::Relaxed))
    }
}

/// Something that an actor is told to do.
#[derive(Clone, Copy, Message)]
#[rtype(result = "()")]
enum Do {
    /// Counts.
    Count,
    /// Counts at each tick of a timer, and blocks the thread at each until the lease is over.
    BlockAtTicks(Duration),
    /// Panics.
    Crash,
}

/// Writes after a time, in a task that is not the actor's own.
#[derive(Message)]
#[rtype(result = "bool")]
struct Write(Duration);

struct Worker {
    clock: Arc<JumpingClock>,
    counted: Rc<Cell<u32>>,
    address: Rc<Cell<Option<Addr<Self>>>>,
    goes_on: bool,
}

impl Worker {
    fn count(&self) {
        self.counted.set(self.counted.get() + 1);
    }
}

impl Actor for Worker {
    type Context = SingletonContext<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.address.set(Some(ctx.address()));
    }

    fn stopping(&mut self, _: &mut Self::Context) -> Running {
        if self.goes_on { Running::Continue } else { Running::Stop }
    }
}

impl Handler<Do> for Worker {
    type Result = ();

    fn handle(&mut self, what: Do, ctx: &mut Self::Context) {
        match what {
            Do::Count => self.count(),
            Do::BlockAtTicks(every) => {
                ctx.run_interval(every, |this, _| {
                    this.count();
                    this.clock.jump(TTL);
                });
            }
            Do::Crash => resume_unwind(Box::new("the worker was told to crash")),
        }
    }
}

impl Handler<Write> for Worker {
    type Result = ResponseFuture<bool>;

    fn handle(&mut self, write: Write, ctx: &mut Self::Context) -> Self::Result {
        let (lease, counted) = (Arc::clone(ctx.lease()), Rc::clone(&self.counted));
        Box::pin(async move {
            let work = async {
                sleep(write.0).await;
                counted.set(counted.get() + 1);
            };
            lease.run(work).await.is_ok()
        })
    }
}

/// A worker that leads, and what it has counted.
struct Scene {
    clock: Arc<JumpingClock>,
    counted: Rc<Cell<u32>>,
    address: Rc<Cell<Option<Addr<Worker>>>>,
}

impl Scene {
    fn start(goes_on: bool) -> Self {
        let clock = Arc::new(JumpingClock::start());
        let scene = Self { clock: Arc::clone(&clock), counted: Rc::default(), address: Rc::default() };
        let (counted, address) = (Rc::clone(&scene.counted), Rc::clone(&scene.address));
        let locks = LockManager::builder(Arc::new(MemoryStore::new(clock.clone()))).clock(clock.clone());
        let locks = locks.random(Arc::new(Loaded::new(|_| false))).start_here().unwrap();
        let worker = move || {
            let (clock, counted, address) = (Arc::clone(&clock), Rc::clone(&counted), Rc::clone(&address));
            Worker { clock, counted, address, goes_on }
        };
        Singleton::start(&locks, Acquire::new("r").ttl(TTL), worker).unwrap();
        scene
    }

    /// Waits until the next worker lives. Returns its address.
    async fn worker(&self) -> Addr<Worker> {
        loop {
            match self.address.take() {
                Some(worker) => return worker,
                None => sleep(millis(1)).await,
            }
        }
    }
}

#[test]
fn the_ticks_that_a_timer_has_missed_do_not_come_after_the_validity() {
    in_virtual_time(|| async {
        let scene = Scene::start(false);
        let worker = scene.worker().await;
        let every = millis(10);
        worker.send(Do::BlockAtTicks(every)).await.unwrap();
        advance(5 * every).await;
        sleep(every).await;
        assert_eq!(scene.counted.get(), 1, "the first tick has used up the validity");
    });
}

#[test]
fn an_actor_that_panicked_handles_nothing_more() {
    in_virtual_time(|| async {
        let scene = Scene::start(true);
        let worker = scene.worker().await;
        for what in [Do::Count, Do::Crash, Do::Count, Do::Count] {
            worker.do_send(what);
        }
        scene.worker().await.send(Do::Count).await.unwrap();
        assert_eq!(scene.counted.get(), 2, "one before the panic, and one in the next life");
    });
}

#[test]
fn a_task_of_its_own_ends_with_the_lease_if_the_lease_runs_it() {
    in_virtual_time(|| async {
        let scene = Scene::start(false);
        let worker = scene.worker().await;
        assert!(worker.send(Write(secs(1))).await.unwrap());
        let write = worker.send(Write(secs(1)));
        let late = async {
            sleep(millis(500)).await;
            scene.clock.jump(2 * TTL);
        };
        let (written, ()) = tokio::join!(write, late);
        assert!(!written.unwrap(), "it was stopped");
        sleep(secs(2)).await;
        assert_eq!(scene.counted.get(), 1);
    });
}

#[test]
fn after_a_suspension_a_leader_still_has_time_to_finish() {
    in_virtual_time(|| async {
        let (clock, heard) = (Arc::new(JumpingClock::start()), Heard::default());
        let locks = World::new().builder().clock(clock.clone()).start_here().unwrap();
        let asked = Acquire::new("r").ttl(secs(30)).no_renew();
        let candidacy = Candidacy::from(asked).budget(secs(3)).tell(Witness::start(&heard, Duration::ZERO));
        let _election = Election::start(&locks, candidacy).unwrap();
        heard.elected(1).await;
        clock.jump(secs(20));
        until("demoted", || !heard.demotions().is_empty()).await;
        assert_eq!(heard.demotions(), [Demotion::Expiring]);
    });
}
