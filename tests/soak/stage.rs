//! One topology on its way through the soak: its servers, its processes, its ledger, and one fault after the other.

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::channel,
    },
    thread,
    time::{Duration, Instant},
};

use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{
    client::{self, Client},
    fault::{Deck, Fault, Ground},
    ledger::Ledger,
    lie::Lie,
    limits::Allowed,
    net::Network,
    sampler::{Sample, Samples},
    topology,
    worker::{Said, Task},
};
use crate::{
    load::{Plan, micros},
    outages::scenario::plan,
};

/// How many processes each topology has.
pub(super) const PROCESSES: usize = 2;
/// The number of runs of the schedule that end the time of a clock that was set back: the first may have been claimed before, and then
/// none is due until the clock catches up.
const SET_BACK: usize = 2;
/// The pause between two looks at what goes on.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// A fault that was.
#[derive(Clone, Debug)]
pub(super) struct Suffered {
    pub(super) fault: Fault,
    /// From when until when, in microseconds since the host was started.
    pub(super) from: u64,
    pub(super) until: u64,
    /// The time until all resources were granted again after it.
    pub(super) again: u64,
    /// Leases that were lost from its beginning until then.
    pub(super) lost: u64,
    pub(super) words: String,
}

/// What a topology has brought so far.
pub(super) struct Stage {
    pub(super) name: &'static str,
    pub(super) ledger: Arc<Mutex<Ledger>>,
    pub(super) suffered: Mutex<Vec<Suffered>>,
    pub(super) clients: Mutex<Vec<Client>>,
    pub(super) samples: Mutex<Vec<Samples>>,
    /// What is happening, for who looks on.
    pub(super) now: Mutex<&'static str>,
    is_over: AtomicBool,
}

/// What all stages have in common.
pub(super) struct Setting<'a> {
    pub(super) seed: u64,
    pub(super) network: Option<Network>,
    pub(super) folder: &'a Path,
    pub(super) lie: Option<Lie>,
    pub(super) began: u64,
    pub(super) ends: Instant,
}

/// Locks, also what somebody has panicked with: a fault that did not come to its end is a finding of its own.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage {
    /// Starts the servers and the processes of the topology with this number.
    pub(super) fn start(number: usize, setting: &Setting<'_>) -> (Self, Ground) {
        let (name, start) = topology::ALL[number];
        let topology = start();
        let plan = Plan {
            managers: 1,
            callers: 12,
            keepers: 3,
            pause: Duration::from_millis(200),
            not_renewed: 0.05,
            long: 0.005,
            ..plan(&topology.store(), &topology.kinds())
        };
        let ledger = Ledger::new(topology.is_quorum(), PROCESSES, setting.began);
        let ledger = Arc::new(Mutex::new(ledger));
        let (say, said) = channel::<(usize, Said)>();
        let writer = Arc::clone(&ledger);
        thread::spawn(move || {
            said.into_iter().for_each(|(process, said)| locked(&writer).add(process, said))
        });
        let client = |process: usize| {
            let task = Task {
                plan: plan.clone(),
                number: number * PROCESSES + process,
                folder: setting.folder.to_owned(),
                schedules: !topology.is_quorum(),
                revokes: process == 0,
                lie: setting.lie.filter(|_| process == 1),
            };
            Client::start(&task, process, say.clone())
        };
        let clients: Vec<_> = (0..PROCESSES).map(client).collect();
        let stage = Self {
            name,
            ledger,
            suffered: Mutex::default(),
            samples: Mutex::new(clients.iter().map(|_| Samples::default()).collect()),
            clients: Mutex::new(clients),
            now: Mutex::new(""),
            is_over: AtomicBool::new(false),
        };
        (
            stage,
            Ground {
                number,
                topology,
                network: setting.network.clone(),
                ahead: None,
                spared: BTreeSet::new(),
            },
        )
    }

    /// Lets one fault follow the other until the time is over; then ends the processes, and checks what is left.
    pub(super) fn play(&self, mut ground: Ground, setting: &Setting<'_>) {
        let random = StdRng::seed_from_u64(setting.seed.wrapping_mul(31) + ground.number as u64);
        let played = catch_unwind(AssertUnwindSafe(|| {
            self.suffer_all(&mut ground, random, setting);
            self.end(&ground);
        }));
        if played.is_err() {
            let last = *locked(&self.now);
            self.violation(format!("did not come to its end: {last:?}; what was said stands in the output"));
        }
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn suffer_all(&self, ground: &mut Ground, mut random: StdRng, setting: &Setting<'_>) {
        let mut deck = Deck::new(Fault::all_of(&ground.topology, ground.network.is_some()));
        locked(&self.ledger).spans.begin("the start", setting.began);
        locked(&self.ledger).spans.heal(micros(), BTreeSet::new());
        self.wait_for_grants(micros(), 1, ground.topology.is_quorum());
        let is_time = |needed: u64| setting.ends > Instant::now() + Duration::from_secs(needed);
        loop {
            let calm = Duration::from_millis(random.random_range(6_000..14_000));
            let ends = Instant::now() + calm;
            while Instant::now() < ends && is_time(0) {
                thread::sleep(LOOK);
                self.are_well();
            }
            if !is_time(35) {
                break;
            }
            let fault = deck.draw(&mut random);
            self.suffer(fault, ground, &mut random);
        }
        if ground.ahead.is_some() {
            let from = micros();
            locked(&self.ledger).spans.begin("the clock is set back", from);
            ground.jump(Duration::ZERO, &mut random);
            let until = micros();
            locked(&self.ledger).spans.heal(until, BTreeSet::new());
            self.wait_for_grants(until, SET_BACK, ground.topology.is_quorum());
        }
        while is_time(0) {
            thread::sleep(LOOK);
            self.are_well();
        }
    }

    fn suffer(&self, fault: Fault, ground: &mut Ground, random: &mut StdRng) {
        *locked(&self.now) = fault.name();
        let lost = self.lost();
        let from = micros();
        locked(&self.ledger).spans.begin(fault.name(), from);
        if fault == Fault::Clock && ground.ahead.is_none() && !ground.topology.is_quorum() {
            let why = "the clock of the servers jumped forward";
            locked(&self.ledger).allowed.push(Allowed { from, until: u64::MAX, why });
        }
        let runs = if fault == Fault::Clock && ground.ahead.is_some() { SET_BACK } else { 1 };
        let words = ground.suffer(fault, random).map(|words| {
            let client = client::disturb(&self.clients, fault, random);
            if client.is_empty() { words } else { client }
        });
        let until = micros();
        locked(&self.ledger).spans.heal(until, std::mem::take(&mut ground.spared));
        for allowed in &mut locked(&self.ledger).allowed {
            if allowed.until == u64::MAX {
                allowed.until = until;
            }
        }
        *locked(&self.now) = "again";
        let words = words.unwrap_or_else(|error| {
            self.violation(format!("{}: {error}", fault.name()));
            error
        });
        self.wait_for_grants(until, runs, ground.topology.is_quorum());
        let again = micros() - until;
        let lost = self.lost() - lost;
        locked(&self.suffered).push(Suffered { fault, from, until, again, lost, words });
        *locked(&self.now) = "";
    }

    /// Looks at the memory and the files of the processes.
    pub(super) fn sample(&self) {
        let clients = locked(&self.clients);
        for (client, samples) in clients.iter().zip(&mut *locked(&self.samples)) {
            // One that has just ended still counts as it was.
            let last = samples.0.last().copied().unwrap_or_default();
            let sample = Sample::of(client.process.id()).filter(|sample| sample.memory > 0);
            samples.0.push(sample.unwrap_or(last));
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}
