//! Work that blocks a thread: its lease is renewed, a loss is told, and nothing stays held. With real threads.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
        mpsc::{Receiver, channel},
    },
    thread,
};

use actix::{Actor, Addr, Handler, Message, SyncArbiter, SyncContext};
use futures_util::FutureExt;
use leasehold::{
    Acquire, AcquireError, BlockingLocks, LeaseLostError, LockManager, LossReason, MemoryStore, ReleaseError,
    Released, Revoke, Shutdown, Stats, WithLock, WithLockError,
};
use leasehold_testing::{
    servers::RedisServer,
    waiting::{PATIENCE, eventually},
};
use support::{
    patient,
    virtual_time::{millis, secs},
};
use tokio::task::spawn_blocking;

use super::{in_memory, watched};

/// Two managers of one store, each in an arbiter of its own.
fn managers() -> (Addr<LockManager>, Addr<LockManager>) {
    let store = MemoryStore::default();
    let start = || LockManager::builder(Arc::new(store.clone())).start().unwrap();
    (start(), start())
}

fn wait_for<T>(told: &Receiver<T>) -> T {
    told.recv_timeout(PATIENCE).unwrap()
}

#[actix::test]
async fn blocking_work_runs_beside_its_arbiter_and_its_lease_is_renewed() {
    let (locks, others) = managers();
    let (go_on, told) = channel();
    let ask = Acquire::new("r").ttl(secs(60)).renew_every(millis(500));
    let work = locks.with_lock_blocking(ask, move |lease| {
        wait_for(&told);
        (lease.is_valid(), lease.remaining() > millis(0), lease.check().is_ok(), lease.fence().is_some())
    });
    let renewed = async {
        // By this arbiter, which the work does not block.
        eventually("two renewals", async || locks.send(Stats).await.unwrap().renewals >= 2).await;
        assert!(matches!(others.send(Acquire::new("r")).await.unwrap(), Err(AcquireError::Held { .. })));
        go_on.send(()).unwrap();
    };
    let (done, ()) = tokio::join!(work, renewed);
    let done = done.unwrap();
    assert_eq!(done.value, (true, true, true, true));
    assert_eq!(done.release.unwrap(), Released::Freed);
    others.send(Acquire::new("r")).await.unwrap().unwrap().release().await.unwrap();
}

#[actix::test]
async fn work_that_goes_on_after_a_loss_learns_of_it_by_a_check_and_the_result_tells_it() {
    let (locks, operator) = managers();
    let (held, is_held) = tokio::sync::oneshot::channel();
    let work = locks.with_lock_blocking(Acquire::new("r"), move |lease| {
        held.send(()).unwrap();
        let lost = loop {
            if let Err(lost) = lease.check() {
                break lost;
            }
            thread::yield_now();
        };
        assert!(!lease.is_valid() && lease.remaining().is_zero());
        (lost, "what was done all the same")
    });
    let taken = async {
        is_held.await.unwrap();
        operator.send(Revoke::at_once("r")).await.unwrap().unwrap().taken
    };
    let (done, taken) = tokio::join!(work, taken);
    let done = done.unwrap();
    assert_eq!(
        (done.value.0.reason, done.value.1, taken),
        (LossReason::Forced, "what was done all the same", 1)
    );
    let told = done.release.unwrap_err();
    assert!(matches!(told, ReleaseError::Lost { reason: LossReason::Forced }), "{told}");
}

#[actix::test]
async fn blocking_work_learns_of_a_loss_while_its_server_stands_still() {
    let server = RedisServer::start();
    let locks = LockManager::builder(Arc::new(patient::open(&server.url()))).start().unwrap();
    let (held, is_held) = channel();
    let work = locks.with_lock_blocking(Acquire::new("r").ttl(secs(3)), move |lease| {
        held.send(()).unwrap();
        while lease.is_valid() {
            thread::yield_now();
        }
        lease.check()
    });
    // On a thread of its own: this one waits for the work.
    let stands_still = thread::spawn(move || {
        wait_for(&is_held);
        server.pause();
        server
    });
    let done = work.await.unwrap();
    let LeaseLostError { reason, .. } = done.value.unwrap_err();
    assert_ne!(reason, LossReason::Released);
    assert!(matches!(done.release, Err(ReleaseError::Lost { reason: told }) if told == reason));
    let server = stands_still.join().unwrap();
    server.resume();
    locks.send(Acquire::new("r").wait(PATIENCE)).await.unwrap().unwrap().release().await.unwrap();
}

