//! Lock managers on a quorum: waiting, renewal, and what is refused.

use std::{sync::Arc, time::Duration};

use actix::Addr;
use leasehold::{
    Acquire, AcquireAll, AcquireError, LockManager, MemoryStore, QuorumOptions, QuorumStore, Settings,
    StoreError,
    env::RuntimeClock,
    store::{Hold, QuorumNode, Store, Walk},
};
use tokio::time::sleep;

use support::virtual_time::{in_virtual_time, secs};

struct Fleet {
    nodes: Vec<MemoryStore>,
    managers: [Addr<LockManager>; 2],
}

fn fleet() -> Fleet {
    let clock = Arc::new(RuntimeClock::start());
    let nodes: Vec<_> = (0..3).map(|_| MemoryStore::new(clock.clone())).collect();
    let managers = [(); 2].map(|()| {
        let named = nodes.iter().enumerate().map(|(which, node)| {
            let store: Arc<dyn QuorumNode> = Arc::new(node.clone());
            (which.to_string(), store)
        });
        let options = QuorumOptions { fresh_start: true, ..QuorumOptions::default() };
        let store = QuorumStore::with_clock(named, options, clock.clone()).unwrap();
        LockManager::builder(Arc::new(store)).clock(clock.clone()).start_here().unwrap()
    });
    Fleet { nodes, managers }
}

#[test]
fn waiters_of_two_managers_are_all_served_and_leave_nothing_behind() {
    in_virtual_time(|| async {
        let fleet = fleet();
        let waiters = (0..40).map(|number| {
            let asking = fleet.managers[number % 2].send(Acquire::new("r").wait(secs(600)));
            actix_rt::spawn(async move {
                let lease = asking.await.unwrap().unwrap();
                sleep(Duration::from_millis(20)).await;
                lease.release().await.unwrap();
            })
        });
        for waiter in waiters.collect::<Vec<_>>() {
            waiter.await.unwrap();
        }
        sleep(secs(1)).await;
        for node in &fleet.nodes {
            assert!(node.list(&Walk::new(b"", 10)).await.unwrap().resources.is_empty());
        }
    });
}

#[test]
fn a_lease_outlives_the_loss_of_one_node_and_then_of_another() {
    in_virtual_time(|| async {
        let fleet = fleet();
        let lease = fleet.managers[0].send(Acquire::new("r")).await.unwrap().unwrap();
        for node in &fleet.nodes {
            node.restart();
            sleep(Settings::default().lease.ttl).await;
            assert!(lease.is_valid());
        }
        let kept_out = fleet.managers[1].send(Acquire::new("r")).await.unwrap();
        assert!(matches!(kept_out, Err(AcquireError::Held { .. })), "{kept_out:?}");
        lease.release().await.unwrap();
    });
}

#[test]
fn permits_are_refused_at_once_though_there_is_time_to_wait() {
    in_virtual_time(|| async {
        let fleet = fleet();
        let asked = Acquire::new("r").permits(1, 2).wait(secs(600));
        let answer = fleet.managers[0].send(asked).await.unwrap();
        assert!(matches!(answer, Err(AcquireError::Store(StoreError::Unsupported { .. }))), "{answer:?}");
    });
}

#[test]
fn several_resources_are_taken_together_or_none() {
    in_virtual_time(|| async {
        let fleet = fleet();
        let set = fleet.managers[0].send(AcquireAll::new(["a", "b", "c"])).await.unwrap().unwrap();
        let kept_out = fleet.managers[1].send(AcquireAll::new(["x", "b", "y"])).await.unwrap();
        assert!(kept_out.is_err());
        let lease = fleet.managers[1].send(Acquire::new("x")).await.unwrap().unwrap();
        drop((set, lease));
        sleep(secs(1)).await;
        for node in &fleet.nodes {
            assert!(node.list(&Walk::new(b"", 10)).await.unwrap().resources.is_empty());
        }
    });
}

#[test]
fn a_node_that_lost_a_lease_has_it_again_though_somebody_waits() {
    in_virtual_time(|| async {
        let fleet = fleet();
        let lease = fleet.managers[0].send(Acquire::new("r").ttl(secs(3))).await.unwrap().unwrap();
        let waits = fleet.managers[1].send(Acquire::new("r").ttl(secs(3)).wait(secs(600)));
        actix_rt::spawn(async move { drop(waits.await) });
        sleep(secs(2)).await;
        let hold = Hold { resource: lease.resource().clone(), token: lease.token(), owner: None };
        let node = &fleet.nodes[0];
        let _released = node.release(&hold, Duration::ZERO).await.unwrap();
        // The waiter is handed the node over, and gives way again and again.
        let mut is_held = false;
        for _ in 0..300 {
            sleep(Duration::from_millis(100)).await;
            is_held = node.is_held(&hold).await.unwrap();
        }
        assert!(is_held && lease.is_valid());
    });
}
