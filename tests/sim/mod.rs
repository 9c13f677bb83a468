//! A world that comes from a seed: managers, clients and a store in one thread, in virtual time.

pub(crate) mod checker;
pub(crate) mod client;
mod dice;
pub(crate) mod history;
mod model;
mod queue;
mod store;

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
    LockManager, MemoryStore, ResourceName, Settings, Shutdown, Statistics, Stats, Store,
    world::{Clock, RuntimeClock},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::time::sleep;

pub(crate) use self::dice::PLANNED;
use self::{
    client::{Client, RESOURCES, World},
    dice::SeededDice,
    history::{Event, History, What},
    store::FaultyStore,
};

/// Clients begin nothing with a trick in it after that.
const LAST_TURN: Duration = Duration::from_secs(38);
/// No faults after that.
const LAST_FAULT: Duration = Duration::from_secs(44);
/// From here on everybody gets what it asks for.
pub(crate) const QUIET: Duration = Duration::from_secs(50);
const END: Duration = Duration::from_secs(60);
/// Shorter than many waits, and than some delays on the way.
const PATIENCE_IN_QUEUE: Duration = Duration::from_millis(2_500);
const GRANT_WINDOW: Duration = Duration::from_millis(400);
/// Longer than every TTL, delay and pause.
const AFTER_ALL: Duration = Duration::from_secs(30);

/// Runs the world of this seed, and answers what happened in it.
pub(crate) fn history_of(seed: u64) -> Vec<Event> {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime")
    };
    actix::System::with_tokio_rt(runtime).block_on(run(seed))
}

async fn run(seed: u64) -> Vec<Event> {
    let mut rng = StdRng::seed_from_u64(seed);
    let history = Arc::new(History::start());
    let calm = Arc::new(AtomicBool::new(false));
    let clock: Arc<dyn Clock> = Arc::new(RuntimeClock::start());
    let limit = [0, 1, 3, 16][seed as usize % 4];
    let memory = MemoryStore::new(Arc::clone(&clock));
    let weather =
        FaultyStore::new(memory.clone(), Arc::clone(&history), Arc::clone(&calm), (rng.random(), limit));
    let store: Arc<dyn Store> = Arc::new(weather);
    let managers: Vec<_> = (0..rng.random_range(2..=3))
        .map(|_| {
            let dice = Arc::new(SeededDice::new(rng.random(), Arc::clone(&calm)));
            let settings = Settings {
                max_restart_pause: Duration::from_millis(100),
                patience: PATIENCE_IN_QUEUE,
                grant_window: GRANT_WINDOW,
                local_handover_limit: limit,
                ..Settings::default()
            };
            let builder = LockManager::builder(Arc::clone(&store)).settings(settings);
            builder.clock(Arc::clone(&clock)).dice(dice).start_here().expect("settings")
        })
        .collect();
    let world = Rc::new(World {
        managers: managers.clone(),
        history: Arc::clone(&history),
        protected: RefCell::new([0; RESOURCES]),
        requests: RefCell::default(),
    });
    let monitor = actix_rt::spawn(count_up(managers.clone(), Arc::clone(&history)));
    let clients: Vec<_> = (0..rng.random_range(8..=20))
        .map(|number| Client::new(Rc::clone(&world), number, rng.random()))
        .map(|client| actix_rt::spawn(life(client, Arc::clone(&history))))
        .collect();
    sleep(LAST_FAULT).await;
    calm.store(true, Ordering::Relaxed);
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
    nobody_waits(&memory, &history).await;
    drop((world, managers));
    sleep(AFTER_ALL).await;
    nothing_is_left(&store, &memory, &history).await;
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

fn wrong(history: &History, property: &'static str, details: String) {
    history.add(0, What::Wrong { property, details });
}

fn check_sums(stats: &Statistics, history: &History) -> bool {
    let failed: u64 = stats.failed.values().sum();
    let lost: u64 = stats.lost.values().sum();
    let ended = stats.granted + stats.refused + stats.timed_out + stats.cancelled + failed;
    let right =
        stats.requests == ended + stats.pending && stats.granted == stats.released + lost + stats.held;
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

/// Nobody stands in a queue, though no patience may be over yet.
async fn nobody_waits(memory: &MemoryStore, history: &History) {
    for number in 0..RESOURCES {
        let resource = ResourceName::new(format!("r{number}")).expect("a short name");
        match memory.inspect(&resource, 1).await {
            Ok(inspection) if inspection.waiting == 0 => {}
            other => wrong(history, "P14", format!("somebody waits at the end: {other:?}")),
        }
    }
}

/// No key, and no task that still has the store.
async fn nothing_is_left(store: &Arc<dyn Store>, memory: &MemoryStore, history: &History) {
    match memory.list(b"", 100).await {
        Ok(listing) if listing.resources.is_empty() => {}
        other => wrong(history, "P13", format!("still there: {other:?}")),
    }
    let users = Arc::strong_count(store) - 1;
    if users > 0 {
        wrong(history, "P14", format!("{users} tasks or actors are still there"));
    }
}
