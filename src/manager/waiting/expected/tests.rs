//! What it costs to tell waiters how long they wait.

use std::sync::Arc;

use actix::Addr;
use futures_util::future::{join, join_all};

use crate::{
    manager::{LockManager, LookAt},
    request::Acquire,
    store::MemoryStore,
};

/// Waits for the lock, releases it, and asks again before the next one has it.
async fn twice(locks: Addr<LockManager>) {
    let ask = || locks.send(Acquire::new("r").wait_forever());
    let lease = ask().await.unwrap().unwrap();
    let (released, again) = join(lease.release(), ask()).await;
    released.unwrap();
    again.unwrap().unwrap().release().await.unwrap();
}

/// How many times records are looked at when so many wait for one resource.
async fn looks(waiters: usize) -> u64 {
    let locks = LockManager::builder(Arc::new(MemoryStore::default())).start_here().unwrap();
    join_all((0..waiters).map(|_| twice(locks.clone()))).await;
    locks.send(LookAt(|manager| manager.records.looks())).await.unwrap()
}

#[actix::test]
async fn a_waiter_that_comes_during_a_hand_off_costs_the_same_however_many_wait() {
    let (few, many) = (looks(100).await, looks(400).await);
    assert!(many < few * 5, "four times as many waiters: {few} looks, {many} looks");
}
