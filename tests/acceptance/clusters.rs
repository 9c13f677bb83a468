//! Sentinel and Cluster: started once for all facts that run together, each of which has them for itself.

use std::{sync::Arc, time::Duration};

use leasehold::{
    Layout, RedisOptions, RedisStore, ResourceName,
    store::{QuorumNode, Store},
};
use leasehold_testing::acceptance::{World, unique};

use leasehold_testing::servers::{RedisCluster, Sentinels, one_on_each_master};
use support::patient::patient;
use support::shared::{Shared, Turn};

/// On a busy machine a server may need a while.
fn plain() -> RedisOptions {
    RedisOptions { layout: Layout::Plain, prefix: "locks".to_owned(), ..patient() }
}

/// Servers, and a store on them.
pub(crate) struct On<Servers: 'static> {
    servers: Turn<Servers>,
    store: Arc<RedisStore>,
}

impl<Servers> On<Servers> {
    fn open(servers: Turn<Servers>, url: &str, options: RedisOptions) -> Self {
        Self { servers, store: Arc::new(RedisStore::with_options(url, options).unwrap()) }
    }
}

fn sentinels(options: RedisOptions) -> On<Sentinels> {
    static SERVERS: Shared<Sentinels> = Shared::new();
    let servers = SERVERS.turn(Sentinels::calm);
    let url = servers.value.url();
    On::open(servers, &url, options)
}

fn cluster(options: RedisOptions) -> On<RedisCluster> {
    static CLUSTER: Shared<RedisCluster> = Shared::new();
    let cluster = CLUSTER.turn(RedisCluster::with_clock);
    let url = cluster.value.url();
    On::open(cluster, &url, options)
}

/// Stamps a world: its name, and how its servers and its store are made.
macro_rules! world {
    ($world:ident, $servers:ty, $open:expr $(, $more:item)?) => {
        pub(crate) struct $world(On<$servers>);

        impl World for $world {
            async fn start() -> Self {
                Self($open)
            }

            fn store(&self) -> Arc<dyn Store> {
                self.0.store.clone()
            }

            fn node(&self) -> Option<Arc<dyn QuorumNode>> {
                Some(self.0.store.clone())
            }

            async fn pass(&self, time: Duration) {
                self.0.servers.value.advance(time);
            }

            $($more)?
        }
    };
}

world!(SentinelWorld, Sentinels, sentinels(patient()));
world!(PlainSentinelWorld, Sentinels, sentinels(plain()));
world!(
    ClusterWorld,
    RedisCluster,
    cluster(patient()),
    fn everywhere(&self) -> Vec<ResourceName> {
        let names = one_on_each_master(|| unique("fact/"));
        names.iter().map(|name| ResourceName::new(name).unwrap()).collect()
    }
);
world!(PlainClusterWorld, RedisCluster, cluster(plain()));
