//! A store of Redis on which each call is delivered twice, at each node of a quorum.

use std::sync::Arc;

use leasehold::{
    Config, QuorumOptions, QuorumStore, RedisStore,
    store::{QuorumNode, Store},
};
use leasehold_testing::decorated::{Decorated, Hooks};

#[derive(Debug)]
struct Unhooked;

impl Hooks for Unhooked {}

/// Opens the store of a configuration.
pub(super) fn repeating(config: &Config) -> Arc<dyn Store> {
    let one = |url: &str| {
        let server = RedisStore::with_options(url, config.redis_options()).unwrap();
        Decorated::new(server, Unhooked).repeated()
    };
    let Some(nodes) = config.store.url.nodes().unwrap() else {
        return Arc::new(one(config.store.url.reveal()));
    };
    let nodes = nodes.iter().map(|url| (url.to_string(), Arc::new(one(url.reveal())) as Arc<dyn QuorumNode>));
    let options = QuorumOptions {
        node_timeout: config.store.node_timeout,
        connect_timeout: config.store.connect_timeout,
        max_ttl: config.limits.max_ttl,
        fresh_start: config.store.fresh_start,
    };
    Arc::new(QuorumStore::new(nodes, options).unwrap())
}
