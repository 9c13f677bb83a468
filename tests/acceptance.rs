//! Every store does what the contract says: one suite, stamped for each of them.

#[macro_use]
#[path = "support/acceptance/mod.rs"]
mod acceptance;
mod support;

use std::{sync::Arc, time::Duration};

use leasehold::{
    protocol::ResourceName,
    store::{MemoryStore, RedisStore, Store},
};

use self::{
    acceptance::{World, unique},
    support::{
        clock::TestClock,
        cluster::{RedisCluster, one_on_each_master},
        redis_server::RedisServer,
        sentinels::Sentinels,
        shared::{Shared, Turn},
    },
};

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
        let store = Arc::new(RedisStore::open(&server.url()).unwrap());
        Self { server, store }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn pass(&self, time: Duration) {
        self.server.advance(time);
    }
}

struct SentinelWorld {
    servers: Turn<Sentinels>,
    store: Arc<RedisStore>,
}

impl World for SentinelWorld {
    async fn start() -> Self {
        static SERVERS: Shared<Sentinels> = Shared::new();
        let servers = SERVERS.turn(Sentinels::start);
        let store = Arc::new(RedisStore::open(&servers.value.url()).unwrap());
        Self { servers, store }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn pass(&self, time: Duration) {
        self.servers.value.advance(time);
    }
}

struct ClusterWorld {
    cluster: Turn<RedisCluster>,
    store: Arc<RedisStore>,
}

impl World for ClusterWorld {
    async fn start() -> Self {
        static CLUSTER: Shared<RedisCluster> = Shared::new();
        let cluster = CLUSTER.turn(RedisCluster::with_clock);
        let store = Arc::new(RedisStore::open(&cluster.value.url()).unwrap());
        Self { cluster, store }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn pass(&self, time: Duration) {
        self.cluster.value.advance(time);
    }

    fn everywhere(&self) -> Vec<ResourceName> {
        let names = one_on_each_master(|| unique("fact/"));
        names.iter().map(|name| ResourceName::new(name).unwrap()).collect()
    }
}

acceptance!(memory: MemoryWorld);
acceptance!(redis: RedisWorld);
acceptance!(sentinel: SentinelWorld);
// Resources in different slots are not taken at one moment.
acceptance!(cluster: ClusterWorld, exclusive, reentry, shared, permits, ends, inspection, names, queue, leaving, hand_over, heads, next, batches, passing, overtaking, together);
