//! Several resources at once: all or none, without a deadlock, with one handle. In virtual time, and at last on a server.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use actix::{Actor, Addr};
use leasehold::{
    Acquire, AcquireAll, AcquireError, Inspect, LeaseChange, LeaseSet, LockManager, LossReason, ReadLock,
    Revoke, Settings, Shutdown, Stats,
    env::{Clock, Draw, Moment, RuntimeClock},
};
use tokio::time::{Instant, sleep, timeout};

use support::{
    odd_store::odd_store,
    virtual_time::{Listener, Loaded, World, in_virtual_time, millis, secs},
};

async fn granted(locks: &Addr<LockManager>, asked: AcquireAll) -> LeaseSet {
    locks.send(asked).await.unwrap().unwrap()
}

async fn refused(locks: &Addr<LockManager>, asked: AcquireAll) -> AcquireError {
    locks.send(asked).await.unwrap().unwrap_err()
}

async fn is_free(locks: &Addr<LockManager>, resource: &str) -> bool {
    locks.send(Inspect::new(resource)).await.unwrap().unwrap().total == 0
}

/// Which resource is to blame, and for what.
fn blamed(error: &AcquireError) -> (String, &'static str) {
    match error {
        AcquireError::OneOfSet { resource, error } => (resource.to_string(), error.kind()),
        other => panic!("{other:?}"),
    }
}

fn names(set: &LeaseSet) -> Vec<String> {
    set.resources().map(ToString::to_string).collect()
}

#[test]
fn what_is_free_is_taken_with_one_question_and_released_with_one() {
    in_virtual_time(|| async {
        let world = World::new();
        let store = odd_store(world.store.clone());
        let locks = world.builder_on(Arc::new(store.clone())).start_here().unwrap();
        let set = granted(&locks, AcquireAll::new(["c", "a", "b", "a"])).await;
        assert_eq!(names(&set), ["a", "b", "c"]);
        assert!(set.is_valid() && set.remaining() > secs(29), "{set:?}");
        assert!(set.fence("b").is_some() && set.fence("d").is_none());
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.attempts, stats.requests, stats.granted, stats.held), (1, 3, 3, 3));
        set.release().await.unwrap();
        assert_eq!(store.batches(), [("release", 3)]);
        drop(granted(&locks, AcquireAll::new(["a", "b"])).await);
        assert_eq!(world.left().await, 0);
        assert_eq!(store.batches(), [("release", 2)]);
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.held, stats.released, stats.pending), (0, 5, 0));
    });
}

#[test]
fn a_try_says_who_is_in_the_way_of_what_and_takes_nothing() {
    in_virtual_time(|| async {
        let world = World::new();
        for locks in [
            world.manager(),
            world.builder_on(Arc::new(odd_store(world.store.clone()))).start_here().unwrap(),
        ] {
            let holder = locks.send(Acquire::new("b").purpose("cleaning")).await.unwrap().unwrap();
            let error = refused(&locks, AcquireAll::new(["c", "b", "a"])).await;
            assert_eq!(blamed(&error), ("b".to_owned(), "held"));
            assert!(
                matches!(error.cause(), AcquireError::Held { attempts: 1, ahead: None, .. }),
                "{error:?}"
            );
            let by = format!("b: held by token {} (cleaning, host ", holder.token().prefix());
            let text = error.to_string();
            assert!(text.starts_with(&by) && text.contains(") for another 30s; gave up"), "{error}");
            assert_eq!(world.left().await, 1, "only the holder");
            let stats = locks.send(Stats).await.unwrap();
            assert_eq!((stats.refused, stats.pending), (3, 0));
            holder.release().await.unwrap();
        }
    });
}

