//! A lock manager in a thread of its own: what works from other runtimes, and how it ends. With real threads.

use std::{
    cell::OnceCell,
    future::pending,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
        mpsc::channel,
    },
    task::{Context, Wake, Waker},
    thread,
    time::Duration,
};

use super::{EndOfThread, in_memory, watched};
use actix::{Addr, MailboxError};
use leasehold::{
    Acquire, AcquireError, BlockingLocks, Config, LockManager, LossReason, ManagerThread, MemoryStore,
    ReleaseError, Shutdown, StartError, Stats, WithLock, WithLockError, start_anywhere,
};
use leasehold_testing::{
    servers::RedisServer,
    waiting::{PATIENCE, eventually},
};
use support::{
    patient,
    virtual_time::{millis, secs},
};

fn on_redis(server: &RedisServer) -> ManagerThread {
    let store = Arc::new(patient::open(&server.url()));
    start_anywhere(move || LockManager::builder(store).start_here()).unwrap()
}

#[test]
fn the_error_without_an_actix_system_names_the_way_to_start_anywhere() {
    let error = LockManager::builder(Arc::new(MemoryStore::default())).start().unwrap_err();
    assert!(matches!(error, StartError::NoSystem) && error.to_string().contains("leasehold::start_anywhere"));
    let error = Config::default().start().unwrap_err();
    assert!(error.to_string().contains("leasehold::start_anywhere"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn work_in_tasks_of_many_threads_runs_one_at_a_time() {
    let server = RedisServer::start();
    let managers = [on_redis(&server), on_redis(&server)];
    let (inside, done) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let task = |locks: Addr<LockManager>| {
        let (inside, done) = (Arc::clone(&inside), Arc::clone(&done));
        tokio::spawn(async move {
            for _ in 0..5 {
                let ask = Acquire::new("counter").wait(PATIENCE);
                let work = locks.with_lock(ask, async |lease| {
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "alone");
                    tokio::task::yield_now().await;
                    assert!(lease.is_valid());
                    inside.fetch_sub(1, Ordering::SeqCst);
                });
                work.await.unwrap().release.unwrap();
                done.fetch_add(1, Ordering::SeqCst);
            }
        })
    };
    let tasks: Vec<_> = (0..16).map(|number| task(managers[number % 2].locks())).collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(done.load(Ordering::SeqCst), 80);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_lost_renewed_and_released_from_any_thread() {
    let manager = in_memory(&MemoryStore::default());
    let locks = manager.locks();
    let brief = locks.send(Acquire::new("brief").ttl(secs(2)).no_renew()).await.unwrap().unwrap();
    let lost = tokio::spawn(async move { brief.lost().await }).await.unwrap();
    assert_eq!(lost, LossReason::Expired, "by a timer of this runtime");
    let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
    let lease = tokio::spawn(async move { lease.renew().await.map(|_| lease) }).await.unwrap().unwrap();
    // Dropped on a thread that is in no runtime.
    thread::spawn(move || drop(lease)).join().unwrap();
    locks.send(Acquire::new("r").wait(PATIENCE)).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_waits_for_holders_and_ends_the_thread() {
    let (manager, thread_ended) = watched(&MemoryStore::default());
    let locks = manager.locks();
    let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
    let shutdown = tokio::spawn(manager.drain(PATIENCE).shutdown());
    eventually("the shutdown has begun", async || {
        matches!(locks.send(Acquire::new("s")).await, Ok(Err(AcquireError::ShuttingDown)))
    })
    .await;
    assert!(lease.is_valid() && !shutdown.is_finished());
    lease.release().await.unwrap();
    let drained = shutdown.await.unwrap().unwrap();
    assert_eq!((drained.finished, drained.revoked), (1, 0));
    thread_ended.recv_timeout(PATIENCE).unwrap();
    let gone = locks.with_lock(Acquire::new("r"), async |_| ()).await.unwrap_err();
    assert!(matches!(gone, WithLockError::ManagerGone), "{gone}");
}

#[tokio::test]
async fn a_dropped_handle_ends_the_thread_and_leaves_nothing_held() {
    let server = RedisServer::start();
    let manager = on_redis(&server);
    let lease = manager.locks().send(Acquire::new("of/the/handle").ttl(secs(60))).await.unwrap().unwrap();
    assert!(server.keys().iter().any(|(key, _)| key.contains("of/the/handle")));
    drop(manager);
    // It is over when the drop returns: nothing is waited for here.
    assert!(!lease.is_valid());
    let keys = server.keys();
    assert!(keys.iter().all(|(key, _)| !key.contains("of/the/handle")), "{keys:?}");

    let (manager, thread_ended) = watched(&MemoryStore::default());
    drop(manager);
    thread_ended.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn a_dropped_handle_gives_holders_the_time_of_its_drain() {
    let (manager, thread_ended) = watched(&MemoryStore::default());
    let locks = manager.locks();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let lease = runtime.block_on(locks.send(Acquire::new("r"))).unwrap().unwrap();
    let finishes = runtime.spawn(async move {
        while !matches!(locks.send(Acquire::new("s")).await.unwrap(), Err(AcquireError::ShuttingDown)) {}
        for _ in 0..200 {
            locks.send(Stats).await.unwrap();
            assert!(lease.is_valid(), "it may finish");
        }
        lease.release().await
    });
    drop(manager.drain(PATIENCE));
    assert!(runtime.block_on(finishes).unwrap().is_ok(), "it was released, and not taken away");
    thread_ended.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn a_dropped_shutdown_is_not_waited_for_and_goes_on() {
    let (manager, thread_ended) = watched(&MemoryStore::default());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let lease = runtime.block_on(manager.locks().send(Acquire::new("r"))).unwrap().unwrap();
    let shutdown = runtime.block_on(async {
        tokio::time::timeout(millis(1), manager.drain(PATIENCE).shutdown()).await.map(|_| ())
    });
    assert!(shutdown.is_err() && lease.is_valid());
    drop(lease);
    thread_ended.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn a_handle_that_is_dropped_on_its_own_thread_ends_it_and_does_not_wait() {
    thread_local!(static END: OnceCell<EndOfThread> = const { OnceCell::new() });
    let ((give, given), (tell, thread_ended)) = (tokio::sync::oneshot::channel::<ManagerThread>(), channel());
    let start = move || {
        END.with(|end| drop(end.set(EndOfThread(tell))));
        actix::spawn(async move { drop(given.await) });
        LockManager::builder(Arc::new(MemoryStore::default())).start_here()
    };
    give.send(start_anywhere(start).unwrap()).unwrap();
    thread_ended.recv_timeout(PATIENCE).unwrap();
}

#[tokio::test]
async fn a_manager_that_was_shut_down_before_is_an_error_of_the_shutdown_and_none_of_the_drop() {
    for by_drop in [true, false] {
        let (manager, thread_ended) = watched(&MemoryStore::default());
        manager.locks().send(Shutdown { drain: Duration::ZERO }).await.unwrap();
        if by_drop {
            drop(manager);
        } else {
            let gone = manager.shutdown().await.unwrap_err();
            assert!(gone.to_string().contains("was gone before its shutdown"), "{gone}");
        }
        thread_ended.recv_timeout(PATIENCE).unwrap();
    }
}

#[test]
fn an_error_of_the_start_is_returned() {
    let refused = start_anywhere(|| Config::from_toml("lease.ttl = '1ms'")?.start_here());
    assert!(refused.unwrap_err().to_string().contains("lease.ttl"));
}

#[test]
fn a_panic_of_the_start_goes_on_in_the_caller() {
    let start = || -> Result<Addr<LockManager>, StartError> { panic!("the start was told to panic") };
    let panic = catch_unwind(AssertUnwindSafe(|| drop(start_anywhere(start)))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the start was told to panic"));
}

/// A waker that panics in the runtime that calls it, where no task catches that.
struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("the thread was told to panic");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_of_the_thread_is_an_error_for_everybody_who_waits_for_its_manager() {
    for by_drop in [true, false] {
        let (panic_now, told) = tokio::sync::oneshot::channel();
        let start = move || {
            actix::spawn(async move {
                told.await.unwrap();
                let mut timer = pin!(tokio::time::sleep(millis(1)));
                assert!(
                    timer
                        .as_mut()
                        .poll(&mut Context::from_waker(&Waker::from(Arc::new(Panics))))
                        .is_pending()
                );
                pending::<()>().await;
            });
            LockManager::builder(Arc::new(MemoryStore::default())).start_here()
        };
        let manager = start_anywhere(start).unwrap();
        let locks = manager.locks();
        let ask = |resource: &str| Acquire::new(resource).wait(PATIENCE).ttl(secs(600));
        let lease = locks.send(ask("r")).await.unwrap().unwrap();
        // Nobody waits for the one that ends soon.
        let brief = locks.send(ask("brief").ttl(secs(3))).await.unwrap().unwrap();
        let waits = tokio::spawn(locks.send(ask("r")));
        let works = tokio::spawn({
            let locks = locks.clone();
            async move { locks.with_lock(ask("r"), async |_| ()).await.map(|_| ()) }
        });
        let blocks = BlockingLocks::from(locks.clone());
        let blocks = tokio::task::spawn_blocking(move || blocks.with_lock(ask("r"), |_| ()).map(|_| ()));
        eventually("three wait", async || locks.send(Stats).await.unwrap().requests == 5).await;

        panic_now.send(()).unwrap();
        assert!(matches!(bounded(waits).await.unwrap(), Err(MailboxError::Closed)));
        for worked in [bounded(works).await.unwrap(), bounded(blocks).await.unwrap()] {
            assert!(matches!(worked, Err(WithLockError::ManagerGone)), "{worked:?}");
        }
        assert!(matches!(bounded(locks.send(ask("s"))).await, Err(MailboxError::Closed)));
        let lost = bounded(brief.lost()).await;
        assert!(!brief.is_valid(), "its time is over, and nobody renews it");
        let told = bounded(brief.release()).await;
        assert!(matches!(told, Err(ReleaseError::Lost { reason }) if reason == lost), "{lost:?}, {told:?}");
        let told = bounded(lease.release()).await;
        assert!(matches!(told, Err(ReleaseError::Store(_))), "{told:?}");
        if by_drop {
            bounded(tokio::task::spawn_blocking(move || drop(manager))).await.unwrap();
        } else {
            let gone = bounded(manager.shutdown()).await.unwrap_err();
            assert!(gone.to_string().contains("panicked"), "{gone}");
        }
    }
}

async fn bounded<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, wait).await.expect("an end of the wait")
}

#[test]
fn a_manager_with_an_arbiter_of_its_own_works_too() {
    let store = MemoryStore::default();
    let manager = start_anywhere(move || LockManager::builder(Arc::new(store)).start()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let drained = runtime.block_on(async {
        let _lease = manager.locks().send(Acquire::new("r")).await.unwrap().unwrap();
        manager.shutdown().await
    });
    assert_eq!(drained.map(|drained| drained.revoked).map_err(|error: io::Error| error.to_string()), Ok(1));
}