#[actix::test]
async fn a_panic_of_blocking_work_goes_on_in_the_caller_and_releases_the_lease() {
    let (locks, others) = managers();
    let work =
        locks.with_lock_blocking(Acquire::new("r"), |_| -> () { panic!("the work was told to panic") });
    let panic = AssertUnwindSafe(work).catch_unwind().await.unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the work was told to panic"));
    others.send(Acquire::new("r").wait(PATIENCE)).await.unwrap().unwrap().release().await.unwrap();

    let blocking = BlockingLocks::from(locks);
    let panics = move || blocking.with_lock(Acquire::new("r"), |_| -> () { panic!("so was this") }).is_ok();
    assert!(thread::spawn(panics).join().is_err());
    others.send(Acquire::new("r").wait(PATIENCE)).await.unwrap().unwrap().release().await.unwrap();
}

#[actix::test]
async fn blocking_work_without_a_lock_is_not_started() {
    let (locks, others) = managers();
    let _lease = others.send(Acquire::new("r")).await.unwrap().unwrap();
    let never = |_: &leasehold::Lease| panic!("it was started");
    let held = locks.with_lock_blocking(Acquire::new("r"), never).await.map(|_| ()).unwrap_err();
    assert!(matches!(held, WithLockError::NotAcquired(AcquireError::Held { .. })), "{held}");
    let there = locks.clone();
    let outside = move || {
        there.with_lock_blocking(Acquire::new("s"), never).now_or_never().map(|done| done.map(|_| ()))
    };
    let told = thread::spawn(outside).join().unwrap().expect("an answer at once").unwrap_err();
    assert!(matches!(told, WithLockError::NoRuntime), "{told}");
    locks.send(Shutdown { drain: millis(0) }).await.unwrap();
    let gone = locks.with_lock_blocking(Acquire::new("s"), never).await.map(|_| ()).unwrap_err();
    assert!(matches!(gone, WithLockError::ManagerGone), "{gone}");
}

#[actix::test]
async fn blocking_work_whose_caller_gives_up_goes_on_under_its_lease_until_it_is_done() {
    let (locks, others) = managers();
    let ((held, is_held), (go_on, told), (end, ended)) = (channel(), channel(), channel());
    let mut work = Box::pin(locks.with_lock_blocking(Acquire::new("r"), move |lease| {
        held.send(()).unwrap();
        wait_for(&told);
        end.send(lease.is_valid()).unwrap();
    }));
    eventually("the work runs", async || (&mut work).now_or_never().is_none() && is_held.try_recv().is_ok())
        .await;
    drop(work);
    assert!(matches!(others.send(Acquire::new("r")).await.unwrap(), Err(AcquireError::Held { .. })));
    go_on.send(()).unwrap();
    assert!(wait_for(&ended), "under its lease");
    others.send(Acquire::new("r").wait(PATIENCE)).await.unwrap().unwrap().release().await.unwrap();
}

#[test]
fn blocking_work_whose_caller_gives_up_before_a_thread_is_free_is_never_started() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    let manager = in_memory(&MemoryStore::default());
    let locks = manager.locks();
    runtime.block_on(async {
        let (go_on, told) = channel();
        let busy = spawn_blocking(move || wait_for(&told));
        let started = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&started);
        let never = locks.with_lock_blocking(Acquire::new("r"), move |_| seen.fetch_add(1, Ordering::SeqCst));
        let mut never = Box::pin(never);
        eventually("it has its lease", async || {
            assert!((&mut never).now_or_never().is_none());
            matches!(locks.send(Acquire::new("r")).await.unwrap(), Err(AcquireError::Held { .. }))
        })
        .await;
        // The grant has to arrive here, so that the work stands in the queue for a thread.
        locks.send(Stats).await.unwrap();
        assert!((&mut never).now_or_never().is_none());
        drop(never);
        // Nobody keeps it for work that stands in a queue.
        locks.send(Acquire::new("r").wait(PATIENCE)).await.unwrap().unwrap().release().await.unwrap();
        go_on.send(()).unwrap();
        busy.await.unwrap();
        // The only thread takes its work in turn: it has come past that of the caller that gave up.
        spawn_blocking(|| ()).await.unwrap();
        assert_eq!(started.load(Ordering::SeqCst), 0);
    });
}