#[test]
fn what_waiting_cannot_cure_is_said_at_once() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let held = locks.send(ReadLock::new("b").owner("me")).await.unwrap().unwrap();
        let error = refused(&locks, AcquireAll::new(["a", "b"]).owner("me").wait(secs(60))).await;
        assert_eq!(blamed(&error), ("b".to_owned(), "deadlock"));
        let once = AcquireAll::new(["a", "b"]).attempts(1);
        assert_eq!(blamed(&refused(&locks, once).await), ("b".to_owned(), "held"));
        assert_eq!(world.left().await, 1, "only the reader");
        held.release().await.unwrap();
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!(stats.attempts, 1 + 3 + 1);
    });
}

#[test]
fn a_set_that_cannot_be_right_is_refused_before_anything_is_sent() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let many = (0..65).map(|number| number.to_string());
        let wrong = [
            (AcquireAll::new([""; 0]), "invalid resources: 0 of them (allowed: 1 to 64 different ones)"),
            (AcquireAll::new(many), "invalid resources: 65 of them (allowed: 1 to 64 different ones)"),
            (AcquireAll::new(["a", ""]), "invalid resource: an empty name (allowed: 1 to 512 bytes)"),
            (AcquireAll::new(["a"]).ttl(millis(1)), "invalid ttl: 1ms (allowed: 50ms to 1d)"),
        ];
        for (asked, expected) in wrong {
            assert_eq!(refused(&locks, asked).await.to_string(), expected);
        }
        assert_eq!(locks.send(Stats).await.unwrap().attempts, 0);
        granted(&locks, AcquireAll::new((0..64).map(|number| number.to_string())))
            .await
            .release()
            .await
            .unwrap();
    });
}

#[test]
fn who_waits_takes_them_in_the_order_of_their_names() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let holder = locks.send(Acquire::new("b")).await.unwrap().unwrap();
        let waiting = actix_rt::spawn(locks.send(AcquireAll::new(["c", "b", "a"]).wait(secs(600))));
        // Long enough for what is taken first to be renewed again and again.
        sleep(secs(120)).await;
        assert!(!is_free(&locks, "a").await && is_free(&locks, "c").await);
        holder.release().await.unwrap();
        let set = waiting.await.unwrap().unwrap().unwrap();
        assert_eq!(names(&set), ["a", "b", "c"]);
        assert!(set.is_valid());
        set.release().await.unwrap();
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn if_one_cannot_be_had_in_time_those_before_it_are_released() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let _holder = locks.send(Acquire::new("b")).await.unwrap().unwrap();
        let first = locks.send(Acquire::new("a")).await.unwrap().unwrap();
        actix_rt::spawn(async {
            sleep(secs(3)).await;
            drop(first);
        });
        let start = Instant::now();
        let error = refused(&locks, AcquireAll::new(["a", "b", "c"]).wait(secs(5))).await;
        assert_eq!(blamed(&error), ("b".to_owned(), "held"));
        assert!((secs(5)..secs(6)).contains(&start.elapsed()), "{:?}", start.elapsed());
        assert_eq!(world.left().await, 1, "only the holder");
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.held, stats.timed_out, stats.pending), (1, 1, 0));
    });
}

