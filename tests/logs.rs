//! What the log says of an outage: little, and all that matters.

use std::{sync::Arc, time::Duration};

use actix::Addr;
use futures_util::future::join_all;
use leasehold::{
    Acquire, Config, LockManager, ReadLock, RedisOptions, RedisStore, Shutdown, Stats,
    election::{Candidacy, Election},
    schedule::Schedule,
};
use leasehold_testing::{
    servers::{Port, RedisServer},
    waiting::{PATIENCE, eventually},
};
use support::{
    log::Log,
    odd_store::odd_store,
    patient::patient,
    virtual_time::{World, in_virtual_time, millis, secs},
};
use tokio::time::sleep;
use tracing::subscriber::DefaultGuard;

/// Begins to write down what is logged at info and above.
fn begin() -> (Log, DefaultGuard) {
    Log::begin(tracing::Level::INFO)
}

/// The lines of the library.
fn lines(log: &Log) -> Vec<String> {
    log.lines_with("leasehold")
}

/// The first line that has this in it, as soon as it is there.
async fn line_with(log: &Log, text: &str) -> String {
    let line = || lines(log).into_iter().find(|line| line.contains(text));
    eventually(text, async || line().is_some()).await;
    line().expect("it was there")
}

const LEASES: usize = 500;

#[test]
fn an_outage_is_told_when_it_begins_once_a_minute_and_when_it_ends() {
    in_virtual_time(|| async {
        let (log, _logging) = begin();
        let world = World::new();
        let store = odd_store(world.store.clone());
        let locks = world.builder_on(Arc::new(store.clone())).start_here().unwrap();
        let asks = (0..LEASES).map(|number| locks.send(Acquire::new(format!("r{number}")).ttl(secs(600))));
        let leases: Vec<_> = join_all(asks).await.into_iter().map(|lease| lease.unwrap().unwrap()).collect();
        store.go_down(true);
        drop(leases);
        sleep(secs(150)).await;
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.held, stats.released, stats.releases_unconfirmed), (0, 0, LEASES as u64));
        store.go_down(false);
        sleep(secs(300)).await;
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.held, stats.released, stats.releases_unconfirmed), (0, LEASES as u64, 0));

        let lines = lines(&log);
        let expected = [
            " INFO leasehold::manager::builder: the lock manager starts",
            " WARN leasehold::manager::outage: the store fails",
            " WARN leasehold::manager::outage: the store still fails",
            " WARN leasehold::manager::outage: the store still fails",
            " INFO leasehold::manager::outage: the store serves again",
        ];
        assert_eq!(lines.len(), expected.len(), "{lines:#?}");
        for (line, expected) in lines.iter().zip(expected) {
            assert!(line.starts_with(expected.trim()), "{line}");
        }
        for line in &lines[1..4] {
            assert_eq!(line.matches("connection refused").count(), 1, "{line}");
        }
        assert!(lines[2].contains("releases_unconfirmed=500"), "{}", lines[2]);
        assert!(lines[4].contains("releases_unconfirmed=0"), "{}", lines[4]);
        assert!(!lines[4].contains("verbs_failed=0"), "{}", lines[4]);
    });
}

#[test]
fn a_verb_that_is_refused_for_what_it_asks_is_no_outage() {
    in_virtual_time(|| async {
        let (log, _logging) = begin();
        let locks = World::new().manager();
        let _part = locks.send(Acquire::new("r").permits(1, 3)).await.unwrap().unwrap();
        assert!(locks.send(ReadLock::new("r")).await.unwrap().is_err());
        assert!(locks.send(Acquire::new("r")).await.unwrap().is_err());
        sleep(secs(120)).await;
        assert_eq!(lines(&log).len(), 1, "{:#?}", lines(&log));
    });
}

#[actix::test]
async fn a_server_that_is_down_at_the_start_is_told_though_nobody_has_asked_for_a_lock() {
    let (log, _logging) = begin();
    let reserved = Port::reserve();
    let port = reserved.number();
    let store = RedisStore::open(&format!("redis://user:s3cret@127.0.0.1:{port}")).unwrap();
    let _locks = LockManager::builder(Arc::new(store)).start_here().unwrap();
    let line = line_with(&log, "the store fails").await;
    assert!(line.contains("verb=\"listen\"") && line.contains("refused"), "{line}");
    let begin = line_with(&log, "the lock manager starts").await;
    assert!(begin.contains(&format!("redis://127.0.0.1:{port}, prefix leasehold")), "{begin}");
    assert!(begin.contains(&format!("version=\"{}\"", env!("CARGO_PKG_VERSION"))), "{begin}");
    assert!(!lines(&log).concat().contains("s3cret"), "{:#?}", lines(&log));
}