/// What one after the other does, on whatever kind of thread.
#[derive(Clone, Default)]
struct Counted {
    inside: Arc<AtomicU32>,
    done: Arc<AtomicU32>,
}

impl Counted {
    fn count(&self, locks: &BlockingLocks) {
        let done = locks.with_lock(Acquire::new("counter").wait(PATIENCE), |lease| {
            assert_eq!(self.inside.fetch_add(1, Ordering::SeqCst), 0, "alone");
            thread::yield_now();
            self.inside.fetch_sub(1, Ordering::SeqCst);
            lease.check()
        });
        let done = done.unwrap();
        done.value.unwrap();
        done.release.unwrap();
        self.done.fetch_add(1, Ordering::SeqCst);
    }
}

/// A worker whose handlers block its thread.
struct Worker(BlockingLocks, Counted);

impl Actor for Worker {
    type Context = SyncContext<Self>;
}

#[derive(Message)]
#[rtype(result = "()")]
struct Count;

impl Handler<Count> for Worker {
    type Result = ();

    fn handle(&mut self, _: Count, _: &mut Self::Context) {
        self.1.count(&self.0);
    }
}

#[actix::test]
async fn actors_of_a_sync_arbiter_blocking_closures_and_plain_threads_exclude_each_other() {
    let server = RedisServer::start();
    let locks = LockManager::builder(Arc::new(patient::open(&server.url()))).start().unwrap();
    let (locks, counted) = (BlockingLocks::from(locks), Counted::default());
    let (for_workers, for_them) = (locks.clone(), counted.clone());
    let workers = SyncArbiter::start(3, move || Worker(for_workers.clone(), for_them.clone()));
    let count = || {
        let (locks, counted) = (locks.clone(), counted.clone());
        move || counted.count(&locks)
    };
    let threads: Vec<_> = (0..10).map(|_| thread::spawn(count())).collect();
    let closures: Vec<_> = (0..10).map(|_| actix_web::web::block(count())).collect();
    let handled: Vec<_> = (0..10).map(|_| workers.send(Count)).collect();
    for handled in handled {
        handled.await.unwrap();
    }
    for closure in closures {
        closure.await.unwrap();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(counted.done.load(Ordering::SeqCst), 30);
}

#[test]
fn a_thread_without_a_runtime_acquires_and_releases() {
    let (thread, thread_ended) = watched(&MemoryStore::default());
    let locks = BlockingLocks::from(thread);
    let lease = locks.acquire(Acquire::new("r")).unwrap();
    let there = locks.clone();
    let held = thread::spawn(move || there.acquire(Acquire::new("r"))).join().unwrap().unwrap_err();
    assert!(matches!(held, WithLockError::NotAcquired(AcquireError::Held { .. })), "{held}");
    assert_eq!(locks.release(lease).unwrap(), Released::Freed);
    drop(locks.acquire(Acquire::new("r")).unwrap());
    let lease = locks.acquire(Acquire::new("r").wait(PATIENCE)).unwrap();
    assert!(thread_ended.try_recv().is_err());
    drop(locks);
    assert!(!lease.is_valid(), "the manager was shut down with the last handle");
    wait_for(&thread_ended);
}

#[test]
fn a_blocking_call_in_async_code_panics_before_anything_is_asked_for() {
    let (thread, _) = watched(&MemoryStore::default());
    let locks = BlockingLocks::from(thread);
    let there = locks.clone();
    let in_async_code = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { there.acquire(Acquire::new("r")).map(drop) })
    };
    let panic = thread::spawn(in_async_code).join().unwrap_err();
    let said = panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.into()));
    assert!(said.is_some_and(|said| said.contains("Cannot block the current thread from within a runtime")));
    drop(locks.acquire(Acquire::new("r")).unwrap());
}
