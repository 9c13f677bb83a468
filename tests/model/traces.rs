//! Random traces of the models, executed on a real server and on the store in memory, which have to answer as the model does.
//!
//! `LEASEHOLD_TRACES=1000` takes more of them. A tick of the model is a hundred seconds of both stores' clocks. Answers, holders,
//! waiters and messages to waiters are compared after each call, in every second trace with calls in batches.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    sync::Arc,
    time::Duration,
};

use leasehold::{
    Fence, HolderState, MemoryStore, Mode, RedisStore, ResourceName, Token,
    store::{
        Acquired, Acquisition, Hold, QueueTicket, RegisterVerdict, RegisterWrite, Released, Renewed, Store,
    },
};
use leasehold_sim::checked::{
    queue::{CLIENTS, GRANT_WINDOW, QueueAnswer, QueueCall, QueueWorld, TTL, client_of},
    register::{RegisterAnswer, RegisterCall, RegisterWorld, Verdict},
    traces::QueueStep,
};
use leasehold_testing::servers::RedisServer;
use support::{clock::TestClock, patient};

use super::{
    ears::{Ears, inbox},
    kinds::{KINDS, kind},
};

pub(crate) const TICK: Duration = Duration::from_secs(100);
/// The server's clock also moves by itself: what ends with a tick ends half a tick before it.
const HALF: Duration = Duration::from_secs(50);

pub(crate) type Found = Result<(), String>;

/// A real store and the one in memory, whose clocks are moved together.
struct Stores {
    server: RedisServer,
    clock: Arc<TestClock>,
    redis: RedisStore,
    memory: MemoryStore,
}

impl Stores {
    fn start() -> Self {
        let (server, clock) = (RedisServer::with_clock(), Arc::new(TestClock::new()));
        let (redis, memory) = (patient::open(&server.url()), MemoryStore::new(clock.clone()));
        Self { server, clock, redis, memory }
    }

    fn each(&self) -> [(&'static str, &dyn Store); 2] {
        [("redis", &self.redis), ("memory", &self.memory)]
    }

    fn tick(&self) {
        self.clock.advance(TICK);
        self.server.advance(TICK);
    }
}

fn lasting(ticks: u8) -> Duration {
    TICK * u32::from(ticks) - HALF
}

pub(crate) fn traces() -> u64 {
    env::var("LEASEHOLD_TRACES").map_or(100, |traces| traces.parse().expect("a number"))
}

pub(crate) fn same<T: PartialEq + std::fmt::Debug>(model: T, real: T) -> Found {
    if model == real { Ok(()) } else { Err(format!("the model has {model:?}, and the store {real:?}")) }
}

/// One trace on one resource.
struct QueueTrace<'a> {
    world: QueueWorld,
    number: u64,
    resource: ResourceName,
    store: &'a dyn Store,
    /// The fences of the model, and those of the store beside them.
    fences: BTreeMap<u8, Fence>,
    /// True if acquisitions and releases are the second of a batch, behind those of another resource.
    in_batches: bool,
}

