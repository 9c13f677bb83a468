//! A lock manager in each worker: what all of them know together.

use std::sync::Arc;

use actix::Arbiter;
use leasehold::{Acquire, AcquireError, Lease, Leases, LockManager, MemoryStore, web::PerWorker};
use tokio::sync::oneshot;

/// Acquires a lock on this worker.
async fn acquire(worker: &Arbiter, locks: &PerWorker, name: &'static str) -> Result<Lease, AcquireError> {
    let (locks, (tell, told)) = (locks.clone(), oneshot::channel());
    worker.spawn(async move {
        let asked = Acquire::new(name).class("orders");
        drop(tell.send(locks.here().unwrap().send(asked).await.unwrap()));
    });
    told.await.unwrap()
}

#[actix::test]
async fn what_the_managers_of_all_workers_know_is_added_up() {
    let store = Arc::new(MemoryStore::default());
    let locks = PerWorker::new(move || LockManager::builder(Arc::clone(&store) as _).start_here());
    let [one, other] = [Arbiter::new(), Arbiter::new()];
    let _first = acquire(&one, &locks, "first").await.unwrap();
    let _second = acquire(&other, &locks, "second").await.unwrap();
    assert!(matches!(acquire(&other, &locks, "first").await, Err(AcquireError::Held { .. })));

    let sum = locks.statistics().await;
    assert_eq!((sum.requests, sum.attempts, sum.granted, sum.refused, sum.held), (3, 3, 2, 1, 2));
    assert_eq!((sum.waited.count, sum.last_minute.granted, sum.last_hour.requests), (2, 2, 3));
    assert_eq!((sum.classes["orders"].requests, sum.classes["orders"].waited.count), (3, 2));

    let leases = locks.leases(Leases::new().limit(1)).await.unwrap();
    assert_eq!((leases.held_in_all, leases.held.len()), (2, 1));
    assert!(locks.leases(Leases::new().limit(0)).await.is_err());

    one.stop();
    one.join().unwrap();
    assert_eq!(locks.statistics().await.requests, 2, "a worker that died is gone with its counters");
    assert_eq!(locks.leases(Leases::new()).await.unwrap().held_in_all, 1);
}
