//! How waits, leases and what was lost on the way come to their end. In virtual time.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use actix::{Actor, Addr};
use leasehold::{
    Acquire, AcquireError, Backoff, Inspect, Lease, LeaseChange, LockManager, LossReason, Release, Released,
    RenewError, Settings, Shutdown, Stats, Token,
    env::{Clock, Draw, Moment, Random, RuntimeClock},
};
use tokio::time::{Instant, sleep, timeout};

use support::{
    odd_store::{OddStore, odd_store},
    virtual_time::{Listener, Loaded, World, in_virtual_time, millis, secs},
};

/// A clock that goes on while the timers of the runtime stand still, as in a suspended machine.
#[derive(Debug)]
struct Jumping {
    inner: RuntimeClock,
    ahead: Mutex<Duration>,
}

impl Jumping {
    fn start() -> Arc<Self> {
        Arc::new(Self { inner: RuntimeClock::start(), ahead: Mutex::default() })
    }

    fn jump(&self, by: Duration) {
        *self.ahead.lock().unwrap() += by;
    }
}

impl Clock for Jumping {
    fn now(&self) -> Moment {
        self.inner.now() + *self.ahead.lock().unwrap()
    }
}

fn odd_manager(world: &World) -> (OddStore, Addr<LockManager>) {
    let store = odd_store(world.store.clone());
    let locks = world.builder_on(Arc::new(store.clone()));
    (store, locks.random(Arc::new(Loaded::new(|_| false))).start_here().unwrap())
}

#[test]
fn two_unknown_attempts_leave_no_ghost() {
    in_virtual_time(|| async {
        let world = World::new();
        let (store, locks) = odd_manager(&world);
        // The second is executed, and released, long before the first.
        store.execute_late(secs(2));
        store.execute_late(millis(1));
        let asked = Acquire::new("r").wait(millis(200)).attempts(2);
        assert!(matches!(locks.send(asked).await.unwrap(), Err(AcquireError::Store(_))));
        sleep(secs(5)).await;
        let left = locks.send(Inspect::new("r")).await.unwrap().unwrap();
        assert_eq!(left.total, 0, "{left:?}");
    });
}

#[test]
fn releasing_is_not_a_storm() {
    in_virtual_time(|| async {
        let world = World::new();
        let (store, locks) = odd_manager(&world);
        let held = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        store.execute_late(millis(1));
        let refused = locks.send(Acquire::new("r").ttl(secs(3600))).await.unwrap();
        assert!(refused.is_err());
        sleep(secs(3700)).await;
        assert!(held.is_valid());
        assert!((2..30).contains(&store.releases()), "{}", store.releases());
    });
}

#[test]
fn a_lease_that_is_over_is_renewed_no_more() {
    in_virtual_time(|| async {
        let world = World::new();
        let (store, locks) = odd_manager(&world);
        let ask = || locks.send(Acquire::new("r").ttl(secs(3)));
        let released = ask().await.unwrap().unwrap();
        sleep(secs(10)).await;
        released.release().await.unwrap();
        drop(ask().await.unwrap().unwrap());
        sleep(millis(1)).await;
        let lost = ask().await.unwrap().unwrap();
        world.store.clear();
        lost.lost().await;
        let renewals = store.renewals();
        assert!(renewals >= 10);
        sleep(secs(600)).await;
        assert_eq!(store.renewals(), renewals);
    });
}

#[test]
fn a_store_that_panics_does_not_hang_its_callers() {
    in_virtual_time(|| async {
        let world = World::new();
        let (store, locks) = odd_manager(&world);
        store.panic_from_now_on();
        let start = Instant::now();
        let answer = locks.send(Acquire::new("r").wait(secs(5))).await.unwrap();
        assert!(matches!(answer, Err(AcquireError::Store(_))), "{answer:?}");
        assert!(start.elapsed() <= secs(6), "{:?}", start.elapsed());
    });
}

#[test]
fn a_wait_ends_at_its_deadline_also_during_the_first_attempt() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.stall_next(1, secs(60));
        let start = Instant::now();
        let answer = locks.send(Acquire::new("r").wait(secs(1))).await.unwrap();
        assert!(answer.is_err());
        assert!(start.elapsed() < millis(1_100), "{:?}", start.elapsed());
    });
}

#[test]
fn a_caller_that_goes_during_its_first_attempt_is_gone_at_once() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.stall_next(1, secs(60));
        assert!(timeout(secs(1), locks.send(Acquire::new("r").wait(secs(30)))).await.is_err());
        sleep(millis(1)).await;
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.pending, stats.cancelled), (0, 1));
    });
}