impl QueueTrace<'_> {
    fn hold(&self, token: u8) -> Hold {
        // The first digits are shown of a token: let them differ.
        let bits = (u128::from(self.number) << 8 | u128::from(token)) << 96 | 1;
        Hold { resource: self.resource.clone(), token: Token::from_bits(bits), owner: None }
    }

    fn acquisition(&self, token: u8) -> Acquisition {
        let which = client_of(token);
        let ticket = QueueTicket {
            inbox: inbox(which, self.world.deaf[which]),
            ttl: lasting(self.world.ticket_ttl),
            grant_window: lasting(GRANT_WINDOW),
            max_waiters: 100,
            place: None,
        };
        Acquisition {
            hold: self.hold(token),
            mode: if self.world.reads[which] { Mode::Shared } else { Mode::Exclusive },
            reentrant: false,
            ttl: lasting(TTL),
            lock_delay: Duration::ZERO,
            metadata: Arc::default(),
            ticket: Some(ticket),
        }
    }

    /// An acquisition or a hold of another resource.
    fn beside(&self) -> Acquisition {
        let mut beside = self.acquisition(0);
        beside.hold.resource = ResourceName::new(format!("beside/{}", self.number)).expect("a name");
        beside
    }

    async fn acquire(&self, token: u8) -> Result<Acquired, String> {
        let mut asked = vec![Arc::new(self.acquisition(token))];
        asked.extend(self.in_batches.then(|| Arc::new(self.beside())));
        asked.reverse();
        let mut answers = self.store.acquire_each(&asked).await;
        answers.pop().ok_or("no answer")?.map_err(|error| error.to_string())
    }

    async fn release(&self, token: u8) -> Result<Released, String> {
        let (own, beside) = (self.hold(token), self.beside().hold);
        let both = [(&beside, Duration::ZERO), (&own, Duration::ZERO)];
        let mut answers = self.store.release_each(&both[usize::from(!self.in_batches)..]).await;
        answers.pop().ok_or("no answer")?.map_err(|error| error.to_string())
    }

    async fn step(&mut self, step: &QueueStep, ears: &mut Ears) -> Found {
        self.call(step).await?;
        let told = step.told.iter().map(|(token, told)| (client_of(*token), self.hold(*token).token, *told));
        let mut told: Vec<_> = told.collect();
        told.sort_by_key(|(which, ..)| *which);
        same(told, ears.heard(self.store).await?)?;
        let seen = self.store.inspect(&self.resource, 100).await.map_err(|error| error.to_string())?;
        let prefix = |token: &u8| self.hold(*token).token.prefix();
        let mut holders: Vec<_> = seen.holders.iter().filter(|it| it.state == HolderState::Holding).collect();
        holders.sort_by_key(|holder| holder.token);
        same(
            step.holders.iter().map(prefix).collect::<Vec<_>>(),
            holders.iter().map(|it| it.token).collect(),
        )?;
        same(
            step.waiters.iter().map(prefix).collect::<Vec<_>>(),
            seen.waiters.iter().map(|it| it.token).collect(),
        )
    }

    async fn call(&mut self, step: &QueueStep) -> Found {
        let failed = |error: leasehold::StoreError| error.to_string();
        match step.call {
            QueueCall::Acquire(token, _) => match (step.answer, self.acquire(token).await?) {
                (QueueAnswer::Granted(model), Acquired::Granted(real)) => self.compare(model, real.fence),
                (QueueAnswer::Queued(model), Acquired::Queued { ahead, .. }) => same(u64::from(model), ahead),
                (model, real) => Err(format!("the model answers {model:?}, and the store {real:?}")),
            },
            QueueCall::Renew(token) => {
                let renewed = self.store.renew(&self.hold(token), lasting(TTL)).await.map_err(failed)?;
                same(step.answer, QueueAnswer::Held(renewed == Renewed::Extended))
            }
            QueueCall::Release(token) => {
                same(step.answer, QueueAnswer::Held(self.release(token).await? == Released::Freed))
            }
            QueueCall::HandOff(from, to, overtake) => {
                let (from, to) = (self.hold(from), self.acquisition(to));
                let handed_off = self.store.hand_off(&from, &to, overtake).await.map_err(failed)?;
                let QueueAnswer::HandedOff(held, model, others_wait) = step.answer else { return Ok(()) };
                same((held, others_wait), (handed_off.released == Released::Freed, handed_off.others_wait))?;
                match (model, handed_off.acquired.map_err(failed)?) {
                    (Some(model), Acquired::Granted(real)) => self.compare(model, real.fence),
                    (None, Acquired::Queued { .. }) => Ok(()),
                    (model, real) => Err(format!("the model answers {model:?}, and the store {real:?}")),
                }
            }
            QueueCall::ForceRelease => {
                let taken = self.store.force_release(&self.resource).await.map_err(failed)?;
                same(step.answer, QueueAnswer::Taken(taken as u8))
            }
            // Both clocks are moved once for all stores.
            QueueCall::Tick => Ok(()),
        }
    }

    /// The numbers are the store's own, but they are in the same order. A repeat may have a larger one.
    fn compare(&mut self, model: u8, real: Option<Fence>) -> Found {
        let real = real.ok_or("a grant without a fence")?;
        let before = self.fences.insert(model, real);
        let earlier = self.fences.range(..model).next_back().is_some_and(|(_, earlier)| *earlier >= real);
        let later = self.fences.range(model + 1..).next().is_some_and(|(_, later)| *later <= real);
        if earlier || later || before.is_some_and(|before| before > real) {
            return Err(format!("{real} for {model} is out of order: {:?}", self.fences));
        }
        Ok(())
    }
}

async fn run(
    stores: &Stores,
    ears: &mut [Ears; 2],
    world: QueueWorld,
    number: u64,
    kinds: &mut BTreeSet<String>,
) -> usize {
    let (steps, in_batches) = (world.trace(number, 150), number % 2 == 1);
    let new = |(name, store)| {
        let resource = ResourceName::new(format!("trace/{number}")).expect("a name");
        (name, QueueTrace { world, number, resource, store, fences: BTreeMap::new(), in_batches })
    };
    let mut traces = stores.each().map(new);
    for (at, step) in steps.iter().enumerate() {
        if step.call == QueueCall::Tick {
            stores.tick();
        }
        kinds.insert(kind(step, in_batches));
        kinds.extend(step.told.iter().map(|(_, told)| format!("told {told:?}")));
        for ((name, trace), ears) in traces.iter_mut().zip(&mut *ears) {
            if let Err(found) = trace.step(step, ears).await {
                let before: String = steps[..=at].iter().map(|step| format!("{step:?}\n")).collect();
                panic!("trace {number} in {name}: {found}\n{before}");
            }
        }
    }
    steps.len()
}

