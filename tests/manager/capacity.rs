//! Numbers of leases, and a capacity that changes while permits are held. In virtual time.

use std::sync::Arc;

use actix::Addr;
use leasehold::{
    Acquire, AcquireError, Adopt, Certainty, Inspect, InspectError, Lease, LockManager, MemoryStore,
    QuorumOptions, QuorumStore, SetCapacity, StoreError, store::QuorumNode,
};
use tokio::time::Instant;

use support::virtual_time::{World, in_virtual_time, secs};

fn permit() -> Acquire {
    Acquire::new("r").permits(1, 4).wait(secs(600))
}

async fn acquire(locks: &Addr<LockManager>, ask: Acquire) -> Lease {
    locks.send(ask).await.unwrap().unwrap()
}

async fn set(locks: &Addr<LockManager>, permits: impl Into<Option<u32>>) {
    locks.send(SetCapacity::new("r", permits)).await.unwrap().unwrap();
}

async fn capacity(locks: &Addr<LockManager>) -> Option<u32> {
    locks.send(Inspect::new("r")).await.unwrap().unwrap().capacity.map(u32::from)
}

#[test]
fn a_lease_keeps_its_number_while_it_is_renewed_and_handed_over() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, adopter) = (world.manager(), world.manager());
        let [first, second] = [acquire(&giver, permit()).await, acquire(&giver, permit()).await];
        assert_eq!((first.slot(), second.slot()), (Some(0), Some(1)));
        tokio::time::sleep(secs(300)).await;
        first.release().await.unwrap();
        let ticket = second.into_ticket().await.unwrap();
        let again = serde_json::from_str(&serde_json::to_string(&ticket).unwrap()).unwrap();
        let second = adopter.send(Adopt(again)).await.unwrap().unwrap();
        let [third, fourth] = [acquire(&giver, permit()).await, acquire(&adopter, permit()).await];
        assert_eq!((second.slot(), third.slot(), fourth.slot()), (Some(1), Some(0), Some(2)));
        assert_eq!(acquire(&giver, Acquire::new("whole")).await.slot(), None);
    });
}

#[test]
fn a_larger_capacity_lets_waiters_in_at_once_and_a_smaller_one_takes_nothing() {
    in_virtual_time(|| async {
        let world = World::new();
        let (here, there) = (world.manager(), world.manager());
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(acquire(&here, permit()).await);
        }
        let waiting: Vec<_> =
            [&here, &there, &there].map(|locks| actix_rt::spawn(locks.send(permit()))).into();
        tokio::time::sleep(secs(1)).await;
        let began = Instant::now();
        set(&there, 6).await;
        let mut waiting = waiting.into_iter();
        for number in [4, 5] {
            let lease = waiting.next().unwrap().await.unwrap().unwrap().unwrap();
            assert_eq!(lease.slot(), Some(number));
            held.push(lease);
        }
        assert!(began.elapsed() < secs(1), "{:?}", began.elapsed());
        set(&here, 2).await;
        tokio::time::sleep(secs(300)).await;
        assert!(held.iter().all(Lease::is_valid));
        let last = waiting.next().unwrap();
        for lease in held.drain(2..) {
            lease.release().await.unwrap();
        }
        tokio::time::sleep(secs(10)).await;
        assert!(!last.is_finished(), "two hold");
        held.remove(0).release().await.unwrap();
        assert_eq!(last.await.unwrap().unwrap().unwrap().slot(), Some(0));
        assert_eq!(capacity(&here).await, Some(2));
    });
}

#[test]
fn who_asks_for_more_than_is_set_is_told_so_also_while_it_waits() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let holder = acquire(&locks, Acquire::new("r").permits(4, 4)).await;
        let large = actix_rt::spawn(locks.send(Acquire::new("r").permits(3, 4).wait(secs(600))));
        tokio::time::sleep(secs(1)).await;
        let small = actix_rt::spawn(locks.send(permit()));
        tokio::time::sleep(secs(1)).await;
        let began = Instant::now();
        set(&locks, 2).await;
        for answer in [large.await.unwrap(), locks.send(Acquire::new("r").permits(3, 9)).await] {
            let Err(AcquireError::Store(error)) = answer.unwrap() else { panic!("granted") };
            assert_eq!(error.certainty(), Certainty::NotExecuted);
            assert!(error.to_string().ends_with("permits, but the capacity is set to 2"), "{error}");
        }
        holder.release().await.unwrap();
        assert_eq!(small.await.unwrap().unwrap().unwrap().slot(), Some(0));
        assert!(began.elapsed() < secs(1), "{:?}", began.elapsed());
    });
}

#[test]
fn a_capacity_of_zero_is_refused_and_one_that_nobody_waits_for_is_set_all_the_same() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        let refused = locks.send(SetCapacity::new("r", 0)).await.unwrap();
        assert!(
            matches!(&refused, Err(InspectError::Invalid(value)) if value.field == "capacity"),
            "{refused:?}"
        );
        assert_eq!(capacity(&locks).await, None);
        // The sender does not wait for the answer.
        locks.do_send(SetCapacity::new("r", 7));
        while capacity(&locks).await.is_none() {
            tokio::time::sleep(secs(1)).await;
        }
        assert_eq!(capacity(&locks).await, Some(7));
    });
}

#[test]
fn a_lost_answer_is_told_as_unknown_and_the_message_may_be_repeated() {
    in_virtual_time(|| async {
        let world = World::new();
        let locks = world.manager();
        world.store.lose_next_replies(1);
        let lost = locks.send(SetCapacity::new("r", 3)).await.unwrap();
        let Err(InspectError::Store(error)) = lost else { panic!("{lost:?}") };
        assert_eq!(error.certainty(), Certainty::Unknown);
        set(&locks, 3).await;
        assert_eq!(capacity(&locks).await, Some(3));
    });
}

#[test]
fn a_quorum_has_no_capacity_to_set_and_says_so() {
    in_virtual_time(|| async {
        let world = World::new();
        let node = |number: u32| -> (String, Arc<dyn QuorumNode>) {
            (format!("node {number}"), Arc::new(MemoryStore::default()))
        };
        let quorum = QuorumStore::new((1..=3).map(node), QuorumOptions::default()).unwrap();
        let locks = world.builder_on(Arc::new(quorum)).start_here().unwrap();
        let refused = locks.send(SetCapacity::new("r", 3)).await.unwrap();
        let Err(InspectError::Store(error @ StoreError::Unsupported { .. })) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(error.certainty(), Certainty::NotExecuted);
    });
}
