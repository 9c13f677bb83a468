//! Many callers that take random subsets of few resources, through several managers, on a real server.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use actix::Addr;
use leasehold::{AcquireAll, AcquireError, Fence, LeaseSet, LockManager, RedisOptions, RedisStore, Stats};
use rand::{RngExt, seq::SliceRandom};

use leasehold_testing::servers::RedisServer;

const RESOURCES: usize = 20;
const CALLERS: usize = 64;
const MANAGERS: usize = 4;
const FOR: Duration = Duration::from_secs(30);
/// Much more than anybody has to wait, and much less than a deadlock takes.
const WAIT: Duration = Duration::from_secs(20);

/// Who holds what, and the largest fence of each resource, as this process sees it.
#[derive(Clone, Default)]
struct Referee(Arc<Mutex<BTreeMap<String, Seat>>>);

#[derive(Default)]
struct Seat {
    holder: Option<usize>,
    last: Option<Fence>,
}

impl Referee {
    fn entered(&self, caller: usize, set: &LeaseSet) {
        let mut table = self.0.lock().unwrap();
        for lease in set.leases() {
            let seat = table.entry(lease.resource().to_string()).or_default();
            assert_eq!(seat.holder, None, "{caller} was granted what another holds: {lease:?}");
            assert!(lease.fence() > seat.last, "{lease:?} after {:?}", seat.last);
            *seat = Seat { holder: Some(caller), last: lease.fence() };
        }
    }

    fn left(&self, caller: usize, set: &LeaseSet) {
        let mut table = self.0.lock().unwrap();
        for resource in set.resources() {
            let holder = table.get_mut(&resource.to_string()).and_then(|seat| seat.holder.take());
            assert_eq!(holder, Some(caller));
        }
    }
}

/// What a caller has seen.
#[derive(Default)]
struct Seen {
    granted: u32,
    refused: u32,
    longest: Duration,
}

async fn call(number: usize, locks: Addr<LockManager>, referee: Referee, until: Instant) -> Seen {
    let mut seen = Seen::default();
    let mut names: Vec<_> = (0..RESOURCES).map(|name| format!("resource {name}")).collect();
    while Instant::now() < until {
        let (several, is_try, hold) = {
            let mut rng = rand::rng();
            names.shuffle(&mut rng);
            (rng.random_range(1..=6), rng.random_bool(0.2), Duration::from_micros(rng.random_range(0..2_000)))
        };
        let asked = AcquireAll::new(&names[..several]).wait(if is_try { Duration::ZERO } else { WAIT });
        let started = Instant::now();
        match locks.send(asked).await.unwrap() {
            Ok(set) => {
                referee.entered(number, &set);
                assert_eq!(set.leases().len(), several);
                tokio::time::sleep(hold).await;
                assert!(set.is_valid());
                referee.left(number, &set);
                set.release().await.unwrap();
                seen.granted += 1;
                seen.longest = seen.longest.max(started.elapsed());
            }
            Err(error) => {
                assert!(is_try && matches!(error.cause(), AcquireError::Held { .. }), "{number}: {error}");
                seen.refused += 1;
            }
        }
    }
    seen
}

#[actix::test]
async fn random_subsets_of_few_resources_know_no_deadlock_and_no_conflict() {
    let server = RedisServer::start();
    // A busy machine may keep the server waiting, which is not what this is about.
    let options = RedisOptions { connect_timeout: WAIT, response_timeout: WAIT, ..RedisOptions::default() };
    let manager = |_| {
        let store = RedisStore::with_options(&server.url(), options.clone()).unwrap();
        LockManager::builder(Arc::new(store)).start().unwrap()
    };
    let managers: Vec<_> = (0..MANAGERS).map(manager).collect();
    let (referee, until) = (Referee::default(), Instant::now() + FOR);
    let callers = (0..CALLERS).map(|number| {
        let locks = managers[number % MANAGERS].clone();
        actix_rt::spawn(call(number, locks, referee.clone(), until))
    });
    let (mut granted, mut refused, mut longest) = (0, 0, Duration::ZERO);
    for caller in callers.collect::<Vec<_>>() {
        let seen = caller.await.unwrap();
        assert!(seen.granted > 10, "everybody makes progress: {} of {}", seen.granted, seen.refused);
        (granted, refused, longest) =
            (granted + seen.granted, refused + seen.refused, longest.max(seen.longest));
    }
    println!("{granted} sets were granted, {refused} tries refused; nobody waited longer than {longest:?}");
    for locks in &managers {
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.held, stats.pending, stats.lost.len()), (0, 0, 0), "{stats:?}");
    }
    let left: Vec<_> = server.keys().into_iter().filter(|(key, _)| key != "leasehold:fence").collect();
    assert!(left.is_empty(), "{left:?}");
}
