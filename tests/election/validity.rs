//! A singleton's actor handles nothing after the validity of its lease: 10,000 runs, each with other faults.

use std::{
    cell::{Cell, RefCell},
    panic::resume_unwind,
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use actix::{
    Actor, ActorFutureExt, Addr, AsyncContext, Context, Handler, Message, Recipient, ResponseActFuture,
    Running, StreamHandler, WrapFuture,
};
use futures_util::{FutureExt, stream};
use leasehold::{
    Acquire, Fence, LockManager, MemoryStore, ResourceName, Shutdown,
    election::{
        Campaign, Candidacy, Demotion, Election, ElectionEvent, Resign, Singleton, SingletonContext, Unwell,
    },
    store::Store,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::time::sleep;

use crate::election::gate::JumpingClock;
use support::virtual_time::{Loaded, in_virtual_time, millis};

const STEPS: u32 = 12;

/// The events of all runs, counted.
#[derive(Default)]
struct Counts {
    handled: Cell<u64>,
    lives: Cell<u64>,
    blocked_too_long: Cell<u64>,
    panics: Cell<u64>,
    /// The steps of handlers that wait between two of them.
    steps: Cell<u64>,
    /// The items of streams.
    items: Cell<u64>,
    /// The ends of terms that came before, and after, the end of the validity.
    expiring: Cell<u64>,
    lost: Cell<u64>,
    /// What must not have been. A panic in an actor would be one more crash of it.
    violations: RefCell<Vec<String>>,
}

fn count(counter: &Cell<u64>) {
    counter.set(counter.get() + 1);
}

/// One world of a run: a store, and what its actors have in common.
#[derive(Clone)]
struct Scene {
    seed: u64,
    store: MemoryStore,
    clock: Arc<JumpingClock>,
    counts: Rc<Counts>,
    /// The pause of the stalls that are scripted.
    stall: Rc<Cell<Duration>>,
    /// Every actor that ever lived.
    addresses: Rc<RefCell<Vec<Addr<Worker>>>>,
}

/// Blocks the thread for so long, as far as all clocks are concerned.
#[derive(Message)]
#[rtype(result = "()")]
struct Work(Duration);

/// Waits for so long, twice, and acts after each.
#[derive(Message)]
#[rtype(result = "()")]
struct Errand(Duration);

#[derive(Message)]
#[rtype(result = "()")]
struct Crash;

/// An item of a stream.
struct Item;

struct Worker {
    scene: Scene,
    finishes: bool,
}

impl Worker {
    /// Something happens in the actor: its lease must be valid, and nobody else may have one in the store.
    fn acts(&self, ctx: &SingletonContext<Self>) {
        let Scene { counts, seed, .. } = &self.scene;
        count(&counts.handled);
        if !ctx.lease().is_valid() {
            counts.violations.borrow_mut().push(format!("seed {seed}: after the validity of its lease"));
        }
        if let Some(leader) = self.scene.leader().filter(|leader| Some(*leader) != ctx.lease().fence()) {
            counts.violations.borrow_mut().push(format!("seed {seed}: the store says that {leader} leads"));
        }
    }

    fn block(&self, time: Duration, ctx: &SingletonContext<Self>) {
        self.scene.clock.jump(time);
        if !ctx.lease().is_valid() {
            count(&self.scene.counts.blocked_too_long);
        }
    }
}

impl Scene {
    /// Returns the leader in the store. Faults are meant for other verbs, and put back.
    fn leader(&self) -> Option<Fence> {
        let name = ResourceName::new("r").unwrap();
        let mut faults = Vec::new();
        let inspection = loop {
            match self.store.inspect(&name, 1).now_or_never() {
                Some(Ok(inspection)) => break inspection,
                fault => faults.push(fault.is_some()),
            }
        };
        for is_failure in faults {
            if is_failure {
                self.store.fail_next(1);
            } else {
                self.store.stall_next(1, self.stall.get());
            }
        }
        inspection.holders.first()?.fence
    }

    fn locks(&self) -> Addr<LockManager> {
        let builder = LockManager::builder(Arc::new(self.store.clone())).clock(self.clock.clone());
        builder.random(Arc::new(Loaded::new(|_| false))).start_here().unwrap()
    }
}

impl Actor for Worker {
    type Context = SingletonContext<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.acts(ctx);
        count(&self.scene.counts.lives);
        self.scene.addresses.borrow_mut().push(ctx.address());
        ctx.run_interval(millis(30), |this, ctx| this.acts(ctx));
        ctx.notify_later(Work(millis(20)), millis(200));
        // Items that come three at a time.
        ctx.add_stream(stream::unfold(0_u32, |item| async move {
            if item % 3 == 0 {
                sleep(millis(70)).await;
            }
            Some((Item, item + 1))
        }));
    }

    fn stopping(&mut self, _: &mut Self::Context) -> Running {
        if self.finishes { Running::Continue } else { Running::Stop }
    }
}

impl Handler<Work> for Worker {
    type Result = ();

    fn handle(&mut self, work: Work, ctx: &mut Self::Context) {
        self.acts(ctx);
        self.block(work.0, ctx);
    }
}

impl Handler<Errand> for Worker {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, errand: Errand, _: &mut Self::Context) -> Self::Result {
        let step = |(), this: &mut Self, ctx: &mut SingletonContext<Self>| {
            this.acts(ctx);
            count(&this.scene.counts.steps);
        };
        let again = move |(), this: &mut Self, _: &mut _| sleep(errand.0).into_actor(this);
        Box::pin(sleep(errand.0).into_actor(self).map(step).then(again).map(step))
    }
}

