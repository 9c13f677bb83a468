//! What survives a crash: of a renewer, of the manager. On the memory store, in virtual time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use actix::{Actor, Addr, Context};
use futures_util::FutureExt;
use leasehold::{
    Acquire, AcquireAll, AcquireError, Drained, IsHeld, LeaseChange, LeaseStatus, List, LockManager,
    LossReason, ReadLock, RenewError, ResourceName, Revoke, Revoked, Settings, Shutdown, Stats,
    env::{Clock, Draw, Moment, RuntimeClock},
    store::{Store, Walk},
};
use tokio::time::{Instant, sleep};

use support::{
    odd_store::odd_store,
    virtual_time::{Listener, Loaded, World, in_virtual_time, millis, secs},
};

/// The panics of these tests are wanted; their messages would only hide a real one.
fn quietly() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str() != Some("the random numbers were told to panic") {
            usual(panic);
        }
    }));
}

/// Random numbers that bring the manager down at its next refusal after they were armed.
fn armed_random() -> (Loaded, Arc<AtomicBool>) {
    let armed = Arc::new(AtomicBool::new(false));
    let trigger = Arc::clone(&armed);
    (Loaded::new(move |what| what == Draw::Attempt && trigger.swap(false, Ordering::Relaxed)), armed)
}

#[test]
fn a_renewer_that_panics_at_every_second_draw_keeps_its_lease_for_100_renewals() {
    quietly();
    in_virtual_time(|| async {
        let world = World::new();
        let draws = AtomicU64::new(0);
        let locks = world.manager_with(Loaded::new(move |what| {
            what == Draw::Renewal && draws.fetch_add(1, Ordering::Relaxed) % 2 == 1
        }));
        let lease = locks.send(Acquire::new("r").ttl(secs(3))).await.unwrap().unwrap();
        let (token, fence) = (lease.token(), lease.fence());
        for renewals in 1..=100 {
            while locks.send(Stats).await.unwrap().renewals < renewals {
                sleep(millis(100)).await;
                assert!(lease.is_valid());
            }
        }
        assert!(locks.send(Stats).await.unwrap().renewer_restarts >= 50);
        assert_eq!((lease.token(), lease.fence()), (token, fence));
        assert!(locks.send(IsHeld::new("r", token)).await.unwrap().unwrap());
    });
}

#[test]
fn a_renewer_that_panics_at_each_of_its_messages_ends_in_a_told_loss_before_the_store_ends_the_lease() {
    quietly();
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager_with(Loaded::new(|what| what == Draw::Renewal));
        let listener = Listener::default();
        let events = listener.clone().start().recipient();
        let start = Instant::now();
        let lease = locks.send(Acquire::new("r").ttl(secs(3)).events(events)).await.unwrap().unwrap();
        assert_eq!(lease.lost().await, LossReason::RenewerDied);
        assert!(start.elapsed() < secs(3));
        assert!(
            locks.send(IsHeld::new("r", lease.token())).await.unwrap().unwrap(),
            "the store has not ended it"
        );
        sleep(millis(1)).await;
        let lost = LeaseChange::Lost(LossReason::RenewerDied);
        assert_eq!(listener.heard(), [LeaseChange::Granted, lost]);
        let restarts = locks.send(Stats).await.unwrap().renewer_restarts;
        assert!((5..50).contains(&restarts), "paced: {restarts}");
    });
}

#[test]
fn a_crash_of_the_manager_leaves_valid_leases_alone_and_tells_pending_callers() {
    quietly();
    in_virtual_time(|| async {
        let world = World::new();
        let (random, armed) = armed_random();
        let locks = world.manager_with(random);
        let lease = locks.send(Acquire::new("r").ttl(secs(3))).await.unwrap().unwrap();
        let waiting: Vec<_> = (0..10).map(|_| locks.send(Acquire::new("r").wait(secs(60)))).collect();
        let waiting = actix_rt::spawn(futures_util::future::join_all(waiting));
        sleep(millis(500)).await;
        armed.store(true, Ordering::Relaxed);
        for answer in waiting.await.unwrap() {
            let error = answer.expect("the mailbox survives").unwrap_err();
            assert!(matches!(error, AcquireError::Restarted), "{error}");
        }
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.manager_restarts, stats.pending, stats.failed["restarted"]), (1, 0, 10));
        sleep(secs(600)).await;
        assert_eq!(lease.status(), LeaseStatus::Held, "it is renewed as ever");
        lease.release().await.unwrap();
        assert!(locks.send(List::new("")).await.unwrap().unwrap().resources.is_empty());
        let next = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        assert!(next.is_valid(), "the restarted manager serves as before");
    });
}

