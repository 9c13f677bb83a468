//! How a manager passes a resource on among its own waiters, in virtual time.

use std::{cell::RefCell, rc::Rc, sync::Arc, time::Duration};

use actix::{Actor, Addr};
use leasehold::{
    Acquire, AcquireError, Inspect, LeaseChange, LockManager, ReadLock, Revoke, Settings, Stats,
};
use support::{
    odd_store::odd_store,
    virtual_time::{Listener, World, in_virtual_time, millis, secs},
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

type Served = Rc<RefCell<Vec<u32>>>;

/// Starts a caller that waits, holds for 1 ms, and writes down that it was served.
fn waiter(locks: &Addr<LockManager>, number: u32, served: &Served) -> JoinHandle<()> {
    let (asking, served) = (locks.send(Acquire::new("r").wait(secs(600))), Rc::clone(served));
    actix_rt::spawn(async move {
        let lease = asking.await.unwrap().unwrap();
        served.borrow_mut().push(number);
        sleep(millis(1)).await;
        lease.release().await.unwrap();
    })
}

async fn all(waiters: Vec<JoinHandle<()>>) {
    for waiter in waiters {
        waiter.await.unwrap();
    }
}

async fn waiting(locks: &Addr<LockManager>) -> u64 {
    sleep(millis(10)).await;
    locks.send(Inspect::new("r")).await.unwrap().unwrap().waiting
}

#[test]
fn waiters_of_one_manager_stand_behind_one_and_are_served_in_their_order_in_one_command_each() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let served = Served::default();
        let waiters: Vec<_> = (0..50).map(|number| waiter(&locks, number, &served)).collect();
        assert_eq!(waiting(&locks).await, 1);
        drop(lease);
        all(waiters).await;
        assert_eq!(*served.borrow(), (0..50).collect::<Vec<_>>());
        let attempts = locks.send(Stats).await.unwrap().attempts;
        assert_eq!(attempts, 1 + 1 + 50, "the lease's, the first one's to stand, and one each by passing on");
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn a_resource_is_passed_on_only_so_often_in_a_row_while_others_wait() {
    in_virtual_time(|| async {
        let world = World::new();
        let (ours, others) = (world.passing_manager(2), world.manager());
        let lease = ours.send(Acquire::new("r")).await.unwrap().unwrap();
        let served = Served::default();
        let mut waiters: Vec<_> = (0..6).map(|number| waiter(&ours, number, &served)).collect();
        waiters.extend((10..12).map(|number| waiter(&others, number, &served)));
        assert_eq!(waiting(&ours).await, 2);
        drop(lease);
        all(waiters).await;
        assert_eq!(*served.borrow(), [0, 1, 10, 11, 2, 3, 4, 5]);
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn while_nobody_else_waits_it_is_passed_on_without_a_limit() {
    in_virtual_time(|| async {
        let world = World::new();
        let (ours, others) = (world.passing_manager(1), world.manager());
        let lease = ours.send(Acquire::new("r")).await.unwrap().unwrap();
        let served = Served::default();
        let waiters: Vec<_> = (0..20).map(|number| waiter(&ours, number, &served)).collect();
        sleep(millis(10)).await;
        drop(lease);
        sleep(millis(10)).await;
        let late = waiter(&others, 100, &served);
        all(waiters).await;
        late.await.unwrap();
        let place = served.borrow().iter().position(|number| *number == 100).unwrap();
        assert!((5..=12).contains(&place), "{:?}", served.borrow());
    });
}

#[test]
fn the_place_of_one_that_gave_up_is_kept_for_those_behind_it() {
    for cancelled in [false, true] {
        in_virtual_time(async || {
            let world = World::new();
            let (holding, ours, others) = (world.manager(), world.manager(), world.manager());
            let lease = holding.send(Acquire::new("r")).await.unwrap().unwrap();
            let impatient = actix_rt::spawn(ours.send(Acquire::new("r").wait(secs(1))));
            sleep(millis(1)).await;
            let served = Served::default();
            let behind = waiter(&ours, 1, &served);
            sleep(millis(1)).await;
            let later = waiter(&others, 2, &served);
            assert_eq!(waiting(&ours).await, 2);
            if cancelled {
                impatient.abort();
            } else {
                let refused = impatient.await.unwrap().unwrap();
                assert!(matches!(refused, Err(AcquireError::Held { ahead: Some(0), .. })), "{refused:?}");
            }
            assert_eq!(waiting(&ours).await, 2);
            let stats = ours.send(Stats).await.unwrap();
            assert_eq!((stats.pending, stats.timed_out + stats.cancelled), (1, 1));
            drop(lease);
            all(vec![behind, later]).await;
            assert_eq!(*served.borrow(), [1, 2]);
            assert_eq!(world.left().await, 0);
        });
    }
}

#[test]
fn a_place_is_given_up_when_all_of_its_line_have_gone() {
    in_virtual_time(|| async {
        let world = World::new();
        let (ours, others) = (world.manager(), world.manager());
        let lease = others.send(Acquire::new("r")).await.unwrap().unwrap();
        let gone: Vec<_> = (1..=3)
            .map(|seconds| actix_rt::spawn(ours.send(Acquire::new("r").wait(secs(seconds)))))
            .collect();
        assert_eq!(waiting(&ours).await, 1);
        for one in gone {
            let refused = one.await.unwrap().unwrap();
            assert!(matches!(refused, Err(AcquireError::Held { .. })), "{refused:?}");
        }
        assert_eq!(waiting(&ours).await, 0);
        assert_eq!(ours.send(Stats).await.unwrap().pending, 0);
        drop(lease);
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn a_place_is_given_up_when_the_last_of_its_line_has_been_passed_the_resource() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let first = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let impatient = actix_rt::spawn(locks.send(Acquire::new("r").wait(secs(1))));
        let patient = actix_rt::spawn(locks.send(Acquire::new("r").wait(secs(600))));
        impatient.await.unwrap().unwrap().unwrap_err();
        assert_eq!(waiting(&locks).await, 1, "its place is kept for the other");
        drop(first);
        let second = patient.await.unwrap().unwrap().unwrap();
        assert_eq!(waiting(&locks).await, 0);
        drop(second);
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn those_behind_a_lease_that_is_lost_attempt_when_it_is() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let forgotten = Acquire::new("r").wait(secs(1)).ttl(secs(2)).no_renew();
        let lease = locks.send(forgotten).await.unwrap().unwrap();
        let served = Served::default();
        let start = Instant::now();
        let next = waiter(&locks, 1, &served);
        assert_eq!(waiting(&locks).await, 0, "while the manager holds it, nobody has to stand");
        next.await.unwrap();
        assert!((secs(1)..millis(2_300)).contains(&start.elapsed()), "{:?}", start.elapsed());
        drop(lease);
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn those_behind_a_lease_that_is_taken_away_by_force_are_served_at_once() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let lease = locks.send(Acquire::new("r").wait(secs(1))).await.unwrap().unwrap();
        let served = Served::default();
        let start = Instant::now();
        let waiters: Vec<_> = (0..3).map(|number| waiter(&locks, number, &served)).collect();
        assert_eq!(waiting(&locks).await, 0, "while the manager holds it, nobody has to stand");
        assert_eq!(locks.send(Revoke::at_once("r")).await.unwrap().unwrap().taken, 1);
        all(waiters).await;
        assert!(start.elapsed() < millis(100), "{:?}", start.elapsed());
        lease.release().await.unwrap_err();
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn a_wait_behind_others_ends_in_time_and_says_who_holds() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let lease = locks.send(Acquire::new("r").wait(secs(1))).await.unwrap().unwrap();
        let listener = Listener::default();
        let heard = listener.clone();
        let start = Instant::now();
        let mut asking = Vec::new();
        for _ in 0..2 {
            let ask = Acquire::new("r").wait(secs(1)).events(heard.clone().start().recipient());
            asking.push(actix_rt::spawn(locks.send(ask)));
        }
        for (place, asking) in asking.into_iter().enumerate() {
            match asking.await.unwrap().unwrap() {
                Err(AcquireError::Held { by, ahead, remaining, .. }) => {
                    assert_eq!((by.token, ahead), (lease.token().prefix(), Some(place as u64)));
                    assert!(remaining > secs(20) && by.metadata.contains_key("pid"), "{by:?}");
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(start.elapsed(), secs(1));
        let queued = [0, 1].map(|ahead| LeaseChange::Queued { ahead, expected_wait: None });
        let mut heard = listener.heard();
        heard.sort_by_key(|change| *change != queued[0]);
        assert_eq!(heard, queued);
    });
}

#[test]
fn a_line_is_as_long_as_a_queue_may_be() {
    in_virtual_time(|| async {
        let world = World::new();
        let mut settings = Settings::default();
        settings.limits.max_waiters = 2;
        let locks = world.builder().settings(settings).start_here().unwrap();
        let _lease = locks.send(Acquire::new("r").wait(secs(1))).await.unwrap().unwrap();
        let ask = || locks.send(Acquire::new("r").wait(secs(60)));
        let _waiting = [actix_rt::spawn(ask()), actix_rt::spawn(ask())];
        sleep(millis(10)).await;
        let full = ask().await.unwrap();
        assert!(matches!(full, Err(AcquireError::QueueFull { waiters: 2 })), "{full:?}");
    });
}

#[test]
fn readers_wait_for_themselves_and_are_not_passed_by() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let readers: Vec<_> =
            (0..3).map(|_| actix_rt::spawn(locks.send(ReadLock::new("r").wait(secs(600))))).collect();
        assert_eq!(waiting(&locks).await, 3);
        let served = Served::default();
        let writers: Vec<_> = (0..20).map(|number| waiter(&locks, number, &served)).collect();
        sleep(millis(10)).await;
        drop(lease);
        let mut leases = Vec::new();
        for reader in readers {
            leases.push(reader.await.unwrap().unwrap().unwrap());
        }
        assert_eq!(served.borrow().len(), 16, "as often as local_handover_limit says");
        drop(leases);
        all(writers).await;
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn when_the_store_executes_nothing_any_more_all_of_a_line_are_told() {
    in_virtual_time(|| async {
        let world = World::new();
        let store = odd_store(world.store.clone());
        let locks = world.builder_on(Arc::new(store.clone())).start_here().unwrap();
        store.panic_from_now_on();
        let start = Instant::now();
        let asking: Vec<_> = (0..5)
            .map(|_| actix_rt::spawn(locks.send(Acquire::new("r").wait(Duration::from_secs(2)))))
            .collect();
        for asking in asking {
            let failed = asking.await.unwrap().unwrap();
            assert!(matches!(failed, Err(AcquireError::Store(_))), "{failed:?}");
        }
        assert_eq!(start.elapsed(), secs(2));
    });
}
