//! Leases through the actors, on the memory store, in virtual time.
//!
//! Time is a source of non-determinism: here it is paused, and jumps to the next timer whenever nothing else is to do.

use std::{sync::Arc, time::Duration};

use actix::Addr;
use leasehold::{
    Acquire, AcquireError, LockManager, LossReason, MemoryStore, ReadLock, Released, Standing, Stats, WriteLock,
    world::RuntimeClock,
};

/// Runs a test in an actix system whose time is paused.
fn in_virtual_time<F: Future<Output = ()>>(test: impl FnOnce() -> F) {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
    };
    actix::System::with_tokio_rt(runtime).block_on(test());
}

/// A store and a manager on it, in virtual time.
fn world() -> (MemoryStore, Addr<LockManager>) {
    let clock = Arc::new(RuntimeClock::start());
    let store = MemoryStore::new(clock.clone());
    let locks = LockManager::builder(Arc::new(store.clone())).clock(clock).start_here().unwrap();
    (store, locks)
}

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

#[test]
fn a_lease_is_exclusive_until_it_is_released() {
    in_virtual_time(|| async {
        let (_, locks) = world();
        let lease = locks.send(Acquire::new("orders/42")).await.unwrap().unwrap();
        assert!(lease.is_valid());
        let error = locks.send(Acquire::new("orders/42")).await.unwrap().unwrap_err();
        assert!(matches!(error, AcquireError::Held { attempts: 1, .. }), "{error}");
        assert_eq!(lease.release().await.unwrap(), Released::Freed);
        let again = locks.send(Acquire::new("orders/42")).await.unwrap().unwrap();
        assert!(again.is_valid());
    });
}

#[test]
fn a_lease_is_renewed_for_as_long_as_it_is_kept() {
    in_virtual_time(|| async {
        let (_, locks) = world();
        let lease = locks.send(Acquire::new("r").ttl(secs(3))).await.unwrap().unwrap();
        tokio::time::sleep(secs(3600)).await;
        assert_eq!(lease.standing(), Standing::Held);
        let stats = locks.send(Stats).await.unwrap();
        assert!(stats.renewals >= 3600, "{stats:?}");
    });
}

#[test]
fn a_lease_is_lost_and_told_when_the_store_forgets() {
    in_virtual_time(|| async {
        let (store, locks) = world();
        let lease = locks.send(Acquire::new("r").ttl(secs(3))).await.unwrap().unwrap();
        store.clear();
        assert_eq!(lease.lost().await, LossReason::NotHeld);
        let _ = (ReadLock::new("r"), WriteLock::new("r"));
    });
}

#[test]
fn a_waiter_gets_the_lock_after_the_holder() {
    in_virtual_time(|| async {
        let (_, locks) = world();
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let waiting = locks.send(Acquire::new("r").wait(secs(5)));
        let release = async {
            tokio::time::sleep(secs(2)).await;
            lease.release().await.unwrap();
        };
        let (second, ()) = tokio::join!(waiting, release);
        assert!(second.unwrap().unwrap().is_valid());
    });
}
