//! Renewals: when they are made, and who makes them.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use actix::{Actor, Addr};
use futures_util::future::join_all;
use leasehold::{Acquire, AcquireAll, LeaseStatus, LockManager, Revoke, Stats, env::Draw};
use tokio::time::sleep;

use support::{
    odd_store::odd_store,
    virtual_time::{Listener, Loaded, World, in_virtual_time, millis, secs},
};

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
fn an_early_renewal_of_the_holder_does_not_put_off_the_next_one() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let lease = locks.send(Acquire::new("r").ttl(secs(30)).renew_every(secs(1))).await.unwrap().unwrap();
        world.store.stall_next(1, millis(5));
        lease.renew().await.unwrap();
        sleep(secs(5)).await;
        let renewals = locks.send(Stats).await.unwrap().renewals;
        assert!((5..=7).contains(&renewals), "{renewals}");
    });
}

/// A manager, and the number of times that its renewers have drawn: once for each message.
fn watched(world: &World) -> (Addr<LockManager>, Arc<AtomicU64>) {
    let draws = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&draws);
    let locks = world.manager_with(Loaded::new(move |what| {
        seen.fetch_add(u64::from(what == Draw::Renewal), Ordering::Relaxed);
        false
    }));
    (locks, draws)
}

#[test]
fn a_lease_has_its_renewer_from_its_first_renewal_until_its_release() {
    in_virtual_time(|| async {
        let (locks, messages) = watched(&World::new());
        let lease = locks.send(Acquire::new("r").ttl(secs(30))).await.unwrap().unwrap();
        sleep(millis(9_900)).await;
        assert_eq!(messages.load(Ordering::Relaxed), 0);
        sleep(secs(300)).await;
        let sent = messages.load(Ordering::Relaxed);
        assert!((29..=31).contains(&sent), "every ten seconds: {sent}");
        assert_eq!(locks.send(Stats).await.unwrap().renewals, sent, "nobody else renews it");
        lease.release().await.unwrap();
        sleep(secs(300)).await;
        assert_eq!(messages.load(Ordering::Relaxed), sent);
    });
}

#[test]
fn a_lease_that_is_released_before_its_first_renewal_has_no_renewer() {
    in_virtual_time(|| async {
        let (locks, messages) = watched(&World::new());
        let lease = locks.send(Acquire::new("r").ttl(secs(30))).await.unwrap().unwrap();
        sleep(millis(9_900)).await;
        lease.release().await.unwrap();
        sleep(secs(300)).await;
        assert_eq!(messages.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_renewal_by_the_holder_starts_the_renewer_and_a_lease_that_is_not_renewed_by_itself_has_none() {
    in_virtual_time(|| async {
        let (locks, messages) = watched(&World::new());
        let lease = locks.send(Acquire::new("r").ttl(secs(30))).await.unwrap().unwrap();
        let by_hand = locks.send(Acquire::new("s").ttl(secs(30)).no_renew()).await.unwrap().unwrap();
        lease.renew().await.unwrap();
        for _ in 0..10 {
            by_hand.renew().await.unwrap();
            sleep(secs(10)).await;
        }
        let sent = messages.load(Ordering::Relaxed);
        assert!((9..=11).contains(&sent), "one every ten seconds, of one lease: {sent}");
        assert!(lease.is_valid() && by_hand.is_valid());
    });
}

#[test]
fn nothing_keeps_a_lease_or_its_renewer_after_its_end() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        for revoked in [false, true] {
            // The lease has an address of its listener, which lives for as long as there is one.
            let listener = Listener::default().start();
            let (listens, asked) = (listener.downgrade(), Acquire::new("r").ttl(secs(30)));
            let lease = locks.send(asked.events(listener.recipient())).await.unwrap().unwrap();
            sleep(secs(60)).await;
            assert!(listens.upgrade().is_some() && locks.send(Stats).await.unwrap().renewals > 0);
            if revoked {
                locks.send(Revoke::at_once("r")).await.unwrap().unwrap();
                lease.lost().await;
                drop(lease);
            } else {
                lease.release().await.unwrap();
            }
            // Long before the renewer would look by itself.
            sleep(millis(10)).await;
            assert!(listens.upgrade().is_none(), "revoked: {revoked}");
        }
    });
}

#[test]
fn renewals_of_one_tick_travel_in_one_batch() {
    in_virtual_time(|| async {
        let world = World::new();
        let store = odd_store(world.store.clone());
        let builder = world.builder_on(Arc::new(store.clone()));
        let locks = builder.random(Arc::new(Loaded::new(|_| false))).start_here().unwrap();
        let asked = (0..50).map(|number| locks.send(Acquire::new(format!("r/{number}")).ttl(secs(30))));
        let leases: Vec<_> =
            join_all(asked).await.into_iter().map(|granted| granted.unwrap().unwrap()).collect();
        sleep(secs(301)).await;
        let batches = store.batches();
        assert!(batches.iter().all(|batch| *batch == ("renew", 50)), "{batches:?}");
        assert!((29..=31).contains(&batches.len()), "every ten seconds: {}", batches.len());
        assert!(leases.iter().all(|lease| lease.is_valid()));
    });
}

#[test]
fn a_renewal_that_was_missed_is_tried_again_by_the_same_renewer() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, messages) = watched(&world);
        let lease = locks.send(Acquire::new("r").ttl(secs(30))).await.unwrap().unwrap();
        world.store.fail_next(3);
        // After pauses of about 0.6, 1.2 and 2.4 s.
        sleep(secs(15)).await;
        assert_eq!(lease.status(), LeaseStatus::Held);
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.missed_renewals, stats.renewals, stats.renewer_restarts), (3, 1, 0));
        assert_eq!(messages.load(Ordering::Relaxed), 4);
    });
}

#[test]
fn a_renewal_that_was_missed_is_not_tried_again_if_the_holder_has_renewed_meanwhile() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let lease = locks.send(Acquire::new("r").ttl(secs(30))).await.unwrap().unwrap();
        // The renewal at 10 s gets no answer in time, which is known at 20 s.
        world.store.stall_next(1, secs(600));
        sleep(secs(18)).await;
        lease.renew().await.unwrap();
        sleep(millis(9_900)).await;
        assert_eq!(lease.status(), LeaseStatus::Held, "an older miss says nothing of a newer renewal");
        let stats = locks.send(Stats).await.unwrap();
        assert_eq!((stats.missed_renewals, stats.renewals), (1, 1));
        sleep(secs(600)).await;
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
