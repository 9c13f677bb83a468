//! More work than the store can do: what is over is not sent, and what is on its way is bounded.

use std::{
    any::Any,
    cell::Cell,
    collections::BTreeMap,
    rc::Rc,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use actix::Addr;
use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use leasehold::{
    Acquire, AcquireAll, AcquireError, Inspect, InspectError, List, LockManager, MemoryStore, Ready, Revoke,
    Settings, Stats, StoreError,
};
use leasehold_testing::decorated::{Decorated, Hooks, Verb};
use tokio::time::{Instant, sleep, timeout};

use support::virtual_time::{World, in_virtual_time, millis, secs};

/// The largest number of operations of one kind in flight.
const MOST_IN_FLIGHT: usize = 1_024;

/// A store in memory that takes its time, and counts what it is asked.
type SlowStore = Decorated<MemoryStore, Arc<Slow>>;

#[derive(Debug, Default)]
struct Slow {
    /// The milliseconds that pass before anything but a renewal is executed.
    takes: AtomicU64,
    seen: Mutex<BTreeMap<&'static str, Seen>>,
}

/// The operations of one verb that reached a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    asked: usize,
    in_flight: usize,
    most: usize,
}

impl Slow {
    fn take(&self, takes: Duration) {
        self.takes.store(u64::try_from(takes.as_millis()).unwrap(), Ordering::Relaxed);
    }

    fn seen(&self, verb: &str) -> Seen {
        self.seen.lock().unwrap().get(verb).copied().unwrap_or_default()
    }

    fn note(&self, verb: &'static str, change: impl FnOnce(&mut Seen)) {
        change(self.seen.lock().unwrap().entry(verb).or_default());
    }
}

/// The name of a verb that takes time, and how many were sent together.
fn counted(verb: Verb<'_>) -> Option<(&'static str, usize)> {
    match verb {
        Verb::Acquire(asked) => Some(("acquire", asked.len())),
        Verb::Release(releases) => Some(("release", releases.len())),
        Verb::Inspect(_) => Some(("inspect", 1)),
        Verb::List(_) => Some(("list", 1)),
        Verb::ForceRelease(_) => Some(("force_release", 1)),
        _ => None,
    }
}

impl Hooks for Slow {
    fn before<'a>(&'a self, verb: Verb<'a>) -> BoxFuture<'a, Result<(), StoreError>> {
        let Some((name, count)) = counted(verb) else { return async { Ok(()) }.boxed() };
        let takes = Duration::from_millis(self.takes.load(Ordering::Relaxed));
        self.note(name, |seen| {
            seen.asked += count;
            seen.in_flight += count;
            seen.most = seen.most.max(seen.in_flight);
        });
        async move {
            if !takes.is_zero() {
                sleep(takes).await;
            }
            Ok(())
        }
        .boxed()
    }

    fn after<'a>(&'a self, verb: Verb<'a>, _: &mut dyn Any) -> BoxFuture<'a, ()> {
        if let Some((name, count)) = counted(verb) {
            self.note(name, |seen| seen.in_flight -= count);
        }
        async {}.boxed()
    }
}

/// A store that is still fast, and a manager on it that admits so many requests.
fn slow(max_pending: usize) -> (SlowStore, Addr<LockManager>) {
    let world = World::new();
    let store = SlowStore::new(world.store.clone(), Arc::default());
    let mut settings = Settings::default();
    settings.limits.max_pending = max_pending;
    let locks = world.builder_on(Arc::new(store.clone())).settings(settings).start_here().unwrap();
    (store, locks)
}

/// Requests that make no cohort, all at once. Returns their errors.
async fn crowd(locks: &Addr<LockManager>, size: usize, wait: Duration) -> Vec<AcquireError> {
    let request = |number| Acquire::new("held").owner(format!("owner {number}")).wait(wait);
    let answers = join_all((0..size).map(|number| locks.send(request(number)))).await;
    answers.into_iter().map(|answer| answer.unwrap().unwrap_err()).collect()
}

