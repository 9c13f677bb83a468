//! Every store does what the contract says: one suite, stamped for each of them.

mod clusters;
mod quorums;
mod servers;

use std::{sync::Arc, time::Duration};

use leasehold::{
    MemoryStore, RedisStore,
    store::{QuorumNode, Store},
};
use leasehold_testing::{acceptance, acceptance::World};

use self::{
    clusters::{ClusterWorld, PlainClusterWorld, PlainSentinelWorld, SentinelWorld},
    quorums::{QuorumWorld, RedisQuorumWorld},
    servers::{AclWorld, OldWorld, PlainAclWorld, PlainWorld, ReplicatedWorld, TlsWorld, ValkeyWorld},
};
use leasehold_testing::servers::RedisServer;
use support::clock::TestClock;
use support::patient::patient;

struct MemoryWorld {
    clock: Arc<TestClock>,
    store: MemoryStore,
}

impl World for MemoryWorld {
    async fn start() -> Self {
        let clock = Arc::new(TestClock::new());
        let store = MemoryStore::new(clock.clone());
        Self { clock, store }
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    fn node(&self) -> Option<Arc<dyn QuorumNode>> {
        Some(Arc::new(self.store.clone()))
    }

    async fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }
}

struct RedisWorld {
    server: RedisServer,
    store: Arc<RedisStore>,
}

impl World for RedisWorld {
    async fn start() -> Self {
        let server = RedisServer::with_clock();
        let store = Arc::new(RedisStore::with_options(&server.url(), patient()).unwrap());
        Self { server, store }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    fn node(&self) -> Option<Arc<dyn QuorumNode>> {
        Some(self.store.clone())
    }

    async fn pass(&self, time: Duration) {
        self.server.advance(time);
    }
}

acceptance!(memory: MemoryWorld);
acceptance!(redis: RedisWorld);
acceptance!(quorum: QuorumWorld, exclusive, reentry, shared, ends, inspection, names, several, notices);
acceptance!(redis_quorum: RedisQuorumWorld, exclusive, reentry, shared, ends, inspection, names, several, notices);
acceptance!(redis_6_2: OldWorld);
acceptance!(valkey_9: ValkeyWorld);
// Its user may not ask which life of the server it is.
acceptance!(acl: AclWorld, exclusive, reentry, shared, permits, ends, inspection, names, queue, leaving, hand_over, heads, next, dead, batches, passing, overtaking, together, at_one_moment, numbered, notices, registers, fences);
acceptance!(tls: TlsWorld);
acceptance!(replicated: ReplicatedWorld, passing, batches, together, numbered, registers);
acceptance!(plain: PlainWorld, textbook, registers);
acceptance!(plain_acl: PlainAclWorld, textbook, registers);
acceptance!(sentinel: SentinelWorld);
// Resources in different slots are not taken at one moment.
acceptance!(cluster: ClusterWorld, exclusive, reentry, shared, permits, ends, inspection, names, queue, leaving, hand_over, heads, next, dead, batches, passing, overtaking, together, numbered, notices, registers, fences);
acceptance!(plain_sentinel: PlainSentinelWorld, textbook, registers);
acceptance!(plain_cluster: PlainClusterWorld, textbook, registers);
