//! The expected wait where what was seen is no measure of what comes: it is unknown, or soon right again. In virtual time.

use std::{sync::Arc, time::Duration};

use actix::Actor;
use leasehold::{
    Acquire, AcquireError, Lease, LeaseChange, LockManager, ReadLock, ResourceName, store::Store,
};
use tokio::time::sleep;

use crate::manager::expected_wait::in_demand;
use support::{
    odd_store::odd_store,
    virtual_time::{Listener, World, in_virtual_time, millis, secs},
};

async fn take(locks: &actix::Addr<LockManager>, ask: Acquire) -> Lease {
    locks.send(ask).await.unwrap().unwrap()
}

/// Returns the wait that a caller is told, which gets nothing.
async fn told(locks: &actix::Addr<LockManager>, ask: Acquire) -> Option<Duration> {
    match locks.send(ask).await.unwrap() {
        Err(AcquireError::Held { expected_wait, .. }) => expected_wait,
        other => panic!("{other:?}"),
    }
}

#[test]
fn while_a_holder_of_another_process_hangs_nothing_is_known() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, others) = (world.manager(), world.manager());
        drop(in_demand(&locks, millis(10), 0).await);
        sleep(millis(10)).await;
        let _hangs = take(&others, Acquire::new("r")).await;
        let asking = |wait| {
            let (locks, listener) = (locks.clone(), Listener::default());
            let events = listener.clone().start().recipient();
            let ask = Acquire::new("r").wait(wait).events(events);
            (actix_rt::spawn(async move { told(&locks, ask).await }), listener)
        };
        let [leader, follower] = [asking(secs(30)), asking(secs(30))];
        sleep(millis(1)).await;
        for (_, listener) in [&leader, &follower] {
            let heard = listener.heard();
            assert!(
                matches!(heard.last(), Some(LeaseChange::Queued { expected_wait: Some(it), .. }) if *it < millis(30)),
                "{heard:?}"
            );
        }
        sleep(secs(5)).await;
        let newcomers = [asking(secs(20)), asking(secs(0))];
        sleep(millis(1)).await;
        for (asking, listener) in newcomers.into_iter().chain([leader, follower]) {
            let heard = listener.heard();
            assert_eq!(asking.await.unwrap(), None, "{heard:?}");
        }
        let newcomer = asking(secs(1));
        newcomer.0.await.unwrap();
        let heard = newcomer.1.heard();
        assert!(matches!(heard[..], [LeaseChange::Queued { expected_wait: None, .. }]), "{heard:?}");
    });
}

#[test]
fn a_place_is_lost_as_soon_as_the_holder_hangs_however_many_are_ahead() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, others) = (world.manager(), world.strict_manager());
        drop(in_demand(&locks, secs(1), 0).await);
        sleep(millis(10)).await;
        let _hangs = take(&others, Acquire::new("r")).await;
        for _ in 0..10 {
            actix_rt::spawn(others.send(Acquire::new("r").wait(secs(600))));
        }
        sleep(millis(1)).await;
        // Its place is worth eleven seconds, and the next answer says that nobody can tell.
        assert_eq!(told(&locks, Acquire::new("r").wait(secs(15))).await, None);
    });
}

#[test]
fn a_holder_that_hung_for_an_hour_makes_nobody_give_up_later() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, others) = (world.manager(), world.manager());
        drop(in_demand(&locks, millis(10), 0).await);
        sleep(millis(10)).await;
        let hangs = take(&others, Acquire::new("r")).await;
        let waits = actix_rt::spawn(locks.send(Acquire::new("r").wait_forever()));
        sleep(secs(3_600)).await;
        drop(hangs);
        drop(waits.await.unwrap().unwrap().unwrap());
        for _ in 0..120 {
            sleep(secs(1)).await;
            let lease = take(&locks, Acquire::new("r")).await;
            sleep(millis(10)).await;
            lease.release().await.unwrap();
        }
        let lease = take(&others, Acquire::new("r")).await;
        let waits = actix_rt::spawn(locks.send(Acquire::new("r").wait(secs(2)).give_up_early(true)));
        sleep(millis(100)).await;
        drop(lease);
        assert!(waits.await.unwrap().unwrap().is_ok(), "the holds since then are short");
    });
}

#[test]
fn holds_that_became_much_shorter_count_within_seconds() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, others) = (world.manager(), world.manager());
        drop(in_demand(&locks, secs(10), 0).await);
        for _ in 0..16 {
            sleep(millis(10)).await;
            let lease = take(&locks, Acquire::new("r")).await;
            sleep(millis(100)).await;
            lease.release().await.unwrap();
        }
        let lease = take(&others, Acquire::new("r")).await;
        let waits = actix_rt::spawn(locks.send(Acquire::new("r").wait(secs(2)).give_up_early(true)));
        sleep(millis(100)).await;
        drop(lease);
        assert!(waits.await.unwrap().unwrap().is_ok(), "a turn takes 100 ms since two seconds");
    });
}

#[test]
fn readers_do_not_give_up_because_of_what_a_writer_takes() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let lease = in_demand(&locks, secs(10), 0).await;
        // One that has waited for half of it: that is no measure either.
        let first = actix_rt::spawn(locks.send(ReadLock::new("r").wait(secs(600))));
        sleep(secs(5)).await;
        drop(lease);
        drop(first.await.unwrap().unwrap().unwrap());
        let lease = take(&locks, Acquire::new("r").wait(secs(1))).await;
        let ask = || locks.send(ReadLock::new("r").wait(secs(15)).give_up_early(true));
        let readers: Vec<_> = (0..20).map(|_| actix_rt::spawn(ask())).collect();
        sleep(secs(9)).await;
        drop(lease);
        for reader in readers {
            assert!(reader.await.unwrap().unwrap().is_ok(), "all are granted together");
        }
    });
}