/// A manager that is down for 5 s after a crash, and what makes its next draw crash it.
fn slow_to_restart(world: &World) -> (Addr<LockManager>, Arc<AtomicBool>) {
    let (random, armed) = armed_random();
    let mut slow = Settings::default();
    slow.supervision.restart_pause = secs(5);
    slow.supervision.max_restart_pause = secs(5);
    (world.builder().settings(slow).random(Arc::new(random)).start_here().unwrap(), armed)
}

/// Crashes a manager by a request for `r`, which somebody holds. Returns the answer to come.
async fn crashed(locks: &Addr<LockManager>, armed: &AtomicBool) -> impl Future<Output = AcquireError> {
    armed.store(true, Ordering::Relaxed);
    let refused = actix_rt::spawn(locks.send(Acquire::new("r").wait(secs(1))));
    while armed.load(Ordering::Relaxed) {
        sleep(millis(1)).await;
    }
    async move { refused.await.unwrap().unwrap().unwrap_err() }
}

#[test]
fn a_manager_that_was_down_for_many_intervals_renews_a_lease_once() {
    quietly();
    in_virtual_time(|| async {
        let (locks, armed) = slow_to_restart(&World::new());
        let lease = locks.send(Acquire::new("r").ttl(secs(60)).renew_every(secs(1))).await.unwrap().unwrap();
        sleep(millis(3_500)).await;
        let before = locks.send(Stats).await.unwrap().renewals;
        let refused = crashed(&locks, &armed).await;
        assert!(matches!(refused.await, AcquireError::Restarted));
        sleep(millis(100)).await;
        let renewals = locks.send(Stats).await.unwrap().renewals - before;
        assert!((1..=2).contains(&renewals), "{renewals}");
        assert!(lease.is_valid());
    });
}

#[test]
fn a_renewal_by_hand_does_not_wait_for_a_crashed_manager_beyond_the_end_of_the_lease() {
    quietly();
    in_virtual_time(|| async {
        let (locks, armed) = slow_to_restart(&World::new());
        let start = Instant::now();
        let lease = locks.send(Acquire::new("r").ttl(secs(1)).no_renew()).await.unwrap().unwrap();
        let refused = crashed(&locks, &armed).await;
        let error = lease.renew().await.unwrap_err();
        assert!(matches!(error, RenewError::Lost { reason: LossReason::Expired }), "{error}");
        assert!(start.elapsed() < secs(1), "told before the store ends it: {:?}", start.elapsed());
        assert!(matches!(refused.await, AcquireError::Restarted));
        assert!(start.elapsed() > secs(4), "the manager was down all the time: {:?}", start.elapsed());
    });
}

#[test]
fn a_crash_of_the_manager_releases_what_was_on_its_way() {
    quietly();
    in_virtual_time(|| async {
        let world = World::new();
        let (random, armed) = armed_random();
        let locks = world.manager_with(random);
        let _held = locks.send(Acquire::new("held")).await.unwrap().unwrap();
        // Its grant is on its way while the refusal of the other brings the manager down.
        world.store.stall_next(1, millis(200));
        let slow = actix_rt::spawn(locks.send(Acquire::new("slow")));
        sleep(millis(50)).await;
        armed.store(true, Ordering::Relaxed);
        let refused = locks.send(Acquire::new("held").wait(secs(1))).await.unwrap();
        assert!(matches!(refused, Err(AcquireError::Restarted)));
        assert!(matches!(slow.await.unwrap().unwrap(), Err(AcquireError::Restarted)));
        sleep(secs(1)).await;
        let left = locks.send(List::new("")).await.unwrap().unwrap().resources;
        assert_eq!(left.len(), 1, "only what is held: {left:?}");
    });
}

