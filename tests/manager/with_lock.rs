//! Work under a lock in one statement: done, not begun, or stopped on its way. On the memory store, in virtual time.

use std::{
    cell::Cell,
    future::{Future, pending, ready},
    panic::AssertUnwindSafe,
    rc::Rc,
    time::Duration,
};

use actix::Addr;
use futures_util::FutureExt;
use leasehold::{
    Acquire, AcquireError, LockManager, LossReason, ReadLock, ReleaseError, Released, Revoke, Shutdown,
    Stats, StoreError, WithLock, WithLockError,
};
use tokio::time::{Instant, sleep, timeout};

use support::virtual_time::{World, in_virtual_time, millis, secs};

/// Returns true if the resource is free, when everything that is on its way has arrived.
async fn is_free(locks: &Addr<LockManager>) -> bool {
    sleep(millis(1)).await;
    locks.send(Acquire::new("r")).await.unwrap().is_ok()
}

/// Sets a flag when it is dropped.
struct Dropped(Rc<Cell<bool>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

#[test]
fn the_work_runs_while_the_lease_is_held_and_its_value_comes_with_the_release() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, others) = (world.manager(), world.manager());
        let done = locks.with_lock(Acquire::new("r"), async |lease| {
            assert!(lease.is_valid());
            assert!(!is_free(&others).await);
            lease.fence()
        });
        let done = done.await.unwrap();
        assert!(done.value.is_some());
        assert_eq!(done.release.unwrap(), Released::Freed);
        assert!(is_free(&others).await);
    });
}

#[test]
fn readers_and_permits_are_taken_in_the_same_way() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let done = locks.with_lock(ReadLock::new("r"), async |_| {
            let read = locks.with_lock(ReadLock::new("r"), async |lease| lease.mode().to_string());
            let permit =
                locks.with_lock(Acquire::new("p").permits(1, 2), async |lease| lease.mode().to_string());
            (read.await.unwrap().value, permit.await.unwrap().value)
        });
        assert_eq!(done.await.unwrap().value, ("shared".to_owned(), "1 of 2 permits".to_owned()));
    });
}

#[test]
fn work_without_a_lock_is_not_started() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let _lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let started = Cell::new(false);
        let refused = locks.with_lock(Acquire::new("r"), async |_| started.set(true)).await.unwrap_err();
        assert!(matches!(refused, WithLockError::NotAcquired(AcquireError::Held { .. })), "{refused}");
        assert_eq!((refused.kind(), started.get()), ("held", false));
    });
}

#[test]
fn a_lost_lease_stops_the_work() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, others) = (world.manager(), world.manager());
        let (dropped, start) = (Rc::new(Cell::new(false)), Instant::now());
        let ask = Acquire::new("r").ttl(secs(10)).no_renew();
        let work = locks.with_lock(ask, async |_| {
            let _dropped = Dropped(Rc::clone(&dropped));
            pending::<()>().await;
        });
        let error = work.await.unwrap_err();
        let WithLockError::Lost(lost) = &error else { panic!("{error}") };
        assert_eq!((lost.reason, lost.resource.as_bytes()), (LossReason::Expired, &b"r"[..]));
        assert!(start.elapsed() < secs(10), "before anybody else could have it");
        assert!(dropped.get(), "the work is not running any more");
        assert!(error.to_string().ends_with("; the work was stopped, and its outcome is unknown"), "{error}");
        assert_eq!(error.kind(), "lost");
        assert!(is_free(&others).await, "what is left of it was released");
    });
}

#[test]
fn work_is_done_when_only_the_release_fails() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let done = locks.with_lock(Acquire::new("r"), async |_| {
            world.store.fail_next(1);
            "the value"
        });
        let done = done.await.unwrap();
        assert_eq!(done.value, "the value");
        let error = done.release.unwrap_err();
        assert!(matches!(error, ReleaseError::Store(StoreError::Unavailable { .. })), "{error}");
        sleep(secs(1)).await;
        assert!(is_free(&locks).await, "the library has repeated the release");
    });
}

#[test]
fn a_loss_that_nobody_noticed_in_time_is_told_with_the_value() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, operator) = (world.manager(), world.manager());
        let done = locks.with_lock(Acquire::new("r"), async |lease| {
            world.store.lose_notifications(true);
            assert_eq!(operator.send(Revoke::at_once("r")).await.unwrap().unwrap().taken, 1);
            assert!(lease.is_valid(), "it would learn of it at its next renewal");
            42
        });
        let done = done.await.unwrap();
        let error = done.release.unwrap_err();
        assert!(matches!(error, ReleaseError::Lost { reason: LossReason::NotHeld }), "{error}");
        assert_eq!(done.value, 42);
    });
}

#[test]
fn work_that_panics_releases_the_lease() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, others) = (world.manager(), world.manager());
        let work =
            locks.with_lock(Acquire::new("r"), async |_| -> () { panic!("the work was told to panic") });
        assert!(AssertUnwindSafe(work).catch_unwind().await.is_err());
        assert!(is_free(&others).await);
    });
}

#[test]
fn a_caller_that_gives_up_drops_the_work_and_releases_the_lease() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, others) = (world.manager(), world.manager());
        let dropped = Rc::new(Cell::new(false));
        let work = locks.with_lock(Acquire::new("r"), async |_| {
            let _dropped = Dropped(Rc::clone(&dropped));
            pending::<()>().await;
        });
        assert!(timeout(secs(1), work).await.is_err());
        assert!(dropped.get());
        assert!(is_free(&others).await);
    });
}

#[test]
fn outside_of_a_runtime_nothing_is_asked_for() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let there = locks.clone();
        let outside = move || there.with_lock(Acquire::new("r"), async |_| ()).now_or_never();
        let told = std::thread::spawn(outside).join().unwrap().expect("an answer at once").unwrap_err();
        assert!(matches!(told, WithLockError::NoRuntime), "{told}");
        assert_eq!(told.kind(), "no_runtime");
        sleep(millis(1)).await;
        assert_eq!(locks.send(Stats).await.unwrap().attempts, 0, "nothing was sent");
    });
}

#[test]
fn a_runtime_without_timers_panics_before_anything_is_asked_for() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let there = locks.clone();
        let outside = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async { there.with_lock(Acquire::new("r"), async |_| ()).now_or_never() })
        };
        assert!(std::thread::spawn(outside).join().is_err(), "tokio says that timers are disabled");
        sleep(millis(1)).await;
        assert_eq!(locks.send(Stats).await.unwrap().attempts, 0, "nothing was sent");
    });
}

#[test]
fn a_manager_that_is_gone_is_told() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
        let gone = locks.with_lock(Acquire::new("r"), async |_| ()).await.unwrap_err();
        assert!(matches!(gone, WithLockError::ManagerGone), "{gone}");
        assert_eq!(gone.kind(), "manager_gone");
    });
}

#[test]
fn the_errors_of_single_steps_become_the_same_error() {
    async fn by_hand(locks: &Addr<LockManager>) -> Result<u32, WithLockError> {
        let lease = locks.send(Acquire::new("r")).await??;
        Ok(lease.run(ready(42)).await?)
    }
    in_virtual_time(|| async {
        assert_eq!(by_hand(&World::new().manager()).await.unwrap(), 42);
    });
}

#[test]
fn work_under_a_lock_can_be_sent_to_another_thread() {
    fn is_send<T: Send>(work: impl Future<Output = T> + Send) -> impl Future<Output = T> {
        work
    }
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let work = is_send(locks.with_lock(Acquire::new("r"), async |_| 42));
        assert_eq!(work.await.unwrap().value, 42);
    });
}
