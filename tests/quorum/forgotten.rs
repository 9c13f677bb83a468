//! Nodes that have forgotten fences, and nodes that learn of them late.

use std::{sync::Arc, time::Duration};

use leasehold::{
    Fence, MemoryStore, Owner, QuorumOptions, QuorumStore,
    env::RuntimeClock,
    store::{Acquired, Acquisition, QuorumNode, Store, Walk},
};
use tokio::time::sleep;

use crate::quorum::{
    nodes::{begin, exclusive, granted, short_of},
    pace::Ahead,
};
use leasehold_testing::servers::RedisServer;
use support::patient;

const MAX_TTL: Duration = Duration::from_secs(60);

/// Three nodes, the first of which has a clock so many ms ahead of the others, after the first acquisition.
struct Three {
    clock: Arc<RuntimeClock>,
    nodes: Vec<MemoryStore>,
}

impl Three {
    async fn with_one_ahead_by(millis: u64) -> Self {
        let clock = Arc::new(RuntimeClock::start());
        let node = |ahead| MemoryStore::new(Arc::new(Ahead::by(*clock, ahead)));
        let three = Self { nodes: [millis, 0, 0].map(node).to_vec(), clock };
        sleep(2 * MAX_TTL).await;
        begin(&three.client_with(true)).await;
        sleep(Duration::from_secs(20)).await;
        three
    }

    fn client(&self) -> QuorumStore {
        self.client_with(false)
    }

    fn client_with(&self, fresh_start: bool) -> QuorumStore {
        let named = self.nodes.iter().enumerate().map(|(which, node)| {
            let store: Arc<dyn QuorumNode> = Arc::new(node.clone());
            (format!("node {which}"), store)
        });
        let options = QuorumOptions { max_ttl: MAX_TTL, fresh_start, ..QuorumOptions::default() };
        QuorumStore::with_clock(named, options, self.clock.clone()).unwrap()
    }

    /// A client that has met its nodes.
    async fn client_that_knows_its_nodes(&self) -> QuorumStore {
        let client = self.client();
        assert!(client.list(&Walk::new(b"", 1)).await.unwrap().complete);
        client
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_forgot_fences_counts_for_nothing_until_it_is_taught() {
    let three = Three::with_one_ahead_by(300_000).await;
    let client = three.client();
    // One node does not hear of the first fence; another one, which does, forgets it.
    three.nodes[2].fail_next(2);
    let asked = exclusive();
    let first = granted(&client, &asked).await;
    three.nodes[2].fail_next(2);
    let _released = client.release(&asked.hold, Duration::ZERO).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    three.nodes[1].restart();
    // The client meets the new incarnation, and the others hear nothing: an acquisition, a report, and a register.
    three.nodes[0].fail_next(3);
    three.nodes[2].fail_next(3);
    let _no_quorum = short_of(&client, &exclusive()).await;
    sleep(MAX_TTL + Duration::from_secs(10)).await;
    // All leases that it forgot are over, but the only one that remembers the fence does not answer.
    three.nodes[0].fail_next(4);
    let (named, error) = short_of(&client, &exclusive()).await;
    assert_eq!(named, ["node 0", "node 1"]);
    assert!(error.to_string().contains("may have forgotten fences"), "{error}");
    // When that one answers, the other is taught, and then it is enough without the first.
    sleep(Duration::from_secs(5)).await;
    let _listed = client.list(&Walk::new(b"", 1)).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let asked = exclusive();
    let taught = granted(&client, &asked).await;
    assert!(taught > first, "{taught} after {first}");
    let _released = client.release(&asked.hold, Duration::ZERO).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    three.nodes[0].fail_next(4);
    let last = granted(&client, &exclusive()).await;
    assert!(last > taught, "{last} after {taught}");
}

fn of(owner: Option<&str>) -> Acquisition {
    let mut asked = exclusive();
    asked.hold.owner = owner.map(|owner| Owner::new(owner).unwrap());
    (asked.reentrant, asked.ttl) = (owner.is_some(), Duration::from_secs(1));
    asked
}

async fn fence_after_a_late_hold(ahead: u64) -> (Fence, Fence) {
    let three = Three::with_one_ahead_by(ahead).await;
    let (re_enters, other) =
        (three.client_that_knows_its_nodes().await, three.client_that_knows_its_nodes().await);
    three.nodes[0].stall_next(1, Duration::from_millis(1_500));
    let first = of(Some("owner"));
    granted(&re_enters, &first).await;
    // The lease ends everywhere, and somebody else is granted one, before the first node executes the acquisition.
    sleep(Duration::from_millis(1_100)).await;
    three.nodes[2].fail_next(1);
    let second = of(None);
    let between = granted(&other, &second).await;
    three.nodes[2].fail_next(1);
    let _released = other.release(&second.hold, Duration::ZERO).await.unwrap();
    sleep(Duration::from_millis(600)).await;
    three.nodes[1].fail_next(1);
    let mut again = of(Some("owner"));
    again.ttl = Duration::from_secs(2);
    match re_enters.acquire(&again).await {
        Ok(Acquired::Granted(grant)) => (between, grant.fence.unwrap()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_raise_that_comes_late_lowers_no_fence() {
    for ahead in [300_000, 2_000, 0] {
        let (between, last) = fence_after_a_late_hold(ahead).await;
        assert!(last > between, "with a clock {ahead} ms ahead: {last} after {between}");
    }
}

#[tokio::test]
async fn a_smaller_fence_is_not_written() {
    let server = RedisServer::start();
    let stores: [Arc<dyn QuorumNode>; 2] =
        [Arc::new(MemoryStore::default()), Arc::new(patient::open(&server.url()))];
    for store in stores {
        let asked = exclusive();
        let Ok(Acquired::Granted(grant)) = store.acquire(&asked).await else { panic!("it is free") };
        let raises = [(&asked.hold, Fence::new(grant.fence.unwrap().get() - 1))];
        assert!(store.raise_fences(&raises).await.remove(0).unwrap());
        assert_eq!(store.acquire(&asked).await.unwrap(), Acquired::Granted(grant));
    }
}