#[test]
fn a_shutdown_lets_holders_finish_and_then_takes_the_rest_away() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, other) = (world.manager(), world.manager());
        // That nothing was held at an earlier moment does not count.
        locks.send(Acquire::new("earlier")).await.unwrap().unwrap().release().await.unwrap();
        let finishing = locks.send(Acquire::new("finishing")).await.unwrap().unwrap();
        let staying = locks.send(Acquire::new("staying")).await.unwrap().unwrap();
        let waiting = actix_rt::spawn(locks.send(Acquire::new("staying").wait(secs(60))));
        sleep(millis(10)).await;
        let start = Instant::now();
        let drained = actix_rt::spawn(locks.send(Shutdown { drain: secs(60) }));
        sleep(secs(1)).await;
        assert!(matches!(waiting.await.unwrap().unwrap(), Err(AcquireError::ShuttingDown)));
        let refused = locks.send(Acquire::new("new")).await.unwrap();
        assert!(matches!(refused, Err(AcquireError::ShuttingDown)));
        finishing.release().await.unwrap();
        sleep(secs(50)).await;
        assert!(staying.is_valid(), "renewed while it drains");
        assert_eq!(staying.lost().await, LossReason::ShutDown);
        let drained = drained.await.unwrap().unwrap();
        assert_eq!(drained, Drained { finished: 1, revoked: 1, unconfirmed: 0 });
        assert!(start.elapsed() < secs(61), "{:?}", start.elapsed());
        assert!(other.send(List::new("")).await.unwrap().unwrap().resources.is_empty());
        assert!(locks.send(Acquire::new("late")).await.is_err(), "the manager has stopped");
    });
}

#[test]
fn a_shutdown_ends_as_soon_as_nothing_is_held() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let start = Instant::now();
        let finish = async {
            sleep(secs(3)).await;
            drop(lease);
        };
        let (drained, ()) = tokio::join!(locks.send(Shutdown { drain: secs(3600) }), finish);
        assert_eq!(drained.unwrap(), Drained { finished: 1, revoked: 0, unconfirmed: 0 });
        assert!(start.elapsed() < secs(4), "{:?}", start.elapsed());
    });
}

#[test]
fn what_the_store_granted_is_not_forgotten_when_the_manager_panics_over_another_answer() {
    quietly();
    in_virtual_time(|| async {
        let world = World::new();
        let _held = world.manager().send(Acquire::new("held")).await.unwrap().unwrap();
        let locks = world.manager_with(Loaded::new(|what| what == Draw::Attempt));
        // All of them travel together, and the first answer that comes back is the one that panics.
        let refused = locks.send(Acquire::new("held").wait(secs(60)));
        let granted: Vec<_> =
            (0..9).map(|number| locks.send(Acquire::new(format!("free/{number}")).wait(secs(60)))).collect();
        let (refused, granted) = tokio::join!(refused, futures_util::future::join_all(granted));
        for answer in granted.into_iter().chain([refused]) {
            assert!(matches!(answer.unwrap(), Err(AcquireError::Restarted)));
        }
        sleep(millis(100)).await;
        let left = world.store.list(&Walk::new(b"", 100)).await.unwrap().resources;
        assert_eq!(left, [ResourceName::new("held").unwrap()]);
    });
}

#[test]
fn who_was_granted_a_lease_gets_it_though_the_manager_panics_over_the_next_answer() {
    quietly();
    in_virtual_time(|| async {
        let world = World::new();
        let _held = world.manager().send(Acquire::new("held")).await.unwrap().unwrap();
        let locks = world.manager_with(Loaded::new(|what| what == Draw::Attempt));
        // All of them travel together, and the last answer that comes back is the one that panics.
        let granted: Vec<_> =
            (0..9).map(|number| locks.send(Acquire::new(format!("free/{number}")))).collect();
        let refused = locks.send(Acquire::new("held").wait(secs(60)));
        let (granted, refused) = tokio::join!(futures_util::future::join_all(granted), refused);
        assert!(matches!(refused.unwrap(), Err(AcquireError::Restarted)));
        let leases: Vec<_> = granted.into_iter().map(|granted| granted.unwrap().unwrap()).collect();
        sleep(secs(600)).await;
        assert!(leases.iter().all(|lease| lease.is_valid()));
        assert_eq!(locks.send(Stats).await.unwrap().held, 9);
    });
}

#[test]
fn a_forced_release_is_answered_only_after_its_manager_has_seen_to_its_waiters() {
    quietly();
    in_virtual_time(|| async {
        let world = World::new();
        let _held = world.manager().send(Acquire::new("held")).await.unwrap().unwrap();
        let locks = world.manager_with(Loaded::new(|what| what == Draw::Attempt));
        // The store answers while the manager is down, for about 10 ms after a panic.
        world.store.stall_next(1, millis(5));
        let start = Instant::now();
        let forced = async { (locks.send(Revoke::at_once("r")).await, start.elapsed()) };
        let panics = async {
            sleep(millis(1)).await;
            locks.send(Acquire::new("held").wait(secs(60))).await
        };
        let ((forced, answered), refused) = tokio::join!(forced, panics);
        assert!(matches!(refused.unwrap(), Err(AcquireError::Restarted)));
        assert_eq!(forced.unwrap().unwrap(), Revoked::default());
        assert!(answered > millis(9), "{answered:?}");
    });
}