#[test]
fn callers_with_opposite_orders_do_not_wait_for_each_other_in_a_circle() {
    in_virtual_time(|| async {
        let world = World::new();
        let managers = [world.manager(), world.manager()];
        let callers = (0..30).map(|number| {
            let locks = managers[number % 2].clone();
            let mut names = ["a", "b", "c", "d"];
            names.rotate_left(number % 4);
            actix_rt::spawn(async move {
                for _ in 0..20 {
                    let set = granted(&locks, AcquireAll::new(&names[..3]).wait(secs(60))).await;
                    sleep(millis(1)).await;
                    set.release().await.unwrap();
                }
            })
        });
        for caller in callers.collect::<Vec<_>>() {
            caller.await.unwrap();
        }
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn the_loss_of_one_is_the_loss_of_all() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let set = granted(&locks, AcquireAll::new(["a", "b", "c"])).await;
        locks.send(Revoke::at_once("b")).await.unwrap().unwrap();
        let start = Instant::now();
        let lost = set.run(std::future::pending::<()>()).await.unwrap_err();
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert_eq!(lost.to_string(), "the lease of b was lost: it was taken away by force");
        assert_eq!(lost.reason, LossReason::Forced);
        assert_eq!(set.lost().await, lost);
        assert!(!set.is_valid() && set.remaining().is_zero());
        assert!(!is_free(&locks, "a").await, "the holder may still come to rest");
        let error = set.release().await.unwrap_err();
        let failed: Vec<_> = error.failed.iter().map(|(resource, _)| resource.to_string()).collect();
        assert_eq!(failed, ["b"], "{error}");
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn a_set_is_renewed_with_one_question_however_it_was_taken() {
    in_virtual_time(|| async {
        let world = World::new();
        let store = odd_store(world.store.clone());
        let locks = world
            .builder_on(Arc::new(store.clone()))
            .random(Arc::new(Loaded::new(|_| false)))
            .start_here()
            .unwrap();
        for pause in [Duration::ZERO, secs(4)] {
            let holders = [Acquire::new("b"), Acquire::new("c")].map(|asked| locks.send(asked.no_renew()));
            let holders = futures_util::future::join_all(holders).await;
            let waiting = actix_rt::spawn(locks.send(AcquireAll::new(["a", "b", "c"]).wait(secs(60))));
            for holder in holders {
                sleep(pause).await;
                drop(holder);
            }
            let set = waiting.await.unwrap().unwrap().unwrap();
            sleep(secs(20)).await;
            store.batches();
            sleep(secs(300)).await;
            let batches = store.batches();
            assert!(batches.iter().all(|batch| *batch == ("renew", 3)), "{batches:?}");
            assert!((29..=34).contains(&batches.len()), "every ten seconds: {}", batches.len());
            assert!(set.is_valid());
            set.release().await.unwrap();
        }
    });
}

#[test]
fn renewals_together_count_for_each() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let holder = locks.send(Acquire::new("b")).await.unwrap().unwrap();
        let asked = AcquireAll::new(["a", "b"]).max_renewals(3).wait(secs(60));
        let (start, waiting) = (Instant::now(), actix_rt::spawn(locks.send(asked)));
        sleep(secs(15)).await;
        drop(holder);
        let set = waiting.await.unwrap().unwrap().unwrap();
        let lost = set.lost().await;
        assert_eq!((lost.resource.to_string(), lost.reason), ("a".to_owned(), LossReason::MaxRenewals));
        assert!(
            start.elapsed() < secs(60),
            "one was renewed while the other was waited for: {:?}",
            start.elapsed()
        );
        assert!(set.leases()[1].is_valid());
    });
}

#[test]
fn a_missed_renewal_of_one_is_made_up_for() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let events = Listener::default();
        let set =
            granted(&locks, AcquireAll::new(["a", "b"]).events(events.clone().start().recipient())).await;
        world.store.fail_next(2);
        sleep(secs(300)).await;
        assert!(events.has_heard(LeaseChange::AtRisk) && set.is_valid());
        assert_eq!(locks.send(Stats).await.unwrap().missed_renewals, 2);
    });
}

#[test]
fn the_end_of_the_wait_stands_while_the_store_does_not_answer() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.stall_next(1, secs(20));
        let start = Instant::now();
        let error = refused(&locks, AcquireAll::new(["a", "b"]).wait(secs(2))).await;
        assert_eq!((error.kind(), start.elapsed()), ("timed_out", secs(2)), "{error:?}");
        sleep(secs(20)).await;
        assert_eq!(world.left().await, 0, "what was granted later is released");
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.pending, stats.failed["timed_out"]), (0, 2));
    });
}

