//! What keeps a resource closed, and what must not: `lock_delay` and `min_hold`. In virtual time.

use std::{sync::Arc, time::Duration};

use actix::Addr;
use leasehold::{Acquire, AcquireAll, LockManager, LossReason, ReleaseError};
use support::{
    odd_store::odd_store,
    virtual_time::{Loaded, World, in_virtual_time, millis, secs},
};
use tokio::time::{Instant, sleep, timeout};

const TTL: Duration = secs(10);
const DELAY: Duration = secs(60);

fn delayed() -> Acquire {
    Acquire::new("r").ttl(TTL).wait(secs(5)).lock_delay(DELAY)
}

/// How long somebody else has to wait for it.
async fn opens_after(locks: &Addr<LockManager>, name: &str) -> Duration {
    let start = Instant::now();
    let _lease = locks.send(Acquire::new(name).wait(secs(7_200)).no_renew()).await.unwrap().unwrap();
    start.elapsed()
}

#[test]
fn what_was_never_used_opens_at_once_whatever_its_minimum_hold() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let ask = || Acquire::new("r").ttl(TTL).min_hold(DELAY);
        let used = locks.send(ask()).await.unwrap().unwrap();
        let _ = used.release().await.unwrap();
        let unused = timeout(DELAY * 2, locks.send(ask().wait(DELAY * 2))).await.unwrap().unwrap().unwrap();
        let _ = unused.release_unused().await.unwrap();
        let closed = opens_after(&locks, "r").await;
        assert!(closed < secs(1), "it opened after {closed:?}");
    });
}

#[test]
fn a_lock_delay_holds_also_if_an_attempt_long_ago_had_an_unknown_outcome() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.lose_next_replies(1);
        let lease = locks.send(delayed().max_hold(secs(100))).await.unwrap().unwrap();
        assert_eq!(lease.lost().await, LossReason::MaxHold);
        let closed = opens_after(&world.manager(), "r").await;
        assert!(closed >= DELAY, "it opened after {closed:?}");
    });
}

#[test]
fn a_lock_delay_holds_also_while_an_unknown_attempt_may_still_be_executed() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.lose_next_replies(1);
        // It is lost before its end in the store, and before the attempt is certainly over.
        let asked = delayed().max_hold(secs(1));
        let lease = locks.send(asked).await.unwrap().unwrap();
        assert_eq!(lease.lost().await, LossReason::MaxHold);
        let closed = opens_after(&world.manager(), "r").await;
        assert!(closed >= DELAY, "it opened after {closed:?}");
    });
}

#[test]
fn what_is_granted_late_to_a_lost_lease_is_released_without_its_lock_delay_being_cut_short() {
    in_virtual_time(|| async {
        let world = World::new();
        let store = odd_store(world.store.clone());
        let builder = world.builder_on(Arc::new(store.clone()));
        let locks = builder.random(Arc::new(Loaded::new(|_| false))).start_here().unwrap();
        // The second attempt is granted; the first comes when the lease is lost, and moves its end in the store.
        store.execute_late(secs(2));
        let lease = locks.send(delayed().max_hold(secs(1))).await.unwrap().unwrap();
        assert_eq!(lease.lost().await, LossReason::MaxHold);
        let closed = opens_after(&world.manager(), "r").await;
        assert!((DELAY..DELAY + 2 * TTL).contains(&closed), "it opened after {closed:?}");
    });
}

#[test]
fn a_lock_delay_holds_also_if_the_lost_lease_is_dropped_or_released() {
    for (drops, unknown) in [(true, false), (true, true), (false, false), (false, true)] {
        in_virtual_time(|| async move {
            let world = World::new();
            let locks = world.manager();
            world.store.lose_next_replies(unknown.into());
            let lease = locks.send(delayed().max_hold(secs(30))).await.unwrap().unwrap();
            assert_eq!(lease.lost().await, LossReason::MaxHold);
            if drops {
                drop(lease);
            } else {
                let error = lease.release().await.unwrap_err();
                assert!(matches!(error, ReleaseError::Lost { reason: LossReason::MaxHold }), "{error}");
            }
            let closed = opens_after(&world.manager(), "r").await;
            assert!(closed >= DELAY, "it opened after {closed:?}; dropped {drops}, unknown {unknown}");
        });
    }
}

#[test]
fn a_lost_lease_without_a_lock_delay_opens_when_its_holder_drops_it() {
    in_virtual_time(|| async {
        let world = World::new();
        let asked = Acquire::new("r").ttl(secs(600)).max_hold(secs(30));
        let lease = world.manager().send(asked).await.unwrap().unwrap();
        lease.lost().await;
        drop(lease);
        assert!(opens_after(&world.manager(), "r").await < secs(1));
    });
}

#[test]
fn a_held_lease_that_is_released_knows_no_lock_delay_also_after_an_unknown_attempt() {
    in_virtual_time(|| async {
        let world = World::new();
        world.store.lose_next_replies(1);
        let lease = world.manager().send(delayed()).await.unwrap().unwrap();
        lease.release().await.unwrap();
        assert!(opens_after(&world.manager(), "r").await < secs(1));
    });
}

/// Asks for a set of which one part is taken, and gives up; then nothing may keep the other part closed.
async fn a_set_that_fails(cancelled: bool) {
    let world = World::new();
    let locks = world.manager();
    let _taken = locks.send(Acquire::new("b")).await.unwrap().unwrap();
    let asked = AcquireAll::new(["a", "b"]).min_hold(secs(3_600)).wait(secs(1));
    if cancelled {
        assert!(timeout(millis(300), locks.send(asked)).await.is_err());
    } else {
        assert!(locks.send(asked).await.unwrap().is_err());
    }
    sleep(millis(10)).await;
    assert!(opens_after(&locks, "a").await < secs(1), "cancelled: {cancelled}");
}

#[test]
fn the_parts_of_a_set_that_was_not_granted_open_at_once_whatever_their_minimum_hold() {
    in_virtual_time(|| a_set_that_fails(false));
}

#[test]
fn the_parts_of_a_set_that_was_cancelled_open_at_once_whatever_their_minimum_hold() {
    in_virtual_time(|| a_set_that_fails(true));
}

#[test]
fn the_parts_of_a_set_that_was_granted_one_by_one_have_their_minimum_hold() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let taken = locks.send(Acquire::new("b")).await.unwrap().unwrap();
        let asking = locks.send(AcquireAll::new(["a", "b"]).min_hold(secs(100)).wait(secs(5)));
        let asking = actix_rt::spawn(asking);
        sleep(secs(1)).await;
        drop(taken);
        asking.await.unwrap().unwrap().unwrap().release().await.unwrap();
        assert!(opens_after(&locks, "a").await > secs(95));
    });
}

#[test]
fn a_grant_whose_caller_has_gone_opens_at_once_whatever_its_minimum_hold() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        for asks_for_a_set in [false, true] {
            world.store.stall_next(1, secs(1));
            if asks_for_a_set {
                let asked = AcquireAll::new(["r", "s"]).min_hold(secs(3_600)).wait(secs(5));
                assert!(timeout(millis(10), locks.send(asked)).await.is_err());
            } else {
                let asked = Acquire::new("r").min_hold(secs(3_600));
                assert!(timeout(millis(10), locks.send(asked)).await.is_err());
            }
            sleep(secs(2)).await;
            assert!(opens_after(&locks, "r").await < secs(1), "a set: {asks_for_a_set}");
        }
    });
}
