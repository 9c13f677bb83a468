//! Quorums of five as stores under test: of memory stores, and of servers.

use std::{sync::Arc, time::Duration};

use leasehold::{
    MemoryStore, QuorumOptions, QuorumStore, RedisStore, ResourceName,
    store::{QuorumNode, Store},
};
use leasehold_testing::acceptance::{World, unique};

use leasehold_testing::servers::RedisServer;
use support::clock::TestClock;
use support::patient::patient;

/// How the quorums under test use their nodes, which have just been started. Nodes may be slow on a busy machine.
fn fresh() -> QuorumOptions {
    QuorumOptions { node_timeout: Duration::from_secs(5), fresh_start: true, ..QuorumOptions::default() }
}

/// A quorum of memory stores.
pub(crate) struct QuorumWorld {
    clock: Arc<TestClock>,
    store: Arc<QuorumStore>,
}

impl World for QuorumWorld {
    const PERMITS: bool = false;

    async fn start() -> Self {
        let clock = Arc::new(TestClock::new());
        let node = |number: u32| {
            let store: Arc<dyn QuorumNode> = Arc::new(MemoryStore::new(clock.clone()));
            (format!("memory {number}"), store)
        };
        let store = QuorumStore::with_clock((1..=5).map(node), fresh(), clock.clone()).unwrap();
        Self { clock, store: Arc::new(store) }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }
}

/// A quorum of servers.
pub(crate) struct RedisQuorumWorld {
    servers: Vec<RedisServer>,
    store: Arc<QuorumStore>,
}

impl World for RedisQuorumWorld {
    const PERMITS: bool = false;

    async fn start() -> Self {
        let servers: Vec<_> = (0..5).map(|_| RedisServer::with_clock()).collect();
        let mut nodes = Vec::new();
        for server in &servers {
            let store: Arc<dyn QuorumNode> =
                Arc::new(RedisStore::with_options(&server.url(), patient()).unwrap());
            // Connected before the first fact, or verbs that are sent at once might arrive in another order on each.
            store.incarnation().await.unwrap();
            nodes.push((server.url(), store));
        }
        Self { servers, store: Arc::new(QuorumStore::new(nodes, fresh()).unwrap()) }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    /// A verb is answered by a majority, and may be on its way to the others: if their clocks were moved before it
    /// arrives, what it asks for would end that much later there. So first all of them have to answer something later.
    async fn pass(&self, time: Duration) {
        let name = ResourceName::new(unique("settled/")).unwrap();
        // Twice: what is late may be followed by something.
        for _ in 0..2 {
            self.store.inspect(&name, 1).await.unwrap();
        }
        self.servers.iter().for_each(|server| server.advance(time));
    }
}