#[test]
fn restarts_are_paced() {
    quietly();
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager_with(Loaded::new(|what| what == Draw::Renewal));
        let lease = locks.send(Acquire::new("r").ttl(Duration::from_secs(600))).await.unwrap().unwrap();
        // A renewer is there from the first renewal on.
        sleep(secs(200 + 60)).await;
        let restarts = locks.send(Stats).await.unwrap().renewer_restarts;
        assert!((55..80).contains(&restarts), "10 ms doubled up to 1 s: {restarts}");
        drop(lease);
    });
}

/// A clock that panics once, when it has been asked so many times.
#[derive(Debug)]
struct PanicsAfter(RuntimeClock, AtomicI64);

impl Clock for PanicsAfter {
    fn now(&self) -> Moment {
        assert!(self.1.fetch_sub(1, Ordering::Relaxed) != 0, "the random numbers were told to panic");
        self.0.now()
    }
}

/// A way of releasing a lease.
#[derive(Clone, Copy, Debug)]
enum Back {
    Dropped,
    Released,
}

#[test]
fn a_lease_is_released_also_if_the_manager_panics_over_its_release() {
    quietly();
    for (questions, back) in (0..12).flat_map(|at| [(at, Back::Dropped), (at, Back::Released)]) {
        in_virtual_time(async || {
            let world = World::new();
            let clock = Arc::new(PanicsAfter(RuntimeClock::start(), AtomicI64::new(-1)));
            let locks = world.builder().clock(clock.clone()).start_here().unwrap();
            let lease = locks.send(Acquire::new("r").ttl(secs(600))).await.unwrap().unwrap();
            clock.1.store(questions, Ordering::Relaxed);
            match back {
                Back::Dropped => drop(lease),
                // The holder asks the clock too.
                Back::Released => drop(actix_rt::spawn(lease.release()).await),
            }
            sleep(secs(3)).await;
            assert_eq!(world.left().await, 0, "{back:?} after {questions} questions");
            let stats = locks.send(Stats).await.unwrap();
            assert_eq!((stats.held, stats.releases_unconfirmed, stats.released), (0, 0, 1), "{stats:?}");
        });
    }
}

#[test]
fn all_from_whom_it_was_taken_are_told_also_if_the_manager_panics_over_one_of_them() {
    quietly();
    for questions in 0..8 {
        in_virtual_time(async || {
            let world = World::new();
            let clock = Arc::new(PanicsAfter(RuntimeClock::start(), AtomicI64::new(-1)));
            let locks = world.builder().clock(clock.clone()).start_here().unwrap();
            let mut readers = Vec::new();
            for _ in 0..3 {
                readers.push(locks.send(ReadLock::new("r").ttl(secs(600))).await.unwrap().unwrap());
            }
            clock.1.store(questions, Ordering::Relaxed);
            assert_eq!(world.manager().send(Revoke::at_once("r")).await.unwrap().unwrap().taken, 3);
            sleep(secs(3)).await;
            for reader in &readers {
                let lost = reader.lost().now_or_never();
                assert_eq!(lost, Some(LossReason::Forced), "after {questions} questions");
            }
            assert_eq!(locks.send(Stats).await.unwrap().held, 0);
        });
    }
}

#[test]
fn a_release_is_repeated_also_if_the_manager_panics_meanwhile() {
    quietly();
    for questions in 0..24 {
        in_virtual_time(async || {
            let world = World::new();
            let clock = Arc::new(PanicsAfter(RuntimeClock::start(), AtomicI64::new(-1)));
            let store = odd_store(world.store.clone());
            let builder = world.builder_on(Arc::new(store.clone()));
            let locks = builder.clock(clock.clone()).start_here().unwrap();
            let lease = locks.send(Acquire::new("r").ttl(secs(600))).await.unwrap().unwrap();
            store.go_down(true);
            clock.1.store(questions, Ordering::Relaxed);
            drop(lease);
            sleep(secs(3)).await;
            store.go_down(false);
            sleep(secs(10)).await;
            assert_eq!(world.left().await, 0, "after {questions} questions");
            let stats = locks.send(Stats).await.unwrap();
            assert_eq!((stats.held, stats.releases_unconfirmed, stats.released), (0, 0, 1), "{stats:?}");
        });
    }
}

