//! What is on its way when a lock manager is shut down arrives before it stops. In virtual time.

use std::time::Duration;

use actix::Actor;

use leasehold::{Acquire, AcquireError, LeaseChange, Shutdown};
use support::virtual_time::{Listener, World, in_virtual_time, millis, secs};
use tokio::time::{Instant, sleep};

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

#[test]
fn a_holder_is_told_of_a_shutdown_once_while_its_lease_is_valid() {
    in_virtual_time(|| async {
        let (locks, listener) = (World::new().manager(), Listener::default());
        let ask = Acquire::new("r").events(listener.clone().start().recipient());
        let lease = locks.send(ask).await.unwrap().unwrap();
        let drain = Shutdown { drain: secs(60) };
        let shut_down = async { tokio::join!(locks.send(drain), locks.send(drain)) };
        let finish = async {
            sleep(millis(10)).await;
            assert_eq!(listener.heard(), [LeaseChange::Granted, LeaseChange::ShuttingDown]);
            assert!(lease.is_valid(), "there is time to finish");
            lease.release().await.unwrap();
        };
        let ((drained, _), ()) = tokio::join!(shut_down, finish);
        assert_eq!(drained.unwrap().revoked, 0);
    });
}
