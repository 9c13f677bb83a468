//! Sentinel and Cluster while servers fail, are replaced, or give slots away: the work goes on.

mod addresses;
mod callers;
mod cluster;
mod confirmed;
mod epochs;
mod fake_sentinel;
mod sentinel;
use std::{sync::Arc, time::Duration};

use leasehold::{
    Mode, RedisOptions, RedisStore, ResourceName, StoreError,
    env::{Random, SystemRandom},
    store::{Acquired, Acquisition, Hold, Store},
};

use support::patient;

/// Longer than any failover: sentinels that got no turn for two seconds do nothing for half a minute.
const TTL: Duration = Duration::from_secs(3_600);

fn open(url: &str) -> Arc<RedisStore> {
    Arc::new(patient::open(url))
}

fn with(url: &str, options: RedisOptions) -> Arc<RedisStore> {
    Arc::new(RedisStore::with_options(url, options).unwrap())
}

/// On a busy machine a server may need a while, and a replica half of that. Half of the time to connect goes by while a sentinel is
/// silent.
fn patient() -> RedisOptions {
    let long = Duration::from_secs(4);
    RedisOptions { connect_timeout: long, response_timeout: long, ..RedisOptions::default() }
}

/// A try for this resource.
fn asked(name: &str, mode: Mode) -> Acquisition {
    Acquisition {
        hold: Hold { resource: ResourceName::new(name).unwrap(), token: SystemRandom.token(), owner: None },
        mode,
        reentrant: false,
        ttl: TTL,
        lock_delay: Duration::ZERO,
        metadata: Arc::default(),
        ticket: None,
    }
}

async fn granted(store: &RedisStore, asked: &Acquisition) {
    let answer = store.acquire(asked).await;
    assert!(matches!(answer, Ok(Acquired::Granted(_))), "{answer:?}");
}

fn is_unavailable<T>(answer: &Result<T, StoreError>) -> bool {
    matches!(answer, Err(StoreError::Unavailable { .. }))
}
