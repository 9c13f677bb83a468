//! Stores for servers that may get no turn for seconds, on a busy machine.

use std::time::Duration;

use leasehold::{RedisOptions, RedisStore};

/// The options of a store that waits longer for its server than a busy machine keeps one waiting.
pub fn patient() -> RedisOptions {
    const LONG: Duration = Duration::from_secs(30);
    RedisOptions { connect_timeout: LONG, response_timeout: LONG, ..RedisOptions::default() }
}

/// Returns a store of these options.
pub fn open(url: &str) -> RedisStore {
    RedisStore::with_options(url, patient()).unwrap()
}