impl StreamHandler<Item> for Worker {
    fn handle(&mut self, _: Item, ctx: &mut Self::Context) {
        self.acts(ctx);
        count(&self.scene.counts.items);
        self.block(millis(10), ctx);
    }
}

/// Counts how terms end.
struct Clerk(Rc<Counts>);

impl Clerk {
    fn start(counts: &Rc<Counts>) -> Recipient<ElectionEvent> {
        Actor::start(Self(Rc::clone(counts))).recipient()
    }
}

impl Actor for Clerk {
    type Context = Context<Self>;
}

impl Handler<ElectionEvent> for Clerk {
    type Result = ();

    fn handle(&mut self, event: ElectionEvent, _: &mut Self::Context) {
        match event {
            ElectionEvent::Demoted { reason: Demotion::Expiring, .. } => count(&self.0.expiring),
            ElectionEvent::Demoted { reason: Demotion::Lost(_), .. } => count(&self.0.lost),
            _ => {}
        }
    }
}

impl Handler<Crash> for Worker {
    type Result = ();

    fn handle(&mut self, _: Crash, ctx: &mut Self::Context) {
        self.acts(ctx);
        count(&self.scene.counts.panics);
        resume_unwind(Box::new("the worker was told to crash"));
    }
}

async fn run(seed: u64, counts: &Rc<Counts>) {
    let mut rng = StdRng::seed_from_u64(seed);
    let clock = Arc::new(JumpingClock::start());
    let store = MemoryStore::new(clock.clone());
    let scene = Scene {
        seed,
        store,
        clock,
        counts: Rc::clone(counts),
        stall: Rc::default(),
        addresses: Rc::default(),
    };
    let locks = [scene.locks(), scene.locks()];
    let ttl = millis(rng.random_range(200..1_500));
    let elections = locks.each_ref().map(|locks| candidate(locks, &scene, ttl, rng.random()));
    for _ in 0..STEPS {
        sleep(millis(rng.random_range(0..300))).await;
        step(&mut rng, &scene, &elections, ttl);
    }
    for locks in locks {
        locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
    }
}

fn candidate(locks: &Addr<LockManager>, scene: &Scene, ttl: Duration, finishes: bool) -> Addr<Election> {
    let candidacy = Candidacy::from(Acquire::new("r").ttl(ttl)).pauses(millis(10), millis(100));
    let candidacy = candidacy.tell(Clerk::start(&scene.counts));
    let scene = scene.clone();
    Singleton::start(locks, candidacy, move || Worker { scene: scene.clone(), finishes }).unwrap()
}

/// Something that happens to the two.
fn step(rng: &mut StdRng, scene: &Scene, elections: &[Addr<Election>; 2], ttl: Duration) {
    let election = &elections[rng.random_range(0..2)];
    match rng.random_range(0..10) {
        // Messages that wait behind one that blocks the thread.
        0..4 => scene.addresses.borrow().iter().for_each(|worker| {
            for _ in 0..rng.random_range(1..4) {
                worker.do_send(Work(ttl.mul_f64(rng.random_range(0.0..0.7))));
                worker.do_send(Errand(ttl.mul_f64(rng.random_range(0.0..0.3))));
            }
        }),
        4 => scene.addresses.borrow().iter().for_each(|worker| worker.do_send(Crash)),
        5 => scene.clock.jump(ttl.mul_f64(rng.random_range(0.0..1.5))),
        6 => scene.store.fail_next(rng.random_range(1..10)),
        7 => {
            scene.stall.set(ttl.mul_f64(rng.random_range(0.0..1.2)));
            scene.store.stall_next(rng.random_range(1..3), scene.stall.get());
        }
        8 => election.do_send(Unwell),
        _ => {
            election.do_send(Resign);
            election.do_send(Campaign);
        }
    }
}

#[test]
fn in_10_000_runs_nothing_is_handled_after_the_validity() {
    nothing_is_handled_after_the_validity(10_000);
}

/// For a planted bug, which shows itself soon.
#[test]
fn in_the_first_100_runs_nothing_is_handled_after_the_validity() {
    nothing_is_handled_after_the_validity(100);
}

fn nothing_is_handled_after_the_validity(runs: u64) {
    let counts = Rc::new(Counts::default());
    in_virtual_time(|| async {
        for seed in 0..runs {
            run(seed, &counts).await;
        }
    });
    let Counts { handled, lives, blocked_too_long, panics, steps, items, expiring, lost, violations } =
        &*counts;
    let violations = violations.borrow();
    let first = &violations[..violations.len().min(10)];
    assert!(violations.is_empty(), "{} violations: {first:#?}", violations.len());
    println!(
        "{handled:?} handled, {lives:?} lives, {blocked_too_long:?} blocked too long, {panics:?} crashes, \
         {steps:?} steps, {items:?} items, {expiring:?} terms that expired, {lost:?} that were lost"
    );
    let often = [(lives, runs), (steps, runs), (items, runs)];
    let seldom = [blocked_too_long, panics, expiring, lost].map(|counter| (counter, runs / 20));
    let least = [&often[..], &seldom].concat();
    assert!(least.iter().all(|(counter, least)| counter.get() > *least), "the runs show too little");
}
