//! Renewals: when they are made, and who makes them.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use leasehold::{Acquire, AcquireAll, Revoke, Stats, env::Draw};
use tokio::time::sleep;

use support::virtual_time::{Loaded, World, in_virtual_time, millis, secs};

#[test]
fn after_a_slow_answer_a_lease_is_renewed_at_its_interval_again() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let lease = locks.send(Acquire::new("r").ttl(secs(30)).renew_every(secs(1))).await.unwrap().unwrap();
        world.store.stall_next(1, secs(2));
        sleep(secs(11)).await;
        let renewals = locks.send(Stats).await.unwrap().renewals;
        assert!((8..=11).contains(&renewals), "{renewals}");
        assert!(lease.is_valid());
    });
}

#[test]
fn a_renewal_that_was_missed_needs_no_renewer_if_the_holder_has_renewed_meanwhile() {
    in_virtual_time(|| async {
        let world = World::new();
        let draws = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&draws);
        let locks = world.manager_with(Loaded::new(move |what| {
            seen.fetch_add(u64::from(what == Draw::Renewal), Ordering::Relaxed);
            false
        }));
        let lease = locks.send(Acquire::new("r").ttl(secs(30))).await.unwrap().unwrap();
        // The renewal at 10 s gets no answer in time, which is known at 20 s.
        world.store.stall_next(1, secs(600));
        sleep(secs(18)).await;
        lease.renew().await.unwrap();
        sleep(secs(600)).await;
        assert_eq!(draws.load(Ordering::Relaxed), 0, "pauses of a renewer");
        assert!(lease.is_valid());
    });
}

#[test]
fn leases_of_a_set_that_lost_its_first_are_renewed_once_an_interval() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager_with(Loaded::new(|_| false));
        let set = locks.send(AcquireAll::new(["a", "b", "c"]).ttl(secs(30))).await.unwrap().unwrap();
        locks.send(Revoke::at_once("a")).await.unwrap().unwrap();
        sleep(secs(60)).await;
        let before = locks.send(Stats).await.unwrap().renewals;
        // Ten intervals of an eighth more than 10 s.
        sleep(millis(112_500)).await;
        assert_eq!(locks.send(Stats).await.unwrap().renewals - before, 20);
        assert_eq!(set.leases().iter().filter(|lease| lease.is_valid()).count(), 2);
    });
}
