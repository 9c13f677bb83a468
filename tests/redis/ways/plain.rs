//! The plain layout as other libraries see it.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use leasehold::{
    Acquire, AcquireError, Fence, Inspection, Layout, LockManager, RedisOptions, RedisStore, RenewError,
    StoreError, Token,
    store::{Acquired, Inbox, QuorumNode, Released, Renewed, Store, Walk},
};
use redis::Value;

use crate::redis::ways::{TTL, exclusive};
use leasehold_testing::servers::RedisServer;
use support::patient::patient;

const COMPARE_AND_DELETE: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

pub(crate) fn store(server: &RedisServer) -> RedisStore {
    let options = RedisOptions { layout: Layout::Plain, prefix: String::new(), ..patient() };
    RedisStore::with_options(&server.url(), options).unwrap()
}

#[tokio::test]
async fn the_key_is_the_name_and_the_value_the_token() {
    let server = RedisServer::start();
    let (asked, began) = (exclusive("orders/{42}", 0xabc), Instant::now());
    assert!(matches!(store(&server).acquire(&asked).await, Ok(Acquired::Granted(_))));
    let [(key, left)] = &server.keys()[..] else { panic!("{:?}", server.keys()) };
    let at_least = 29_998 - began.elapsed().as_millis() as i64;
    assert!(key == "orders/{42}" && (at_least..=30_000).contains(left), "{key} {left}");
    let token = asked.hold.token.to_hex();
    assert_eq!(server.command(&["GET", key]), Value::BulkString(token.clone().into()));
    // As another library would: it is kept out, and could release with the token.
    assert_eq!(server.command(&["SET", key, "mine", "NX", "PX", "1000"]), Value::Nil);
    assert_eq!(server.command(&["EVAL", COMPARE_AND_DELETE, "1", key, &token]), Value::Int(1));
    assert_eq!(
        store(&server).release(&asked.hold, Duration::ZERO).await.unwrap(),
        Released::NotHeld { count: 0 }
    );
}

#[tokio::test]
async fn what_another_library_holds_is_refused_shown_and_left_alone() {
    let server = RedisServer::start();
    let store = store(&server);
    for (value, prefix) in [
        ("5bf1C0ffee3e4c1c9a4ff44a5a7c1f00", "5bf1c0ff"),
        ("\u{1}\u{2}\u{3}\u{4}\u{5}", "01020304"),
        ("a", "61000000"),
        ("", "00000000"),
    ] {
        server.command(&["SET", "r", value, "PX", "60000"]);
        let asked = exclusive("r", 1);
        let Acquired::Refused(refusal) = store.acquire(&asked).await.unwrap() else { panic!("{value:?}") };
        assert_eq!(refusal.by.token.to_string(), prefix);
        assert!(refusal.remaining > TTL && refusal.remaining <= 2 * TTL, "{refusal:?}");
        assert_eq!(store.renew(&asked.hold, TTL).await.unwrap(), Renewed::NotHeld);
        assert_eq!(store.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::NotHeld { count: 0 });
        assert_eq!(server.command(&["GET", "r"]), Value::BulkString(value.into()));
    }
    // Locked without an end, as redis-py does unless it is told a timeout.
    server.command(&["SET", "r", "endless"]);
    let Inspection { holders, .. } = store.inspect(&exclusive("r", 1).hold.resource, 1).await.unwrap();
    assert!(holders[0].remaining > 1_000_000 * TTL, "{holders:?}");
    let Acquired::Refused(refusal) = store.acquire(&exclusive("r", 1)).await.unwrap() else { panic!() };
    assert!(refusal.remaining > 1_000_000 * TTL, "{refusal:?}");
    assert_eq!(server.keys(), [("r".to_owned(), -1)]);
}

#[tokio::test]
async fn a_key_that_is_no_string_is_not_listed() {
    let server = RedisServer::start();
    server.command(&["HSET", "r", "field", "value"]);
    assert!(store(&server).list(&Walk::new(b"", 10)).await.unwrap().resources.is_empty());
}

#[tokio::test]
async fn there_is_no_fence_to_raise() {
    let server = RedisServer::start();
    let held = exclusive("r", 1).hold;
    let raised = store(&server).raise_fences(&[(&held, Fence::new(1))]).await.remove(0);
    assert!(matches!(raised, Err(StoreError::Unsupported { .. })), "{raised:?}");
}

#[tokio::test]
async fn there_is_nothing_to_listen_to() {
    let server = RedisServer::start();
    assert!(store(&server).listen(&Inbox(Token::from_bits(1))).next().await.is_none());
}

#[actix::test]
async fn whoever_waits_gets_what_another_library_releases() {
    let server = RedisServer::start();
    let locks = LockManager::builder(std::sync::Arc::new(store(&server))).start().unwrap();
    server.command(&["SET", "r", "theirs", "PX", "60000"]);
    let refused = locks.send(Acquire::new("r")).await.unwrap().unwrap_err();
    assert!(matches!(refused, AcquireError::Held { .. }), "{refused}");
    let refused = locks.send(Acquire::new("r").owner("me").wait(TTL)).await.unwrap().unwrap_err();
    assert!(matches!(refused, AcquireError::Store(StoreError::Unsupported { .. })), "{refused}");

    let release = async {
        server.command(&["EVAL", COMPARE_AND_DELETE, "1", "r", "theirs"]);
    };
    let hold = async || {
        let lease = locks.send(Acquire::new("r").wait(TTL)).await.unwrap().unwrap();
        assert_eq!(lease.fence(), None);
        lease.release().await.unwrap();
    };
    futures_util::join!(hold(), hold(), release);
    assert!(server.keys().is_empty(), "{:?}", server.keys());
}

#[actix::test]
async fn a_lease_in_the_plain_layout_says_that_it_cannot_be_described() {
    let server = RedisServer::start();
    let locks = LockManager::builder(std::sync::Arc::new(store(&server))).start().unwrap();
    let lease = locks.send(Acquire::new("r").ttl(TTL).no_renew()).await.unwrap().unwrap();
    let error = lease.describe([("step", "1")]).unwrap_err();
    assert!(matches!(error, RenewError::Store(StoreError::Unsupported { .. })), "{error:?}");
    let expected = "this store has no descriptions of leases: it keeps no records of holders; on Redis use store.layout = \"full\"";
    assert_eq!(error.to_string(), expected);
    lease.renew().await.unwrap();
    let token = lease.token().to_hex();
    assert_eq!(server.command(&["GET", "r"]), Value::BulkString(token.into()), "and nothing was sent");
}
