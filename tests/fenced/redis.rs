//! Keys of Redis that only the largest fence sets.

use std::{collections::BTreeSet, sync::Arc};

use leasehold::{
    Acquire, Fence, Layout, LockManager, RedisOptions, RedisStore,
    fenced::{
        Fenced, FencedWriteError, OpenError,
        redis::{enter, fence_key, set},
    },
};
use redis::{AsyncCommands, AsyncConnectionConfig, Client, Value, aio::MultiplexedConnection};
use tokio::task::JoinSet;

use leasehold_testing::servers::RedisServer;
use support::patient::patient;

async fn connect(server: &RedisServer) -> MultiplexedConnection {
    let unhurried = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    let client = Client::open(server.url()).unwrap();
    client.get_multiplexed_async_connection_with_config(&unhurried).await.unwrap()
}

fn fence(number: u64) -> Fence {
    Fence::new(number)
}

#[tokio::test]
async fn an_older_fence_does_not_set_a_key() {
    let server = RedisServer::start();
    let mut connection = connect(&server).await;
    // As text 10 comes before 9; as numbers of Lua the last two are the same.
    for (older, newer) in [(9, 10), (10, 11), ((1 << 53) - 1, 1 << 53), (1 << 53, (1 << 53) + 1)] {
        set(&mut connection, "report", newer, fence(newer)).await.unwrap();
        let refused = set(&mut connection, "report", older, fence(older)).await.unwrap_err();
        let FencedWriteError::Stale(stale) = refused else { panic!("{refused:?}") };
        assert_eq!((stale.fence, stale.known), (fence(older), Some(fence(newer))));
        set(&mut connection, "report", newer, fence(newer)).await.unwrap();
        assert_eq!(connection.get::<_, u64>("report").await.unwrap(), newer);
    }
    let keys = server.keys();
    assert_eq!(keys, [(fence_key("report"), -1), ("report".to_owned(), -1)]);
}

#[tokio::test]
async fn a_holder_that_has_entered_cannot_be_overwritten_by_an_older_one() {
    let server = RedisServer::start();
    let mut connection = connect(&server).await;
    set(&mut connection, "report", "old", fence(41)).await.unwrap();
    enter(&mut connection, "report", fence(42)).await.unwrap();
    let refused = set(&mut connection, "report", "late", fence(41)).await.unwrap_err();
    assert_eq!(refused.to_string(), "fence 41 is stale: 42 is known");
    assert!(enter(&mut connection, "report", fence(41)).await.is_err());
    assert_eq!(connection.get::<_, String>("report").await.unwrap(), "old");
}

#[tokio::test]
async fn fifty_writers_leave_the_value_of_the_largest_fence() {
    let server = RedisServer::start();
    let mut writers = JoinSet::new();
    for number in (1..=50).rev() {
        let mut connection = connect(&server).await;
        writers.spawn(async move { set(&mut connection, "report", number, fence(number)).await });
    }
    for written in writers.join_all().await {
        assert!(matches!(written, Ok(()) | Err(FencedWriteError::Stale(_))), "{written:?}");
    }
    assert_eq!(connect(&server).await.get::<_, u64>("report").await.unwrap(), 50);
}

#[tokio::test]
async fn a_key_that_cannot_be_written_is_an_error_with_its_cause() {
    let server = RedisServer::start();
    let mut connection = connect(&server).await;
    server.command(&["LPUSH", &fence_key("report"), "no number"]);
    let error = set(&mut connection, "report", 7, fence(7)).await.unwrap_err();
    assert!(format!("{error:?}").contains("WRONGTYPE"), "{error:?}");
    for damaged in ["", "-1", "seven"] {
        server.command(&["SET", &fence_key("report"), damaged]);
        let error = set(&mut connection, "report", 7, fence(7)).await.unwrap_err();
        assert!(format!("{error:?}").contains("has no fence"), "{error:?}");
    }
    assert_eq!(connection.get::<_, Option<String>>("report").await.unwrap(), None);
}

#[test]
fn a_key_and_its_fence_are_in_one_slot_of_a_cluster() {
    let server = RedisServer::with_args(&["--cluster-enabled", "yes"]);
    let slot = |key: &str| match server.command(&["CLUSTER", "KEYSLOT", key]) {
        Value::Int(slot) => slot,
        other => panic!("{other:?}"),
    };
    let tagged = ["report", "{report}", "reports:{7}", "{7}:{8}", "a{b", "a}b{7}"];
    let untagged = ["", "}", "a}b", "{}", "{}x{y}", "}{", "a{}b", "{}{}", "}}", "ü}"];
    let keys = [&tagged[..], &untagged].concat();
    for key in keys.iter().copied() {
        assert_eq!(slot(key), slot(&fence_key(key)), "{key}");
    }
    let different: BTreeSet<_> = keys.iter().copied().map(fence_key).collect();
    assert_eq!(different.len(), keys.len());
}

#[tokio::test]
async fn a_key_with_braces_is_written_on_a_cluster() {
    let server = RedisServer::with_args(&["--cluster-enabled", "yes"]);
    server.command(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    let ready = || {
        let info: String = redis::from_redis_value(server.command(&["CLUSTER", "INFO"])).unwrap();
        info.contains("cluster_state:ok")
    };
    while !ready() {
        tokio::task::yield_now().await;
    }
    let mut connection = connect(&server).await;
    for key in ["report", "reports:{7}", "a}b", "{}", "{}x{y}"] {
        enter(&mut connection, key, fence(8)).await.unwrap();
        set(&mut connection, key, 8, fence(8)).await.unwrap();
        let stale = set(&mut connection, key, 7, fence(7)).await;
        assert!(matches!(stale, Err(FencedWriteError::Stale(_))), "{key}: {stale:?}");
        assert_eq!(connection.get::<_, u64>(key).await.unwrap(), 8, "{key}");
    }
}

#[actix::test]
async fn a_lease_of_the_plain_layout_has_no_fence_and_opens_nothing() {
    let server = RedisServer::start();
    let options = RedisOptions { layout: Layout::Plain, ..patient() };
    let store = RedisStore::with_options(&server.url(), options).unwrap();
    let locks = LockManager::builder(Arc::new(store)).start().unwrap();
    let lease = locks.send(Acquire::new("ledger")).await.unwrap().unwrap();
    let refused = Fenced::new("ledger", ()).unwrap().open(&lease).map(drop).unwrap_err();
    assert!(matches!(refused, OpenError::NoFence { .. }), "{refused}");
}