#[test]
fn a_request_that_is_over_before_it_was_sent_never_reaches_the_store() {
    in_virtual_time(|| async {
        let (store, locks) = slow(100_000);
        let _held = locks.send(Acquire::new("held")).await.unwrap().unwrap();
        let before = store.seen("acquire").asked;
        store.take(millis(400));
        let errors = crowd(&locks, 5_000, millis(20)).await;
        let sent = store.seen("acquire").asked - before;
        assert!((1..=MOST_IN_FLIGHT).contains(&sent), "{sent}");
        let unsent = errors
            .iter()
            .filter(|error| matches!(error, AcquireError::Store(StoreError::Unavailable { .. })));
        assert_eq!(unsent.count(), 5_000 - sent, "it is certain of those that nothing was executed");
        sleep(secs(60)).await;
        assert_eq!(store.seen("acquire").asked - before, sent, "sent after they were over");
        // What has reached it leaves its queue again, and nothing else does.
        assert_eq!(store.seen("release").asked, sent);
        assert_eq!(locks.send(Inspect::new("held")).await.unwrap().unwrap().waiting, 0);
    });
}

#[test]
fn a_try_whose_caller_has_gone_before_it_was_sent_never_reaches_the_store() {
    in_virtual_time(|| async {
        let (store, locks) = slow(100_000);
        let _held = locks.send(Acquire::new("held")).await.unwrap().unwrap();
        let before = store.seen("acquire").asked;
        store.take(secs(2));
        let tries = (0..5_000).map(|_| locks.send(Acquire::new("held").permits(1, 3)));
        assert!(timeout(millis(500), join_all(tries)).await.is_err());
        sleep(secs(60)).await;
        let sent = store.seen("acquire").asked - before;
        assert!((1..=MOST_IN_FLIGHT).contains(&sent), "{sent}");
    });
}

#[test]
fn what_is_on_the_wire_is_bounded_while_the_store_stalls() {
    in_virtual_time(|| async {
        let (store, locks) = slow(100_000);
        let leases = (0..10_000).map(|number| locks.send(Acquire::new(format!("own/{number}"))));
        let leases: Vec<_> =
            join_all(leases).await.into_iter().map(|lease| lease.unwrap().unwrap()).collect();
        let _held = locks.send(Acquire::new("held")).await.unwrap().unwrap();
        store.take(secs(3));
        drop(leases);
        crowd(&locks, 10_000, secs(30)).await;
        for verb in ["acquire", "release"] {
            let Seen { most, .. } = store.seen(verb);
            assert!(most <= MOST_IN_FLIGHT, "{most} of {verb}");
        }
        store.take(Duration::ZERO);
        sleep(secs(60)).await;
        let left = locks.send(List::new("").limit(10)).await.unwrap().unwrap();
        assert_eq!(left.resources.len(), 1, "all have been released");
    });
}

#[test]
fn an_attempt_that_takes_up_a_hand_over_is_not_behind_all_others() {
    in_virtual_time(|| async {
        let (store, locks) = slow(100_000);
        let owned = |owner| Acquire::new("wanted").owner(owner).wait(secs(60));
        let wanted = locks.send(owned("holder")).await.unwrap().unwrap();
        let waiter = actix::spawn(locks.send(owned("waiter")));
        let _held = locks.send(Acquire::new("held")).await.unwrap().unwrap();
        store.take(millis(300));
        let crowd = actix::spawn({
            let locks = locks.clone();
            async move { crowd(&locks, 10_000, secs(30)).await }
        });
        sleep(millis(20)).await;
        let released = Instant::now();
        wanted.release().await.unwrap();
        let _lease = waiter.await.unwrap().unwrap().unwrap();
        // The release, and the attempt; all others take more than ten seconds.
        assert!(released.elapsed() < secs(1), "{:?}", released.elapsed());
        assert_eq!(crowd.await.unwrap().len(), 10_000);
    });
}

