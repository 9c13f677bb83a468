//! Numbered permits of many processes, and a capacity that changes while they hold, on a server. With real time.

mod process;

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use actix::Addr;
use leasehold::{Acquire, Inspect, Inspection, LockManager, SetCapacity};
use leasehold_testing::{
    servers::RedisServer,
    waiting::{PATIENCE, eventually},
};
use support::patient;
use tempfile::TempDir;

use self::process::{OF, RESOURCE, Worker, create_table};

const PROCESSES: usize = 6;
/// Longer than a test: no lease is lost on a busy machine, where two could then have a number for a while.
const LONG: Duration = Duration::from_secs(600);

/// Processes on one server, and a manager that looks at it.
struct Fleet {
    workers: Vec<Worker>,
    locks: Addr<LockManager>,
    server: RedisServer,
    directory: TempDir,
}

impl Fleet {
    fn start(processes: usize, ttl: Duration) -> Self {
        let (server, directory) = (RedisServer::start(), tempfile::tempdir().unwrap());
        let database = directory.path().join("numbers");
        create_table(&database);
        let workers = (0..processes).map(|_| Worker::start(&server, &database, ttl)).collect();
        let locks = LockManager::builder(Arc::new(patient::open(&server.url()))).start().unwrap();
        Self { workers, locks, server, directory }
    }

    async fn inspect(&self) -> Inspection {
        self.locks.send(Inspect::new(RESOURCE)).await.unwrap().unwrap()
    }

    async fn set(&self, permits: impl Into<Option<u32>>) {
        self.locks.send(SetCapacity::new(RESOURCE, permits)).await.unwrap().unwrap();
    }

    async fn until(&self, what: &str, holders: u64, waiting: u64) {
        let found = async || {
            let found = self.inspect().await;
            (found.total, found.waiting) == (holders, waiting)
        };
        eventually(what, found).await;
    }
}

#[actix::test]
async fn of_six_processes_no_two_have_one_of_four_numbers_at_a_time() {
    const TURNS: usize = 25;
    let mut fleet = Fleet::start(PROCESSES, LONG);
    fleet.workers.iter_mut().for_each(|worker| worker.tell(&TURNS.to_string()));
    let had: Vec<Vec<u32>> =
        fleet.workers.iter().map(|worker| serde_json::from_str(&worker.hears("had ")).unwrap()).collect();
    assert!(had.iter().all(|numbers| numbers.len() == TURNS), "{had:?}");
    assert!(had.iter().flatten().all(|number| *number < OF), "{had:?}");
    // With the last release all is gone.
    let kept: Vec<_> = fleet.server.keys().into_iter().filter(|(key, _)| key != "leasehold:fence").collect();
    assert_eq!(kept, []);
    drop(fleet.directory);
}

#[actix::test]
async fn a_larger_capacity_lets_two_waiters_in_and_a_smaller_one_takes_from_nobody() {
    let mut fleet = Fleet::start(PROCESSES, LONG);
    let (mut holding, mut waiting) = (Vec::new(), Vec::new());
    let mut numbers = BTreeSet::new();
    for (place, worker) in fleet.workers.iter_mut().enumerate() {
        worker.tell("take");
        // All are asked one after the other, so the last two wait.
        if place < OF as usize {
            numbers.insert(worker.hears("has ").parse::<u32>().unwrap());
            holding.push(place);
        } else {
            waiting.push(place);
        }
    }
    assert_eq!(numbers, BTreeSet::from([0, 1, 2, 3]));
    fleet.until("two wait", 4, 2).await;
    fleet.set(6).await;
    let others: BTreeSet<u32> =
        waiting.iter().map(|&place| fleet.workers[place].hears("has ").parse().unwrap()).collect();
    assert_eq!(others, BTreeSet::from([4, 5]));
    fleet.set(2).await;
    assert_eq!(fleet.inspect().await.capacity.map(u32::from), Some(2));
    for worker in &mut fleet.workers {
        worker.tell("check");
        assert_eq!(worker.hears("valid "), "true");
    }
    // One of six is left out, and asks again: it waits until there is room for two.
    for (place, left) in (0..5).zip([5, 4, 3, 2, 1]) {
        fleet.workers[place].tell("give");
        fleet.workers[place].hears("gave");
        if place == 0 {
            fleet.workers[0].tell("take");
            fleet.until("it waits", left, 1).await;
        } else if left > 1 {
            fleet.until("it still waits", left, 1).await;
        }
    }
    assert_eq!(fleet.workers[0].hears("has "), "0");
    fleet.until("two hold", 2, 0).await;
    // Again as many as the requests name.
    fleet.workers[1].tell("take");
    fleet.until("it waits", 2, 1).await;
    fleet.set(None).await;
    assert_eq!(fleet.workers[1].hears("has "), "1");
}

#[actix::test]
async fn the_number_of_a_killed_process_is_free_only_after_its_ttl() {
    const TTL: Duration = Duration::from_secs(3);
    let mut fleet = Fleet::start(1, TTL);
    let began = Instant::now();
    fleet.workers[0].tell("take");
    assert_eq!(fleet.workers[0].hears("has "), "0");
    fleet.workers[0].kill();
    let mut others = 0;
    loop {
        let lease = fleet.locks.send(Acquire::new(RESOURCE).permits(1, OF)).await.unwrap().unwrap();
        let (number, after) = (lease.slot(), began.elapsed());
        lease.release().await.unwrap();
        if number == Some(0) {
            assert!(after >= TTL, "after {after:?}");
            break;
        }
        assert_eq!(number, Some(1));
        others += 1;
        assert!(after < PATIENCE, "it is never free");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    println!("{others} leases had the other number meanwhile");
}