#[actix::test]
async fn a_wrong_password_is_told_at_the_start() {
    let (log, _logging) = begin();
    let server = RedisServer::start();
    server.command(&["ACL", "SETUSER", "worker", "on", ">right", "~*", "&*", "+@all"]);
    let store = RedisStore::open(&server.url_for("worker", "s3cret")).unwrap();
    let _locks = LockManager::builder(Arc::new(store)).start_here().unwrap();
    let line = line_with(&log, "the store denies access; look at the user, its password").await;
    assert!(line.contains("authentication failed") && !line.contains("s3cret"), "{line}");
}

#[actix::test]
async fn the_end_of_an_outage_is_told_though_nobody_asks_for_a_lock() {
    let (log, _logging) = begin();
    let mut server = RedisServer::start();
    let store = RedisStore::with_options(&server.url(), patient()).unwrap();
    let locks = LockManager::builder(Arc::new(store)).start_here().unwrap();
    let _lease = locks.send(Acquire::new("r").wait(PATIENCE)).await.unwrap().unwrap();
    assert!(!lines(&log).concat().contains("manager::outage"), "{:#?}", lines(&log));
    server.kill();
    line_with(&log, "the store fails").await;
    server.restart();
    line_with(&log, "the store serves again").await;
}

#[actix::test]
async fn a_process_that_stood_still_says_so_and_does_not_blame_the_store() {
    let (log, _logging) = begin();
    let server = RedisServer::start();
    let options = RedisOptions { response_timeout: secs(5), ..patient() };
    let store = RedisStore::with_options(&server.url(), options).unwrap();
    let locks = LockManager::builder(Arc::new(store)).start_here().unwrap();
    let _lease = locks.send(Acquire::new("r").wait(PATIENCE)).await.unwrap().unwrap();
    // One request is under way, and its time is over when this thread goes on.
    let asked = actix::spawn(locks.send(Acquire::new("s")));
    tokio::task::yield_now().await;
    std::thread::sleep(secs(6));
    line_with(&log, "the process stood still").await;
    // Whatever became of it.
    let _ = asked.await.unwrap();
    sleep(secs(2)).await;
    assert!(!lines(&log).concat().contains("manager::outage"), "{:#?}", lines(&log));
}

#[actix::test]
async fn a_second_manager_of_one_store_in_a_process_is_told_once() {
    let (log, _logging) = begin();
    let start = || Config::from_toml("store.url = 'memory://twice'").unwrap().start().unwrap();
    let told = || lines(&log).iter().filter(|line| line.contains("a second lock manager")).count();
    let first = start();
    assert_eq!(told(), 0);
    let others = [start(), start()];
    assert_eq!(told(), 1, "{:#?}", lines(&log));
    for manager in others.iter().chain([&first]) {
        manager.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
    }
    while others.iter().chain([&first]).any(Addr::connected) {
        sleep(millis(10)).await;
    }
    let again = start();
    assert_eq!(told(), 1, "one that was shut down does not count");
    let _second = start();
    assert_eq!(told(), 2, "{:#?}", lines(&log));
    again.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
}

#[test]
fn the_fence_of_an_election_is_a_number() {
    in_virtual_time(|| async {
        let (log, _logging) = begin();
        let _election = Election::start(&World::new().manager(), Candidacy::from(Acquire::new("r"))).unwrap();
        let line = line_with(&log, "elected").await;
        let (_, fence) = line.split_once("fence=").unwrap();
        assert!(fence.starts_with(|c: char| c.is_ascii_digit()), "{line}");
    });
}

#[test]
fn two_schedules_of_one_name_with_different_plans_are_told_once_with_both() {
    in_virtual_time(|| async {
        let (log, _logging) = begin();
        let told = || {
            let lines = lines(&log).into_iter().filter(|line| line.contains("runs with another plan"));
            lines.collect::<Vec<_>>()
        };
        let world = World::new();
        let start = |locks: &Addr<LockManager>, period: Duration| {
            Schedule::every(period).named("r").start(locks, async |_| {}).unwrap()
        };
        let (one, other) = (world.manager(), world.manager());
        let first = start(&one, secs(1));
        sleep(millis(10)).await;
        let _same = [start(&one, secs(1)), start(&other, secs(1))];
        sleep(secs(10)).await;
        assert_eq!(told(), Vec::<String>::new());
        for locks in [&one, &other] {
            let before = told().len();
            let different = start(locks, secs(90));
            sleep(secs(10)).await;
            let lines = told();
            assert_eq!(lines.len(), before + 1, "{lines:#?}");
            for plan in ["every 1m 30s", "every 1s"] {
                assert!(lines[before].contains(plan), "{lines:#?}");
            }
            different.stop().await;
        }
        first.stop().await;
    });
}
