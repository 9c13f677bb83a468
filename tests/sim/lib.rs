//! A world that comes from a seed: managers, clients and a store in one thread, in virtual time.

mod agreed;
pub mod checked;
pub mod checker;
mod client;
pub mod contention;
pub mod files;
mod fleet;
pub mod history;
pub mod linearizable;
mod model;
mod network;
mod node;
mod queue;
mod quorum;
mod random;
pub mod refusals;
mod store;
mod stores;
mod wakes;
mod witness;

use std::{
    cell::RefCell,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use actix::Addr;
use futures_util::future::join_all;
use leasehold::{
    LockManager, ResourceName, Settings, Shutdown, Statistics, Stats,
    env::{Clock, RuntimeClock},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::time::sleep;

pub use self::random::PLANNED;
use self::{
    client::{Client, RESOURCES, World},
    history::{Event, History},
    random::SeededRandom,
    stores::{Stores, wrong},
};

/// Clients begin nothing with a trick in it after that.
const LAST_TURN: Duration = Duration::from_secs(38);
/// No faults after that.
const LAST_FAULT: Duration = Duration::from_secs(44);
/// From here on everybody gets what it asks for.
pub const QUIET: Duration = Duration::from_secs(50);
const END: Duration = Duration::from_secs(60);
/// Shorter than many waits, and than some delays on the way.
const TICKET_TTL: Duration = Duration::from_millis(2_500);
const GRANT_WINDOW: Duration = Duration::from_millis(400);
/// Longer than every TTL, delay and pause.
const AFTER_ALL: Duration = Duration::from_secs(30);

/// Where the locks of a world live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In one store.
    OneStore,
    /// On a majority of nodes; every manager has a quorum of its own.
    Quorum,
}

/// Runs the world of this seed, and answers what happened in it.
pub fn history_of(kind: Kind, seed: u64) -> Vec<Event> {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime")
    };
    actix::System::with_tokio_rt(runtime).block_on(run(kind, seed))
}

async fn run(kind: Kind, seed: u64) -> Vec<Event> {
    let mut rng = StdRng::seed_from_u64(seed);
    let history = Arc::new(History::start());
    let calm = Arc::new(AtomicBool::new(false));
    let clock: Arc<dyn Clock> = Arc::new(RuntimeClock::start());
    let limit = [0, 1, 3, 16][seed as usize % 4];
    let mut stores = Stores::new((kind, rng.random(), limit), &clock, &history, &calm);
    let managers: Vec<_> = (0..rng.random_range(2..=3))
        .map(|_| {
            let store = stores.of_a_manager();
            let random = Arc::new(SeededRandom::new(rng.random(), Arc::clone(&calm)));
            let mut settings = Settings::default();
            settings.supervision.max_restart_pause = Duration::from_millis(100);
            settings.wait.ticket_ttl = TICKET_TTL;
            settings.wait.grant_window = GRANT_WINDOW;
            settings.wait.local_handover_limit = limit;
            let builder = LockManager::builder(store).settings(settings);
            builder.clock(Arc::clone(&clock)).random(random).start_here().expect("settings")
        })
        .collect();
    if let Stores::Quorum(nodes) = &mut stores {
        actix_rt::spawn(nodes.storms());
    }
    let world = Rc::new(World {
        managers: managers.clone(),
        history: Arc::clone(&history),
        one_store: kind == Kind::OneStore,
        protected: RefCell::new([0; RESOURCES]),
        requests: RefCell::default(),
        forgotten: RefCell::default(),
    });
    let monitor = actix_rt::spawn(count_up(managers.clone(), Arc::clone(&history)));
    let clients: Vec<_> = (0..rng.random_range(8..=20))
        .map(|number| Client::new(Rc::clone(&world), number, rng.random()))
        .map(|client| actix_rt::spawn(life(client, Arc::clone(&history))))
        .collect();
    sleep(LAST_FAULT).await;
    calm.store(true, Ordering::Relaxed);
    sleep(QUIET.saturating_sub(history.now())).await;
    if let Stores::One { faulty, .. } = &stores {
        fleet::is_killed(faulty, &managers[0], &history, seed.is_multiple_of(2)).await;
    }
    sleep(END.saturating_sub(history.now())).await;
    for client in clients {
        if client.is_finished() {
            client.await.expect("clients do not panic");
        } else {
            client.abort();
            wrong(&history, "P16", "a client still waits at the end".to_owned());
        }
    }
    monitor.abort();
    come_to_an_end(&managers, &history).await;
    stores.nobody_waits(&history).await;
    drop((world, managers));
    sleep(AFTER_ALL).await;
    stores.nothing_is_left(&history).await;
    history.take()
}

async fn life(mut client: Client, history: Arc<History>) {
    client.live(LAST_TURN).await;
    sleep(QUIET.saturating_sub(history.now())).await;
    client.quiet_turn().await;
}

/// Adds the counters of every manager up, again and again.
async fn count_up(managers: Vec<Addr<LockManager>>, history: Arc<History>) {
    loop {
        for locks in &managers {
            if let Ok(stats) = locks.send(Stats).await {
                let _ = check_sums(&stats, &history);
            }
        }
        sleep(Duration::from_millis(700)).await;
    }
}

fn check_sums(stats: &Statistics, history: &History) -> bool {
    let failed: u64 = stats.failed.values().sum();
    let lost: u64 = stats.lost.values().sum();
    let ended = stats.granted + stats.refused + stats.timed_out + stats.cancelled + failed;
    let reclaimed = stats.released + stats.releases_unconfirmed;
    let right = stats.requests == ended + stats.pending && stats.granted == reclaimed + lost + stats.held;
    if !right {
        wrong(history, "sums", format!("{stats:?}"));
    }
    right
}

async fn come_to_an_end(managers: &[Addr<LockManager>], history: &History) {
    for locks in managers {
        match locks.send(Stats).await {
            Ok(stats) if !check_sums(&stats, history) => {}
            Ok(stats) if stats.pending == 0 && stats.held == 0 => {}
            other => wrong(history, "P14", format!("at the end: {other:?}")),
        }
    }
    let shutdowns = managers.iter().map(|locks| locks.send(Shutdown { drain: Duration::from_secs(1) }));
    for answer in join_all(shutdowns).await {
        if answer.is_err() {
            wrong(history, "P16", "a shutdown was not answered".to_owned());
        }
    }
}

fn resource(number: usize) -> ResourceName {
    ResourceName::new(format!("r{number}")).expect("a short name")
}