#[test]
fn who_gives_up_leaves_nothing_behind() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.stall_next(1, secs(1));
        let tried = timeout(millis(500), locks.send(AcquireAll::new(["a", "b"]))).await;
        assert!(tried.is_err(), "its answer was on its way");
        sleep(secs(1)).await;
        assert_eq!(world.left().await, 0);
        let holder = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let tried = timeout(secs(5), locks.send(AcquireAll::new(["a", "r"]).wait(secs(60)))).await;
        assert!(tried.is_err(), "it was waiting");
        assert_eq!(world.left().await, 1, "only the holder");
        drop(holder);
        assert_eq!(world.left().await, 0);
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.cancelled, stats.held, stats.pending), (3, 0, 0));
    });
}

#[test]
fn an_unknown_outcome_gives_every_token_back() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.lose_next_replies(1);
        let error = refused(&locks, AcquireAll::new(["a", "b"])).await;
        assert_eq!(error.kind(), "reply_lost");
        assert_eq!(world.left().await, 0);
        world.store.lose_next_replies(1);
        let set = granted(&locks, AcquireAll::new(["a", "b"]).wait(secs(10))).await;
        sleep(secs(60)).await;
        assert!(set.is_valid(), "giving the lost tokens back harms no other");
        set.release().await.unwrap();
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn validity_counts_from_before_the_question() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.stall_next(1, secs(4));
        let set = granted(&locks, AcquireAll::new(["a", "b"]).ttl(secs(10)).no_renew()).await;
        assert!(set.remaining() <= secs(6), "{:?}", set.remaining());
        drop(set);
        sleep(millis(1)).await;
        world.store.stall_next(1, secs(11));
        let error = refused(&locks, AcquireAll::new(["a", "b"]).ttl(secs(10))).await;
        assert_eq!(error.kind(), "too_late");
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn what_is_lost_while_the_rest_is_waited_for_is_taken_again() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let holder = locks.send(Acquire::new("b")).await.unwrap().unwrap();
        let waiting = actix_rt::spawn(locks.send(AcquireAll::new(["a", "b"]).wait(secs(60))));
        sleep(secs(1)).await;
        locks.send(Revoke::at_once("a")).await.unwrap().unwrap();
        sleep(secs(20)).await;
        assert!(!is_free(&locks, "a").await, "it was taken again");
        drop(holder);
        let set = waiting.await.unwrap().unwrap().unwrap();
        assert!(set.is_valid());
    });
}

#[test]
fn a_worker_need_not_report_in_before_it_has_the_set() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let holder = locks.send(Acquire::new("b")).await.unwrap().unwrap();
        let asked = AcquireAll::new(["a", "b"]).ttl(secs(6)).heartbeat(secs(3)).wait(secs(60));
        let events = Listener::default();
        let waiting = actix_rt::spawn(locks.send(asked.events(events.clone().start().recipient())));
        sleep(secs(30)).await;
        drop(holder);
        let set = waiting.await.unwrap().unwrap().unwrap();
        assert!(!events.has_heard(LeaseChange::Lost(LossReason::HeartbeatMissed)));
        for _ in 0..10 {
            sleep(secs(2)).await;
            set.heartbeat();
        }
        assert!(set.is_valid());
        assert_eq!(set.lost().await.reason, LossReason::HeartbeatMissed, "the worker is silent");
    });
}