#[test]
fn a_lease_is_kept_though_the_clock_panics_over_one_of_its_renewals() {
    quietly();
    for questions in 0..40 {
        in_virtual_time(async || {
            let world = World::new();
            let clock = Arc::new(PanicsAfter(RuntimeClock::start(), AtomicI64::new(-1)));
            let locks = world.builder().clock(clock.clone()).start_here().unwrap();
            let lease = locks.send(Acquire::new("r").ttl(secs(30))).await.unwrap().unwrap();
            clock.1.store(questions, Ordering::Relaxed);
            sleep(secs(300)).await;
            assert_eq!(lease.status(), LeaseStatus::Held, "after {questions} questions");
        });
    }
}

#[test]
fn a_lease_that_is_lost_while_the_manager_panics_is_held_no_more() {
    quietly();
    for questions in 0..12 {
        in_virtual_time(async || {
            let world = World::new();
            let clock = Arc::new(PanicsAfter(RuntimeClock::start(), AtomicI64::new(-1)));
            let locks = world.builder().clock(clock.clone()).start_here().unwrap();
            let _lease = locks.send(Acquire::new("r").ttl(secs(3)).no_renew()).await.unwrap().unwrap();
            sleep(millis(2_900)).await;
            clock.1.store(questions, Ordering::Relaxed);
            sleep(secs(2)).await;
            let start = Instant::now();
            locks.send(Shutdown { drain: secs(600) }).await.unwrap();
            assert!(start.elapsed() < secs(5), "after {questions} questions it waited for a lost lease");
        });
    }
}

#[test]
fn a_renewal_that_is_confirmed_while_the_manager_is_down_counts() {
    quietly();
    in_virtual_time(|| async {
        let world = World::new();
        let store = odd_store(world.store.clone());
        let (random, armed) = armed_random();
        let mut settings = Settings::default();
        settings.supervision.restart_pause = secs(1);
        let builder = world.builder_on(Arc::new(store.clone())).settings(settings);
        let locks = builder.random(Arc::new(random)).start_here().unwrap();
        let lease = locks.send(Acquire::new("r").ttl(millis(1_200))).await.unwrap().unwrap();
        store.answer_renewals_after(millis(300));
        while store.renewals() == 0 {
            sleep(millis(1)).await;
        }
        store.answer_renewals_after(Duration::ZERO);
        armed.store(true, Ordering::Relaxed);
        let refused = locks.send(Acquire::new("r").attempts(2));
        assert!(matches!(refused.await.unwrap(), Err(AcquireError::Restarted)));
        sleep(secs(3)).await;
        assert_eq!(
            lease.status(),
            LeaseStatus::Held,
            "the manager was down for longer than its first validity"
        );
    });
}

#[test]
fn a_set_is_released_also_if_the_manager_panics_over_the_release_of_a_part() {
    quietly();
    for questions in 0..24 {
        in_virtual_time(async || {
            let world = World::new();
            let clock = Arc::new(PanicsAfter(RuntimeClock::start(), AtomicI64::new(-1)));
            let locks = world.builder().clock(clock.clone()).start_here().unwrap();
            let asked = AcquireAll::new(["r", "s", "t"]).ttl(secs(600));
            let set = locks.send(asked).await.unwrap().unwrap();
            clock.1.store(questions, Ordering::Relaxed);
            drop(actix_rt::spawn(set.release()).await);
            sleep(secs(3)).await;
            assert_eq!(world.left().await, 0, "after {questions} questions");
        });
    }
}

struct Worker;

impl Actor for Worker {
    type Context = Context<Self>;
}

#[test]
fn a_panic_over_a_lease_does_not_untie_it_from_its_actor() {
    quietly();
    for questions in 0..8 {
        in_virtual_time(async || {
            let world = World::new();
            let clock = Arc::new(PanicsAfter(RuntimeClock::start(), AtomicI64::new(-1)));
            let locks = world.builder().clock(clock.clone()).start_here().unwrap();
            let worker = Worker.start();
            let lease = locks.send(Acquire::new("r").bound_to(&worker)).await.unwrap().unwrap();
            sleep(millis(150)).await;
            clock.1.store(questions, Ordering::Relaxed);
            sleep(millis(1_500)).await;
            assert!(lease.is_valid());
            drop(worker);
            sleep(secs(1)).await;
            assert_eq!(world.left().await, 0, "after {questions} questions");
        });
    }
}