#[tokio::test]
async fn traces_of_the_queue_are_those_of_the_stores() {
    let stores = Stores::start();
    let mut ears = [Ears::open(&stores.redis).await, Ears::open(&stores.memory).await];
    let all = QueueWorld {
        asks: [5; CLIENTS],
        ticks: 20,
        renewals: 4,
        delays: 4,
        breaks: 6,
        deaths: 1,
        revokes: 2,
        forced: 2,
        ..QueueWorld::EMPTY
    };
    let hands_off =
        QueueWorld { asks: [10, 10, 0, 0, 0], hands_off: true, ticks: 8, breaks: 1, ..QueueWorld::EMPTY };
    let worlds = [
        all,
        QueueWorld { reads: [true, false, true, true, false], ..all },
        QueueWorld { deaf: [false, true, false, true, false], ..all },
        QueueWorld { hands_off: true, ticks: 6, deaths: 0, ..all },
        hands_off,
        QueueWorld { asks: [10, 10, 3, 0, 0], ..hands_off },
        QueueWorld { begins_dead: 0, deaths: 3, ticket_ttl: 6, ..all },
    ];
    let (mut steps, mut kinds) = (0, BTreeSet::new());
    for number in 0..traces() {
        let world = worlds[number as usize % worlds.len()];
        steps += run(&stores, &mut ears, world, number, &mut kinds).await;
    }
    let missing: Vec<_> = KINDS.iter().filter(|kind| !kinds.contains(**kind)).collect();
    assert!(missing.is_empty() || traces() < 100, "{missing:?} of {kinds:?}");
    println!("{} traces of {steps} calls", traces());
}

/// Executes a call of the model, and compares the answer.
async fn register(
    store: &dyn Store,
    number: u64,
    begin: Duration,
    call: RegisterCall,
    answer: RegisterAnswer,
) -> Found {
    let name = ResourceName::new(format!("schedule/{number}")).expect("a name");
    let revision = |revision: u8| (revision > 0).then(|| Token::from_bits(u128::from(revision)));
    let write = match call {
        RegisterCall::Write { expected, revision: new, value, not_before } => Some(RegisterWrite {
            expected: revision(expected),
            revision: Token::from_bits(u128::from(new)),
            value: format!("{value:?}"),
            not_before: (begin + TICK * u32::from(not_before)).saturating_sub(HALF),
        }),
        _ => None,
    };
    let real = store.register(&name, write.as_ref()).await.map_err(|error| error.to_string())?;
    let verdict = match real.verdict {
        RegisterVerdict::Read => Verdict::Read,
        RegisterVerdict::Written => Verdict::Written,
        RegisterVerdict::Changed => Verdict::Changed,
        RegisterVerdict::Early => Verdict::Early,
    };
    let (kept, value) = answer.kept;
    let value = if kept > 0 { format!("{value:?}") } else { String::new() };
    same((answer.verdict, revision(kept), value), (verdict, real.revision, real.value))
}

#[tokio::test]
async fn traces_of_the_register_are_those_of_the_stores() {
    let (stores, mut verdicts) = (Stores::start(), [0; 4]);
    let all =
        RegisterWorld { ticks: 8, elections: 6, breaks: 6, changes: 4, losses: 1, ..RegisterWorld::EMPTY };
    let worlds = [all, RegisterWorld { clocks_are_ahead: true, ..all }, RegisterWorld { losses: 0, ..all }];
    for number in 0..traces() {
        let steps = worlds[number as usize % worlds.len()].trace(number, 100);
        let mut begins = Vec::new();
        for (_, store) in stores.each() {
            let now = store.register(&ResourceName::new("clock").expect("a name"), None).await;
            begins.push(now.expect("an answer").now);
        }
        for (at, (call, answer)) in steps.iter().enumerate() {
            verdicts[answer.verdict as usize] += 1;
            match call {
                RegisterCall::Tick => stores.tick(),
                RegisterCall::Lose => {
                    stores.server.command(&["FLUSHALL"]);
                    stores.memory.clear();
                }
                RegisterCall::Read | RegisterCall::Write { .. } => {}
            }
            for ((name, store), begin) in stores.each().into_iter().zip(&begins) {
                if let Err(found) = register(store, number, *begin, *call, *answer).await {
                    panic!("trace {number} in {name}: {found}\n{:#?}", &steps[..=at]);
                }
            }
        }
    }
    assert!(verdicts.iter().all(|times| *times > 0) || traces() < 100, "{verdicts:?}");
}