#[test]
fn a_manager_that_shuts_down_takes_no_set() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let holder = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let waiting = actix_rt::spawn(locks.send(AcquireAll::new(["a", "r"]).wait(secs(60))));
        sleep(secs(1)).await;
        world.store.stall_next(1, secs(1));
        let trying = actix_rt::spawn(locks.send(AcquireAll::new(["b", "c"])));
        sleep(millis(1)).await;
        let drained = actix_rt::spawn(locks.send(Shutdown { drain: secs(10) }));
        for pending in [waiting, trying] {
            let error = pending.await.unwrap().unwrap().unwrap_err();
            assert!(matches!(error, AcquireError::ShuttingDown), "{error:?}");
        }
        assert!(matches!(refused(&locks, AcquireAll::new(["d"])).await, AcquireError::ShuttingDown));
        sleep(secs(1)).await;
        assert_eq!(world.left().await, 1, "only the holder");
        drop(holder);
        assert_eq!(drained.await.unwrap().unwrap().revoked, 0);
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn a_manager_that_is_restarted_answers_and_releases() {
    in_virtual_time(|| async {
        let world = World::new();
        let panics = AtomicBool::new(true);
        let once = move |draw| draw == Draw::Attempt && panics.swap(false, Ordering::Relaxed);
        let locks = world.manager_with(Loaded::new(once));
        let held = granted(&locks, AcquireAll::new(["x", "y"])).await;
        world.store.stall_next(1, secs(1));
        let trying = actix_rt::spawn(locks.send(AcquireAll::new(["a", "b"])));
        sleep(millis(1)).await;
        // Refused, which draws a random number.
        locks.send(Acquire::new("x")).await.unwrap().unwrap_err();
        let error = trying.await.unwrap().unwrap().unwrap_err();
        assert!(matches!(error, AcquireError::Restarted), "{error:?}");
        sleep(secs(60)).await;
        assert!(held.is_valid());
        assert_eq!(world.left().await, 2, "only what is held");
    });
}

/// A clock that panics once, or jumps, when it is told to.
#[derive(Debug)]
struct OddClock {
    inner: RuntimeClock,
    panics: AtomicBool,
    ahead: AtomicU64,
}

impl OddClock {
    fn start() -> Arc<Self> {
        let (panics, ahead) = (AtomicBool::new(false), AtomicU64::new(0));
        Arc::new(Self { inner: RuntimeClock::start(), panics, ahead })
    }
}

impl Clock for OddClock {
    fn now(&self) -> Moment {
        assert!(!self.panics.swap(false, Ordering::Relaxed), "the clock was told to panic");
        self.inner.now() + secs(self.ahead.load(Ordering::Relaxed))
    }
}

#[test]
fn work_does_not_go_on_after_the_machine_was_suspended() {
    in_virtual_time(|| async {
        let (world, clock) = (World::new(), OddClock::start());
        let locks = world.builder().clock(clock.clone()).start_here().unwrap();
        let set = granted(&locks, AcquireAll::new(["a", "b"])).await;
        let work = async {
            clock.ahead.store(3600, Ordering::Relaxed);
            tokio::task::yield_now().await;
        };
        assert_eq!(set.run(work).await.unwrap_err().reason, LossReason::Expired);
    });
}

#[test]
fn a_manager_that_panics_over_an_answer_forgets_no_token() {
    in_virtual_time(|| async {
        let world = World::new();
        let clock = OddClock::start();
        let locks = world.builder().clock(clock.clone()).start_here().unwrap();
        world.store.stall_next(1, millis(500));
        let trying = actix_rt::spawn(locks.send(AcquireAll::new(["a", "b"])));
        sleep(millis(1)).await;
        clock.panics.store(true, Ordering::Relaxed);
        assert!(trying.await.unwrap().is_err(), "the caller is told that it gets no answer");
        sleep(secs(1)).await;
        assert_eq!(world.left().await, 0);
        assert_eq!(locks.send(Stats).await.unwrap().manager_restarts, 1);
    });
}

#[test]
fn pending_sets_are_bounded() {
    in_virtual_time(|| async {
        let world = World::new();
        let mut settings = Settings::default();
        settings.limits.max_pending = 2;
        let locks = world.builder().settings(settings).start_here().unwrap();
        world.store.stall_next(3, secs(1));
        let pending = ["a", "b"].map(|name| actix_rt::spawn(locks.send(AcquireAll::new([name]))));
        sleep(millis(1)).await;
        assert!(matches!(refused(&locks, AcquireAll::new(["c"])).await, AcquireError::Busy { pending: 2 }));
        for pending in pending {
            pending.await.unwrap().unwrap().unwrap().release().await.unwrap();
        }
    });
}