#[test]
fn a_backoff_that_counts_its_attempts_is_a_wait() {
    in_virtual_time(|| async {
        let world = World::new();
        let mut settings = Settings::default();
        settings.backoff = Backoff::SCHEDULED_JOB;
        let configured = world.builder().settings(settings).start_here().unwrap();
        let _held = configured.send(Acquire::new("r")).await.unwrap().unwrap();
        let attempts_of = async |asked: Acquire| match configured.send(asked).await.unwrap() {
            Err(AcquireError::Held { attempts, .. }) => attempts,
            other => panic!("{other:?}"),
        };
        assert_eq!(attempts_of(Acquire::new("r")).await, 5);
        assert_eq!(attempts_of(Acquire::new("r").backoff(Backoff::FLASH_SALE)).await, 3);
        assert_eq!(attempts_of(Acquire::new("r").wait(secs(0))).await, 1);
    });
}

#[test]
fn a_release_with_a_minimum_hold_that_failed_is_repeated() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let asked = Acquire::new("r").ttl(secs(600)).min_hold(secs(5));
        let lease = locks.send(asked).await.unwrap().unwrap();
        sleep(secs(1)).await;
        world.store.fail_next(1);
        assert!(lease.release().await.is_err());
        sleep(secs(1)).await;
        assert!(locks.send(Acquire::new("r")).await.unwrap().is_err(), "within its minimum hold");
        sleep(secs(4)).await;
        assert!(locks.send(Acquire::new("r")).await.unwrap().is_ok());
    });
}

#[test]
fn a_re_entered_hold_released_by_its_token_from_elsewhere_says_still_held() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, other) = (world.manager(), world.manager());
        let outer = locks.send(Acquire::new("r").owner("job")).await.unwrap().unwrap();
        let inner = locks.send(Acquire::new("r").owner("job")).await.unwrap().unwrap();
        let released = other.send(Release::new("r", outer.token())).await.unwrap().unwrap();
        assert_eq!(released, Released::StillHeld { count: 1 });
        drop(inner);
    });
}

#[test]
fn a_lease_that_its_owner_actor_left_says_so() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let owner = Listener::default().start();
        let lease = locks.send(Acquire::new("r").bound_to(&owner)).await.unwrap().unwrap();
        drop(owner);
        assert_eq!(lease.lost().await, LossReason::Released);
    });
}

#[test]
fn a_renewal_of_an_expired_lease_sends_nothing_and_says_lost() {
    in_virtual_time(|| async {
        let world = World::new();
        let clock = Jumping::start();
        let store = odd_store(world.store.clone());
        let locks = world.builder_on(Arc::new(store.clone())).clock(clock.clone()).start_here().unwrap();
        let lease = locks.send(Acquire::new("r").ttl(secs(30)).no_renew()).await.unwrap().unwrap();
        clock.jump(secs(30));
        let error = lease.renew().await.unwrap_err();
        assert!(matches!(error, RenewError::Lost { reason: LossReason::Expired }), "{error}");
        assert_eq!(store.renewals(), 0);
    });
}

#[test]
fn after_a_suspension_work_is_stopped_at_its_next_await() {
    in_virtual_time(|| async {
        let clock = Jumping::start();
        let locks = World::new().builder().clock(clock.clone()).start_here().unwrap();
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let mut steps = 0;
        let work = async {
            clock.jump(secs(3600));
            loop {
                sleep(millis(1)).await;
                steps += 1;
            }
        };
        assert_eq!(lease.run(work).await.unwrap_err().reason, LossReason::Expired);
        assert!(steps <= 1, "{steps}");
    });
}

#[test]
fn after_a_suspension_everybody_is_told_within_a_second() {
    in_virtual_time(|| async {
        let clock = Jumping::start();
        let locks = World::new().builder().clock(clock.clone()).start_here().unwrap();
        let listener = Listener::default();
        let events = listener.clone().start().recipient();
        let lease = locks.send(Acquire::new("r").ttl(secs(300)).events(events)).await.unwrap().unwrap();
        sleep(secs(10)).await;
        clock.jump(secs(3600));
        let start = Instant::now();
        assert_eq!(lease.lost().await, LossReason::Expired);
        assert!(start.elapsed() <= secs(1), "{:?}", start.elapsed());
        sleep(millis(1)).await;
        assert!(listener.has_heard(LeaseChange::Lost(LossReason::Expired)));
    });
}