#[test]
fn a_writer_does_not_give_up_because_of_readers_that_are_granted_together() {
    in_virtual_time(|| async {
        // All wait in the queue of the store.
        let locks = World::new().strict_manager();
        let lease = in_demand(&locks, secs(10), 0).await;
        let mut readers = Vec::new();
        for _ in 0..10 {
            let locks = locks.clone();
            readers.push(actix_rt::spawn(async move {
                drop(locks.send(ReadLock::new("r").wait(secs(600))).await.unwrap().unwrap());
            }));
        }
        sleep(millis(10)).await;
        let writer = actix_rt::spawn(locks.send(Acquire::new("r").wait(secs(15)).give_up_early(true)));
        sleep(secs(9)).await;
        drop(lease);
        assert!(writer.await.unwrap().unwrap().is_ok());
        for reader in readers {
            reader.await.unwrap();
        }
    });
}

#[test]
fn a_writer_of_another_process_than_the_readers_is_told_nothing_either() {
    in_virtual_time(|| async {
        let world = World::new();
        let (locks, others) = (world.manager(), world.manager());
        drop(in_demand(&locks, secs(10), 0).await);
        sleep(millis(10)).await;
        let _reader = others.send(ReadLock::new("r")).await.unwrap().unwrap();
        assert_eq!(told(&locks, Acquire::new("r").wait(secs(1))).await, None);
        assert_eq!(told(&locks, Acquire::new("r")).await, None);
    });
}

#[test]
fn permits_are_expected_as_fast_as_they_are_granted_and_not_as_they_are_held() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let ask = || Acquire::new("r").permits(1, 2);
        for _ in 0..20 {
            let asking = locks.send(ask().wait(secs(600)));
            actix_rt::spawn(async move {
                let lease = asking.await.unwrap().unwrap();
                sleep(secs(1)).await;
                lease.release().await.unwrap();
            });
        }
        sleep(millis(5_500)).await;
        // Eight of them wait. Two are served each second, so that the next one waits for 4.5 s.
        let patient = actix_rt::spawn(locks.send(ask().wait(secs(6)).give_up_early(true)));
        sleep(millis(1)).await;
        let expected = told(&locks, ask().wait(secs(3)).give_up_early(true)).await.unwrap();
        assert!((millis(3_800)..millis(6_000)).contains(&expected), "{expected:?}");
        assert!(patient.await.unwrap().unwrap().is_ok());
    });
}

#[test]
fn over_plain_locks_only_those_behind_a_lease_of_their_own_process_are_told() {
    in_virtual_time(|| async {
        let world = World::new();
        let plain = || {
            world.builder_on(Arc::new(odd_store(world.store.clone()).without_queue())).start_here().unwrap()
        };
        let (locks, others) = (plain(), plain());
        drop(in_demand(&locks, secs(1), 0).await);
        sleep(millis(10)).await;
        let other = take(&others, Acquire::new("r").wait(secs(60))).await;
        let waits = [1, 2].map(|_| {
            let locks = locks.clone();
            actix_rt::spawn(async move { told(&locks, Acquire::new("r").wait(secs(2))).await })
        });
        sleep(secs(1)).await;
        assert_eq!(told(&locks, Acquire::new("r").wait(millis(500)).give_up_early(true)).await, None);
        for waits in waits {
            assert_eq!(waits.await.unwrap(), None, "who gets it next is chance");
        }
        drop(other);
        let _lease = in_demand(&locks, secs(1), 5).await;
        let expected = told(&locks, Acquire::new("r").wait(secs(4)).give_up_early(true)).await;
        assert!(expected.is_some_and(|it| it > secs(5) && it < secs(7)), "{expected:?}");
    });
}

#[test]
fn over_plain_locks_a_waiter_knows_nothing_any_more_when_its_process_has_lost_the_lock() {
    in_virtual_time(|| async {
        let world = World::new();
        let plain = || {
            world.builder_on(Arc::new(odd_store(world.store.clone()).without_queue())).start_here().unwrap()
        };
        let (locks, others) = (plain(), plain());
        drop(in_demand(&locks, secs(10), 0).await);
        sleep(millis(10)).await;
        let lost = take(&locks, Acquire::new("r")).await;
        let [first, second] = [1, 2].map(|_| {
            let locks = locks.clone();
            actix_rt::spawn(async move { told(&locks, Acquire::new("r").wait(secs(25))).await })
        });
        sleep(secs(1)).await;
        world.store.force_release(&ResourceName::new("r").unwrap()).await.unwrap();
        let _other = take(&others, Acquire::new("r")).await;
        assert_eq!((first.await.unwrap(), second.await.unwrap()), (None, None));
        assert!(!lost.is_valid());
    });
}

#[test]
fn what_an_owner_takes_again_inside_is_no_hold() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let lease = in_demand(&locks, secs(10), 0).await;
        lease.release().await.unwrap();
        let job = || Acquire::new("r").owner("job").wait(secs(1));
        let outer = take(&locks, job()).await;
        for _ in 0..16 {
            let inner = take(&locks, job()).await;
            sleep(millis(1)).await;
            inner.release().await.unwrap();
        }
        outer.release().await.unwrap();
        let _lease = take(&locks, Acquire::new("r").wait(secs(1))).await;
        sleep(secs(1)).await;
        let refused = locks.send(Acquire::new("r").wait(secs(0))).await.unwrap().unwrap_err();
        let AcquireError::Held { expected_wait: Some(expected), .. } = refused else { panic!("{refused:?}") };
        assert!(expected > secs(5), "{expected:?}");
    });
}
