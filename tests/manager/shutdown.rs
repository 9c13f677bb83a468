//! What is on its way when a lock manager is shut down arrives before it stops. In virtual time.

use std::time::Duration;

use crate::support::virtual_time::{World, in_virtual_time, secs};
use leasehold::{Acquire, AcquireError, Shutdown};
use tokio::time::Instant;

const NOW: Shutdown = Shutdown { drain: Duration::ZERO };

#[test]
fn a_shutdown_waits_for_a_release_that_is_on_its_way() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, others) = (world.manager(), world.manager());
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        world.store.stall_next(1, secs(1));
        drop(lease);
        locks.send(NOW).await.unwrap();
        let free = others.send(Acquire::new("r")).await.unwrap();
        assert!(free.is_ok(), "{free:?}");
    });
}

#[test]
fn a_shutdown_releases_what_an_attempt_on_its_way_is_granted() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, others) = (world.manager(), world.manager());
        world.store.stall_next(1, secs(1));
        let (asked, _) = tokio::join!(locks.send(Acquire::new("r")), locks.send(NOW));
        assert!(matches!(asked.unwrap(), Err(AcquireError::ShuttingDown)));
        let free = others.send(Acquire::new("r")).await.unwrap();
        assert!(free.is_ok(), "{free:?}");
    });
}

#[test]
fn a_shutdown_does_not_wait_for_a_store_that_hangs() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        world.store.stall_next(1, secs(3600));
        drop(lease);
        let began = Instant::now();
        locks.send(NOW).await.unwrap();
        assert!(began.elapsed() < secs(10), "{:?}", began.elapsed());
    });
}
