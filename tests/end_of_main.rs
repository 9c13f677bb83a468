//! The very end of a program: what is left in the store of a lease that is dropped there, and what was only just started.

use std::{env, sync::Arc, time::Duration};

use actix::{Actor, System};
use leasehold::{
    Acquire, LockManager, MemoryStore, Shutdown, TunerSettings,
    election::{Election, Singleton, SingletonContext},
    schedule::Schedule,
};
use leasehold_testing::{process::this_program, servers::RedisServer, waiting::PATIENCE};
use leasehold_tuning::tuner::Tuner;
use support::patient;

const URL: &str = "URL_OF_THE_PROGRAM";
const WAYS: &str = "WAY_OF_THE_PROGRAM";
const RUNS: usize = 20;

/// What a program does before its `main` ends.
const NOTHING: &str = "nothing";
const SHUTDOWN: &str = "shutdown";

/// What a program starts before its `main` ends, and does not use.
const STARTS: [&str; 5] = ["a schedule", "an election", "a singleton", "a tuner", "a manager"];

struct Idle;

impl Actor for Idle {
    type Context = SingletonContext<Self>;
}

/// Starts something as the last statement of `main`, so that nothing has polled it when the runtime ends.
async fn start(what: &str) {
    let builder = LockManager::builder(Arc::new(MemoryStore::default()));
    if what == "a manager" {
        builder.start_here().unwrap();
        return;
    }
    let locks = builder.start().unwrap();
    match what {
        "a schedule" => {
            Schedule::every(Duration::from_secs(1)).named("daily").start(&locks, async |_| ()).unwrap();
        }
        "an election" => drop(Election::start(&locks, "leader").unwrap()),
        "a singleton" => drop(Singleton::start(&locks, "leader", || Idle).unwrap()),
        _ => {
            let mut settings = TunerSettings::default();
            settings.enabled = true;
            Tuner::builder(&locks).settings(settings).start().unwrap();
        }
    }
}

/// A program that only starts something and ends; the test below starts it.
#[test]
#[ignore = "the program that another test starts"]
fn the_short_program() {
    if let Ok(what) = env::var(WAYS) {
        System::new().block_on(start(&what));
    }
}

#[test]
fn a_program_that_ends_as_soon_as_it_has_started_something_ends_without_a_panic() {
    for what in STARTS {
        let mut program = this_program("end_of_main::the_short_program");
        program.env(WAYS, what);
        let ended = program.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success() && !said.contains("panicked"), "{what}: {said}");
    }
}

/// A program that takes a lock, drops it and ends; the tests below start it.
#[test]
#[ignore = "the program that the other tests start"]
fn the_program() {
    let Ok(url) = env::var(URL) else { return };
    System::new().block_on(async {
        let locks = LockManager::builder(Arc::new(patient::open(&url))).start().unwrap();
        let lease = locks.send(Acquire::new("the/end").wait(PATIENCE)).await.unwrap().unwrap();
        if env::var(WAYS).is_ok_and(|way| way == SHUTDOWN) {
            drop(lease);
            locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
        }
    });
    std::process::exit(0);
}

/// In how many of the runs the lock is left behind.
fn left_behind(way: &str) -> usize {
    let server = RedisServer::start();
    let left = (0..RUNS).filter(|_| {
        let mut program = this_program("end_of_main::the_program");
        program.env(URL, server.url()).env(WAYS, way);
        assert!(program.output().unwrap().status.success());
        let left = server.keys().iter().any(|(key, _)| key.contains("the/end"));
        server.command(&["FLUSHALL"]);
        left
    });
    left.count()
}

#[test]
fn a_shutdown_that_is_awaited_leaves_no_key_of_a_dropped_lease() {
    println!("left behind without a shutdown: {} of {RUNS}", left_behind(NOTHING));
    let left = left_behind(SHUTDOWN);
    println!("left behind with it: {left} of {RUNS}");
    assert_eq!(left, 0);
}
