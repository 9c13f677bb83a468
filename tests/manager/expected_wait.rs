//! The expected wait: how near it comes, and who gives up because of it. In virtual time.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use actix::{Actor, Addr, Context, Handler};
use leasehold::{
    Acquire, AcquireAll, AcquireError, Inspect, Lease, LeaseChange, LeaseEvent, LockManager, Settings, Stats,
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use support::virtual_time::{Listener, World, in_virtual_time, millis, secs};

/// Random numbers that are the same in each run.
struct Chance(u64);

impl Chance {
    /// A number above 0, up to 1.
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 40) + 1) as f64 / (1_u64 << 24) as f64
    }

    fn exponential(&mut self) -> f64 {
        -self.share().ln()
    }

    fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// The mean of all holds, nearly.
const HOLD: f64 = 0.05;

/// A way to draw holds, with its name.
type Holds = (&'static str, fn(&mut Chance) -> f64);

/// The holds, in seconds: always the same, without a memory, and with a long tail.
const HOLDS: [Holds; 3] = [
    ("constant", |_| HOLD),
    ("exponential", |chance| HOLD * chance.exponential()),
    // The 99th percentile is five times the median.
    ("log-normal", |chance| HOLD / 1.27 * (0.692 * chance.normal()).exp()),
];

/// An actor that writes down the first expected wait that it is told, and when.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Option<(Instant, Duration)>>>);

impl Actor for Told {
    type Context = Context<Self>;
}

impl Handler<LeaseEvent> for Told {
    type Result = ();

    fn handle(&mut self, event: LeaseEvent, _: &mut Self::Context) {
        if let LeaseChange::Queued { expected_wait: Some(expected), .. } = event.change {
            self.0.lock().unwrap().get_or_insert((Instant::now(), expected));
        }
    }
}

/// The wait that one caller was told, and the real one from then on.
type Pair = Option<(Duration, Duration)>;

fn caller(locks: &Addr<LockManager>, hold: Duration) -> JoinHandle<Pair> {
    let told = Told::default();
    let asking = locks.send(Acquire::new("r").wait(secs(600)).events(told.clone().start().recipient()));
    actix_rt::spawn(async move {
        let lease = asking.await.unwrap().unwrap();
        let granted = Instant::now();
        sleep(hold).await;
        lease.release().await.unwrap();
        let told = *told.0.lock().unwrap();
        told.map(|(at, expected)| (expected, granted - at))
    })
}

/// A queue that grows to about 80 waiters and shrinks again, in these managers.
async fn rush(managers: &[Addr<LockManager>], hold: fn(&mut Chance) -> f64, seed: u64) -> Vec<Pair> {
    let mut chance = Chance(seed);
    let mut callers = Vec::new();
    for number in 0..400 {
        sleep(Duration::from_secs_f64(HOLD * 0.8 * chance.exponential())).await;
        let hold = Duration::from_secs_f64(hold(&mut chance));
        callers.push(caller(&managers[number % managers.len()], hold));
    }
    let mut pairs = Vec::new();
    for caller in callers {
        pairs.push(caller.await.unwrap());
    }
    pairs
}

/// The median of how far these were off, as a share of the real wait.
fn median_error(pairs: &[(Duration, Duration)]) -> f64 {
    let mut errors: Vec<_> = pairs
        .iter()
        .map(|(expected, real)| (expected.as_secs_f64() - real.as_secs_f64()).abs() / real.as_secs_f64())
        .collect();
    errors.sort_by(f64::total_cmp);
    errors[errors.len() / 2]
}

/// Callers of these managers that ask again and again, after a pause of this length in the mean. What the first quarter of
/// their requests was told is left out.
async fn steady(
    managers: &[Addr<LockManager>],
    hold: fn(&mut Chance) -> f64,
    callers: usize,
    pause: f64,
) -> Vec<Pair> {
    let one = |number: usize| {
        let locks = managers[number % managers.len()].clone();
        actix_rt::spawn(async move {
            let mut chance = Chance(number as u64 * 7_777_777);
            let mut pairs = Vec::new();
            for _ in 0..2_000 / callers {
                sleep(Duration::from_secs_f64(pause * chance.exponential())).await;
                let hold = Duration::from_secs_f64(hold(&mut chance));
                pairs.push(caller(&locks, hold).await.unwrap());
            }
            pairs.split_off(pairs.len() / 4)
        })
    };
    let callers: Vec<_> = (0..callers).map(one).collect();
    let mut pairs = Vec::new();
    for caller in callers {
        pairs.extend(caller.await.unwrap());
    }
    pairs
}

/// Prints how far these were off, and returns the median of those that a wait of ten holds would not have been enough for.
fn off(what: &str, pairs: Vec<Pair>) -> f64 {
    let told: Vec<_> = pairs.into_iter().flatten().collect();
    let (in_vain, served): (Vec<_>, Vec<_>) =
        told.into_iter().partition(|(_, real)| real.as_secs_f64() > 10.0 * HOLD);
    let error = median_error(&in_vain);
    println!(
        "{what}: {:.0} % off in the median of {} ({} wait less)",
        error * 100.0,
        in_vain.len(),
        served.len()
    );
    assert!(in_vain.len() > 100, "{what}");
    error
}

#[test]
fn a_caller_that_waits_too_long_is_told_the_wait_within_a_quarter_in_the_median() {
    for (fleet, processes, limit) in [("one process", 1, 16), ("five processes, strictly in turn", 5, 0)] {
        for (name, hold) in HOLDS {
            for seed in [1, 2] {
                in_virtual_time(|| async move {
                    let world = World::new();
                    let managers: Vec<_> = (0..processes).map(|_| world.passing_manager(limit)).collect();
                    let what = format!("a rush on {fleet}, {name}, seed {seed}");
                    let error = off(&what, rush(&managers, hold, seed).await);
                    assert!(error <= 0.25, "{what}: {error}");
                });
            }
        }
    }
}

#[test]
fn where_processes_hand_on_among_their_own_the_wait_is_known_after_some_rounds() {
    for (name, hold) in HOLDS {
        for (callers, pause) in [(20, 0.0), (50, 0.5)] {
            in_virtual_time(|| async move {
                let world = World::new();
                let managers: Vec<_> = (0..5).map(|_| world.passing_manager(16)).collect();
                let what = format!("{callers} callers of five processes, {name}");
                let error = off(&what, steady(&managers, hold, callers, pause).await);
                assert!(error <= 0.25, "{what}: {error}");
            });
        }
        in_virtual_time(|| async move {
            let world = World::new();
            let managers: Vec<_> = (0..5).map(|_| world.passing_manager(16)).collect();
            let what = format!("a rush on five processes, {name}");
            let error = off(&what, rush(&managers, hold, 1).await);
            assert!(error <= 0.5, "it is over after five rounds: {error}");
        });
    }
}

/// Makes a manager see what holds of this resource take, and leaves a lease, and waiters behind it.
pub(crate) async fn in_demand(locks: &Addr<LockManager>, hold: Duration, waiters: usize) -> Lease {
    let ask = || Acquire::new("r").wait(secs(600));
    let mut lease = locks.send(ask()).await.unwrap().unwrap();
    for _ in 0..3 {
        let next = actix_rt::spawn(locks.send(ask()));
        sleep(hold).await;
        lease.release().await.unwrap();
        lease = next.await.unwrap().unwrap().unwrap();
    }
    for _ in 0..waiters {
        actix_rt::spawn(locks.send(ask()));
    }
    sleep(millis(1)).await;
    lease
}

async fn waiting(locks: &Addr<LockManager>) -> u64 {
    locks.send(Inspect::new("r")).await.unwrap().unwrap().waiting
}

#[test]
fn a_caller_that_cannot_be_served_in_time_is_told_at_once_and_leaves_the_queue() {
    for limit in [0, 16] {
        in_virtual_time(|| async move {
            let world = World::new();
            let locks = world.passing_manager(limit);
            let _lease = in_demand(&locks, secs(1), 5).await;
            let before = waiting(&locks).await;
            let start = Instant::now();
            let ask = || Acquire::new("r").wait(secs(4)).give_up_early(true);
            let refused = locks.send(ask()).await.unwrap().unwrap_err();
            let AcquireError::Held { expected_wait: Some(expected), ahead, .. } = refused else {
                panic!("{refused:?}")
            };
            assert!(start.elapsed() < millis(10), "{:?}", start.elapsed());
            assert!(expected > secs(5) && expected < secs(7) && ahead == Some(5), "{expected:?} {ahead:?}");
            assert!(refused.to_string().ends_with("with about 6s to wait"), "{refused}");
            sleep(millis(10)).await;
            assert_eq!(waiting(&locks).await, before);
            let stats = locks.send(Stats).await.unwrap();
            assert_eq!((stats.refused, stats.timed_out, stats.pending), (1, 0, 5));
        });
    }
}

#[test]
fn a_caller_that_is_likely_to_be_served_waits() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let lease = in_demand(&locks, secs(1), 0).await;
        let waits = actix_rt::spawn(locks.send(Acquire::new("r").wait(secs(4)).give_up_early(true)));
        sleep(secs(1)).await;
        drop(lease);
        assert!(waits.await.unwrap().unwrap().unwrap().is_valid());
    });
}

