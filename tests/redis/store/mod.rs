//! What only a real server can show of the Redis store: lost scripts, broken connections, stalls, refusals.
//!
//! What a lock does in general is in `acceptance.rs`, for every store.

mod batches;
mod bounded;
mod broken;
mod described;
mod foreign;
mod idle;
mod inbox;
mod kept;
mod long;
mod numbers;
mod proxy;
mod refused;
mod seen;
mod stepped;
mod thin;
mod together;
mod waiting;
mod watch;
mod wrong_kind;

use std::collections::BTreeMap;
use std::{
    path::Path,
    time::{Duration, Instant},
};

use leasehold::{
    Certainty, Fence, Mode, Owner, RedisOptions, RedisStore, ResourceName, StoreError, Token,
    store::{Acquired, Acquisition, Hold, Inbox, Released, Renewal, Renewed, Store},
};
use redis::Value;
use support::patient;

use leasehold_testing::servers::RedisServer;

const TTL: Duration = Duration::from_secs(30);
const INBOX: Inbox = Inbox(Token::from_bits(7));

fn store(server: &RedisServer) -> RedisStore {
    patient::open(&server.url())
}

/// A store that gives up soon, for servers that do not answer.
fn impatient(url: &str) -> RedisStore {
    let quick = Duration::from_millis(150);
    let options = RedisOptions { connect_timeout: quick, response_timeout: quick, ..RedisOptions::default() };
    RedisStore::with_options(url, options).unwrap()
}

/// Returns the answer to a call that may be repeated, from an impatient store whose server may get no turn for a moment.
async fn in_the_end<T>(call: impl AsyncFn() -> Result<T, StoreError>) -> T {
    let started = Instant::now();
    loop {
        match call().await {
            Ok(answer) => return answer,
            Err(error) => assert!(error.is_transient() && started.elapsed() < TTL, "{error}"),
        }
        tokio::task::yield_now().await;
    }
}

fn hold(name: &str, token: u128) -> Hold {
    Hold { resource: ResourceName::new(name).unwrap(), token: Token::from_bits(token), owner: None }
}

fn exclusive(hold: &Hold) -> Acquisition {
    Acquisition {
        hold: hold.clone(),
        mode: Mode::Exclusive,
        reentrant: false,
        ttl: TTL,
        lock_delay: Duration::ZERO,
        metadata: BTreeMap::from([("host".into(), "a b".into())]).into(),
        ticket: None,
    }
}

fn permits(hold: &Hold) -> Acquisition {
    Acquisition { mode: Mode::permits(2, 5).unwrap(), ..exclusive(hold) }
}

/// One hold of each kind there is, each on a resource of its own.
fn one_of_each() -> Vec<Acquisition> {
    let owned = |name, token| Hold { owner: Some(Owner::new("me").unwrap()), ..hold(name, token) };
    let delayed = |asked| Acquisition { lock_delay: Duration::from_secs(5), ..asked };
    let reentrant = |asked| Acquisition { reentrant: true, ..asked };
    vec![
        exclusive(&hold("plain", 1)),
        delayed(exclusive(&hold("delayed", 2))),
        Acquisition { mode: Mode::Shared, ..exclusive(&owned("shared", 3)) },
        delayed(permits(&owned("permits", 4))),
        reentrant(exclusive(&owned("twice", 5))),
        reentrant(exclusive(&owned("twice", 6))),
    ]
}

async fn granted(store: &RedisStore, asked: &Acquisition) -> Fence {
    match store.acquire(asked).await.unwrap() {
        Acquired::Granted(grant) => grant.fence.unwrap(),
        kept_out => panic!("{asked:?} was not granted: {kept_out:?}"),
    }
}

fn number(value: Value) -> u64 {
    redis::from_redis_value(value).unwrap()
}

fn assert_all_end(server: &RedisServer) {
    for (name, left) in server.keys() {
        assert!(left >= 0, "{name} has no end");
    }
}

/// How often each of these commands was called, in scripts or not.
fn calls(server: &RedisServer, commands: &[&str]) -> Vec<u64> {
    let stats: String = redis::from_redis_value(server.command(&["INFO", "commandstats"])).unwrap();
    let of = |command: &&str| {
        let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")))?;
        line.split(',').next()?.parse().ok()
    };
    commands.iter().map(|command| of(command).unwrap_or(0)).collect()
}
