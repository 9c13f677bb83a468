//! 10,000 callers that give up at random moments, while others acquire: nothing is left of them, here or on the server.

use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use actix::Addr;
use leasehold::{Acquire, AcquireError, Inspect, LockManager, RedisStore, Statistics, Stats, StoreError};
use leasehold_testing::servers::RedisServer;
use leasehold_testing::waiting::{PATIENCE, eventually};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use support::alone::alone;
use tokio::time::{sleep, timeout};

const CALLERS: u64 = 10_000;
const RESOURCES: u64 = 20;
/// One of so many callers does not give up.
const PATIENT: u64 = 10;
/// All come within this time, so that some 1,000 are there at any moment: a load that needs more memory at once hides
/// what is left behind.
const ARRIVING: Duration = Duration::from_secs(5);
/// Too long for all to be served.
const HOLD: Duration = Duration::from_millis(30);
const LONGEST_PATIENCE: Duration = Duration::from_secs(1);
/// So many loads in a row must not add a tenth to the memory of the process.
const LOADS: usize = 2;
/// How many loads it may take until that is so.
const LOADS_AT_MOST: u64 = 6;

#[test]
fn nothing_is_left_of_callers_that_give_up() {
    // It measures the memory of its process.
    alone("givers_up::nothing_is_left_of_callers_that_give_up", || actix::System::new().block_on(loads()));
}

async fn loads() {
    let server = RedisServer::start();
    let store = RedisStore::open(&server.url()).unwrap();
    let locks = LockManager::builder(Arc::new(store)).start().unwrap();
    // What a load leaves behind comes on top of what the one before left, again and again. The allocator does not give
    // back what was needed at the same time, which is most in the load in which the server was slowest: memory grows
    // with the first load, or the first few, and then no more.
    let mut memory = Vec::new();
    for seed in 0..LOADS_AT_MOST {
        load(&locks, seed).await;
        memory.push(everything_is_over(&locks, &server).await);
        if let Some(before) = memory.len().checked_sub(1 + LOADS)
            && memory[memory.len() - 1] * 10 <= memory[before] * 11
        {
            return println!("resident, in KiB, after each load: {memory:?}");
        }
    }
    panic!("memory grows, in KiB, after each load: {memory:?}");
}

/// All callers come, and have gone when this returns.
async fn load(locks: &Addr<LockManager>, seed: u64) {
    let before = locks.send(Stats).await.unwrap();
    let mut random = StdRng::seed_from_u64(seed);
    let callers = (0..CALLERS).map(|number| {
        let (comes_after, patience) =
            (ARRIVING.mul_f64(random.random()), LONGEST_PATIENCE.mul_f64(random.random()));
        let locks = locks.clone();
        actix_rt::spawn(async move {
            sleep(comes_after).await;
            call(locks, number, patience).await;
        })
    });
    let start = Instant::now();
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
    let took = start.elapsed();
    assert!(took < PATIENCE, "those who gave up held up the others: {took:?}");
    let after = locks.send(Stats).await.unwrap();
    let of = |count: fn(&Statistics) -> u64| count(&after) - count(&before);
    let (granted, cancelled, timed_out) =
        (of(|stats| stats.granted), of(|stats| stats.cancelled), of(|stats| stats.timed_out));
    println!("{granted} granted, {cancelled} cancelled, {timed_out} timed out; {took:?}");
    assert!(granted >= CALLERS / PATIENT && cancelled > CALLERS / 10 && timed_out > 0, "{after:?}");
}

/// Gives up in one of two ways when its patience is over, or is one of those that are patient.
async fn call(locks: Addr<LockManager>, number: u64, patience: Duration) {
    let resource = number / PATIENT % RESOURCES;
    let asked = Acquire::new(format!("r{resource}"));
    // Who has an owner waits in the store's queue; the others stand behind one of them.
    let asked = if resource.is_multiple_of(2) { asked.owner(format!("caller {number}")) } else { asked };
    let lease = match number % PATIENT {
        0 => locks.send(asked.wait(Duration::from_secs(60))).await.unwrap().unwrap(),
        even if even % 2 == 0 => match locks.send(asked.wait(patience)).await.unwrap() {
            Ok(lease) => lease,
            // With a wait that was over before the first attempt was sent or answered.
            Err(
                AcquireError::Held { .. }
                | AcquireError::Store(StoreError::TimedOut { .. } | StoreError::Unavailable { .. }),
            ) => return,
            Err(error) => panic!("{error}"),
        },
        _ => match timeout(patience, locks.send(asked.wait(Duration::from_secs(60)))).await {
            Ok(answer) => answer.unwrap().unwrap(),
            Err(_) => return,
        },
    };
    sleep(HOLD).await;
    drop(lease);
}

/// Waits until no lock, no waiter and no key is left, and answers the resident memory of this process in KiB.
async fn everything_is_over(locks: &Addr<LockManager>, server: &RedisServer) -> u64 {
    eventually("no request, no lock and no key is left", async || {
        let stats = locks.send(Stats).await.unwrap();
        let keys = server.keys();
        (stats.pending, stats.held) == (0, 0) && keys.iter().all(|(key, _)| key == "leasehold:fence")
    })
    .await;
    for resource in 0..RESOURCES {
        eventually("nobody holds or waits", async || {
            let seen = locks.send(Inspect::new(format!("r{resource}"))).await.unwrap();
            seen.is_ok_and(|seen| (seen.total, seen.waiting) == (0, 0))
        })
        .await;
    }
    resident()
}

fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