#[test]
fn nobody_gives_up_early_unasked_or_because_of_nothing() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let lease = in_demand(&locks, secs(1), 5).await;
        let waited = async |ask: Acquire| {
            let start = Instant::now();
            let refused = locks.send(ask.wait(secs(2))).await.unwrap().unwrap_err();
            assert!(matches!(refused, AcquireError::Held { .. }), "{refused}");
            start.elapsed()
        };
        assert_eq!(waited(Acquire::new("r")).await, secs(2));
        let _other = locks.send(Acquire::new("s")).await.unwrap().unwrap();
        assert_eq!(waited(Acquire::new("s").give_up_early(true)).await, secs(2), "nothing is known of it");
        drop(lease);
    });
}

#[test]
fn the_settings_say_what_a_request_does_that_says_nothing() {
    in_virtual_time(|| async {
        let mut settings = Settings::default();
        settings.wait.give_up_early = true;
        let locks = World::new().builder().settings(settings).start_here().unwrap();
        let _lease = in_demand(&locks, secs(1), 5).await;
        let start = Instant::now();
        let set = locks.send(AcquireAll::new(["a", "r"]).wait(secs(2))).await.unwrap().unwrap_err();
        assert!(matches!(set.cause(), AcquireError::Held { expected_wait: Some(_), .. }), "{set}");
        assert!(start.elapsed() < secs(1), "a set gives up with the first that is hopeless");
        for (ask, waited) in
            [(Acquire::new("r"), Duration::ZERO), (Acquire::new("r").give_up_early(false), secs(2))]
        {
            let start = Instant::now();
            assert!(locks.send(ask.wait(secs(2))).await.unwrap().is_err());
            assert_eq!(start.elapsed().as_secs(), waited.as_secs());
        }
    });
}