#[test]
fn after_a_suspension_a_lease_that_still_holds_is_renewed_within_a_second() {
    in_virtual_time(|| async {
        let clock = Jumping::start();
        let locks = World::new().builder().clock(clock.clone()).start_here().unwrap();
        let lease = locks.send(Acquire::new("r").ttl(secs(300))).await.unwrap().unwrap();
        // Its renewer waits for the next renewal, at 180 to 200 s.
        sleep(secs(110)).await;
        clock.jump(secs(180));
        sleep(secs(1)).await;
        assert_eq!(locks.send(Stats).await.unwrap().renewals, 2);
        assert!(lease.remaining() > secs(290), "{:?}", lease.remaining());
    });
}

#[test]
fn a_renewer_that_nothing_can_restart_still_ends_in_a_told_loss() {
    in_virtual_time(|| async {
        let random = Loaded::new(|what| matches!(what, Draw::Renewal | Draw::Restart));
        let world = World::new();
        let locks = world.manager_with(random);
        let listener = Listener::default();
        let events = listener.clone().start().recipient();
        let lease = locks.send(Acquire::new("r").ttl(secs(3)).events(events)).await.unwrap().unwrap();
        assert_eq!(lease.lost().await, LossReason::RenewerDied);
        sleep(millis(1)).await;
        assert!(listener.has_heard(LeaseChange::Lost(LossReason::RenewerDied)));
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.held, stats.lost[&LossReason::RenewerDied]), (0, 1));
    });
}

#[test]
fn a_second_shutdown_does_not_cut_the_first_short() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, other) = (world.manager(), world.manager());
        let _lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let first = actix_rt::spawn(locks.send(Shutdown { drain: secs(1) }));
        sleep(millis(990)).await;
        world.store.stall_next(1, millis(500));
        sleep(millis(20)).await;
        let second = actix_rt::spawn(locks.send(Shutdown { drain: secs(0) }));
        assert!(first.await.unwrap().is_ok() && second.await.unwrap().is_ok());
        assert!(other.send(Acquire::new("r")).await.unwrap().is_ok());
    });
}

/// Random numbers whose tokens bring the manager down while it is armed.
#[derive(Debug)]
struct Deadly {
    inner: Loaded,
    armed: Arc<AtomicBool>,
}

impl Random for Deadly {
    fn draw(&self, what: Draw) -> f64 {
        self.inner.draw(what)
    }

    fn token(&self) -> Token {
        assert!(!self.armed.swap(false, Ordering::Relaxed), "the random numbers were told to panic");
        self.inner.token()
    }
}

#[test]
fn a_shutdown_after_a_crash_in_the_first_one_still_ends_the_manager() {
    in_virtual_time(|| async {
        let armed = Arc::new(AtomicBool::new(false));
        let locks = World::new().manager_with(Deadly { inner: Loaded::new(|_| false), armed: armed.clone() });
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let first = actix_rt::spawn(locks.send(Shutdown { drain: secs(60) }));
        sleep(millis(1)).await;
        armed.store(true, Ordering::Relaxed);
        assert!(locks.send(Acquire::new("other")).await.is_err(), "it died with this request");
        assert!(first.await.unwrap().is_err(), "and with the shutdown that was running");
        assert_eq!(locks.send(Stats).await.unwrap().manager_restarts, 1);
        assert!(lease.is_valid());
        let again = locks.send(Shutdown { drain: secs(1) }).await.unwrap();
        assert_eq!(again.revoked, 1);
        assert!(locks.send(Stats).await.is_err(), "it has stopped");
    });
}

#[test]
fn a_lease_that_ends_takes_no_other_with_it() {
    for sooner in [false, true] {
        in_virtual_time(async || {
            let world = World::new();
            let locks = world.manager();
            // Moves the lease monitor's timer behind those of the grants, so that both orders of the two are seen.
            let ends_sooner = Acquire::new("sooner").ttl(millis(500)).no_renew();
            let _ends_sooner =
                if sooner { Some(locks.send(ends_sooner).await.unwrap().unwrap()) } else { None };
            let ending = Acquire::new("ending").ttl(secs(1)).no_renew();
            let ending = locks.send(ending).await.unwrap().unwrap();
            let end = Instant::now() + ending.remaining();
            // Some are granted just when the lease monitor tells the manager of the end.
            let mut asking = Vec::new();
            for late in 0..4 {
                world.store.stall_next(1, end + millis(late) - Instant::now());
                asking.push(actix_rt::spawn(locks.send(Acquire::new(format!("r{late}")))));
                sleep(millis(1)).await;
            }
            let mut leases = Vec::new();
            for asking in asking {
                leases.push(asking.await.unwrap().unwrap().unwrap());
            }
            sleep(secs(120)).await;
            assert!(leases.iter().all(Lease::is_valid), "{leases:?}");
        });
    }
}