#[test]
fn what_is_over_and_unanswered_counts_as_pending() {
    in_virtual_time(|| async {
        let (store, locks) = slow(100);
        let held = locks.send(Acquire::new("held")).await.unwrap().unwrap();
        store.take(secs(10));
        crowd(&locks, 100, millis(500)).await;
        let error = locks.send(Acquire::new("other")).await.unwrap().unwrap_err();
        assert!(matches!(error, AcquireError::Busy { pending: 100 }), "{error}");
        assert!(locks.send(Ready).await.unwrap().is_err());
        let error = locks.send(AcquireAll::new(["one", "two"])).await.unwrap().unwrap_err();
        assert!(matches!(error, AcquireError::Busy { pending: 100 }), "{error}");
        store.take(Duration::ZERO);
        // Answered now, they leave the queue, and that is answered at once.
        sleep(secs(10)).await;
        assert!(locks.send(Acquire::new("other")).await.unwrap().is_ok());
        assert!(held.is_valid());
    });
}

#[test]
fn a_request_for_several_resources_that_is_over_before_it_was_sent_never_reaches_the_store() {
    in_virtual_time(|| async {
        let (store, locks) = slow(100_000);
        store.take(secs(1));
        let set =
            |number| AcquireAll::new([format!("{number}/one"), format!("{number}/two")]).wait(millis(500));
        let answers = join_all((0..1_000).map(|number| locks.send(set(number)))).await;
        assert!(answers.into_iter().all(|answer| answer.unwrap().is_err()));
        sleep(secs(60)).await;
        let Seen { asked, most, .. } = store.seen("acquire");
        assert!(asked <= 64 && most <= 32, "{asked} asked, {most} at a time");
    });
}

#[test]
fn questions_go_to_the_store_a_bounded_number_at_a_time_and_none_whose_caller_has_gone() {
    in_virtual_time(|| async {
        let (store, locks) = slow(1_000);
        store.take(secs(1));
        let impatient = join_all((0..900).map(|_| locks.send(Inspect::new("r"))));
        assert!(timeout(millis(2_500), impatient).await.is_err());
        sleep(secs(60)).await;
        assert_eq!(store.seen("inspect"), Seen { asked: 96, in_flight: 0, most: 32 });
        let answers = join_all((0..1_001).map(|_| locks.send(Inspect::new("r")))).await;
        let busy: Vec<_> = answers.into_iter().filter_map(|answer| answer.unwrap().err()).collect();
        assert!(matches!(busy[..], [InspectError::Busy { pending: 1_000 }]), "{busy:?}");
        join_all((0..40).map(|_| locks.send(List::new("")))).await;
        assert_eq!(store.seen("list"), Seen { asked: 40, in_flight: 0, most: 4 });
        // A change is made also if nobody waits for its answer.
        (0..100).for_each(|_| locks.do_send(Revoke::at_once("r")));
        sleep(secs(60)).await;
        assert_eq!(store.seen("force_release"), Seen { asked: 100, in_flight: 0, most: 32 });
    });
}

#[test]
fn a_flood_of_messages_leaves_turns_to_all_else_on_its_thread() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let _held = locks.send(Acquire::new("held")).await.unwrap().unwrap();
        let turns = Rc::new(Cell::new(0));
        let counted = Rc::clone(&turns);
        actix::spawn(async move {
            loop {
                counted.set(counted.get() + 1);
                tokio::task::yield_now().await;
            }
        });
        for _ in 0..5_000 {
            locks.do_send(Acquire::new("held"));
        }
        let before = turns.get();
        locks.send(Stats).await.unwrap();
        let turns = turns.get() - before;
        assert!(turns >= 15, "{turns} turns while 5,000 messages were handled");
    });
}