#[test]
fn a_burst_is_told_as_soon_as_its_first_one_has_an_answer() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, others) = (world.manager(), world.manager());
        drop(in_demand(&locks, secs(1), 0).await);
        sleep(millis(10)).await;
        // Free, and held by another process: either way all ask before the first one has its answer.
        for held in [false, true] {
            let lease = match held {
                true => Some(others.send(Acquire::new("r")).await.unwrap().unwrap()),
                false => None,
            };
            let start = Instant::now();
            let ask = || locks.send(Acquire::new("r").wait(secs(3)).give_up_early(true));
            let asking: Vec<_> = (0..10).map(|_| actix_rt::spawn(ask())).collect();
            sleep(millis(10)).await;
            let gave_up = asking.iter().filter(|caller| caller.is_finished()).count();
            assert!((6..=8).contains(&gave_up), "the queue is as long as can be served: {gave_up}");
            for caller in asking {
                if caller.is_finished() {
                    drop(caller.await);
                } else {
                    caller.abort();
                }
            }
            assert!(start.elapsed() < millis(20));
            drop(lease);
            sleep(millis(10)).await;
            assert_eq!(world.left().await, 0);
        }
    });
}

#[test]
fn a_try_and_a_wait_that_ended_are_told_what_is_still_to_wait() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let _lease = in_demand(&locks, secs(1), 2).await;
        for (wait, least, most) in [(millis(0), 2_500, 3_500), (millis(500), 2_000, 3_000)] {
            let refused = locks.send(Acquire::new("r").wait(wait)).await.unwrap().unwrap_err();
            let AcquireError::Held { expected_wait: Some(expected), .. } = refused else {
                panic!("{refused:?}")
            };
            assert!((millis(least)..millis(most)).contains(&expected), "{wait:?}: {expected:?}");
        }
    });
}

#[test]
fn a_listener_hears_of_the_expected_wait() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let _lease = in_demand(&locks, secs(1), 1).await;
        let listener = Listener::default();
        let events = listener.clone().start().recipient();
        let _waits = actix_rt::spawn(locks.send(Acquire::new("r").wait(secs(60)).events(events)));
        sleep(millis(1)).await;
        let heard = listener.heard();
        let [LeaseChange::Queued { ahead: 1, expected_wait: Some(expected) }] = heard[..] else {
            panic!("{heard:?}")
        };
        assert!((millis(1_900)..millis(2_100)).contains(&expected), "{expected:?}");
    });
}

#[test]
fn who_is_refused_because_of_a_wrong_estimate_is_not_refused_for_ever() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, others) = (world.manager(), world.manager());
        // It was slow once; since then another process has it, for a moment each time.
        drop(in_demand(&locks, secs(10), 0).await);
        let mut served = 0;
        for _ in 0..100 {
            let lease = others.send(Acquire::new("r").wait(secs(60))).await.unwrap().unwrap();
            let asking = actix_rt::spawn(locks.send(Acquire::new("r").wait(secs(2)).give_up_early(true)));
            sleep(millis(100)).await;
            drop(lease);
            served += usize::from(asking.await.unwrap().unwrap().is_ok());
            sleep(secs(1)).await;
        }
        assert!((20..100).contains(&served), "{served}");
    });
}
