//! Values and records that another program has made long: nobody else carries them, and they do not hold the server up.

use leasehold::{
    Layout,
    store::{QueueTicket, Refusal},
};

use crate::redis::store::*;
use support::acl;

const LONG: usize = 1_000_000;
const TRIES: usize = 20;

/// The metadata of what was cut.
fn cut() -> BTreeMap<String, String> {
    BTreeMap::from([("cut".into(), "longer than 12000 bytes".into())])
}

fn long_metadata() -> String {
    format!(r#"{{"host":"{}"}}"#, "a".repeat(LONG))
}

/// Makes a resource one that somebody holds, with a record that is far too long.
fn make_long(server: &RedisServer, key: &str) {
    let value = format!("{:032x}-7 x 1 0  {}", 9, long_metadata());
    server.command(&["SET", key, &value, "PX", "60000"]);
}

/// The bytes that a server has sent to all.
fn sent(server: &RedisServer) -> usize {
    let stats: String = redis::from_redis_value(server.command(&["INFO", "stats"])).unwrap();
    let line = stats.lines().find_map(|line| line.strip_prefix("total_net_output_bytes:"));
    line.unwrap().trim().parse().unwrap()
}

async fn refused(store: &RedisStore, asked: &Acquisition) -> Refusal {
    match store.acquire(asked).await.unwrap() {
        Acquired::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn plain_commands_read_what_is_long_once() {
    let server = RedisServer::start();
    let store = store(&server);
    make_long(&server, "leasehold:{r}");
    server.command(&["SET", "leasehold:{foreign}", &"a".repeat(LONG)]);
    for name in ["r", "foreign"] {
        // A script that grants comes first on each connection.
        granted(&store, &exclusive(&hold(&format!("before {name}"), 1))).await;
        let before = sent(&server);
        for token in 0..5 {
            let answer = store.acquire(&exclusive(&hold(name, 100 + token))).await;
            assert!(
                matches!(answer, Ok(Acquired::Refused(_)) | Err(StoreError::Corrupt { .. })),
                "{answer:?}"
            );
        }
        let read = (sent(&server) - before) / LONG;
        assert_eq!(read, 1, "{name}");
    }
}

#[tokio::test]
async fn a_refusal_carries_no_long_record() {
    let server = RedisServer::start();
    let store = store(&server);
    make_long(&server, "leasehold:{r}");
    let before = sent(&server);
    for number in 0..TRIES {
        let refusal = refused(&store, &exclusive(&hold("r", 100 + number as u128))).await;
        assert_eq!((refusal.by.fence, refusal.by.metadata), (Some(Fence::new(7)), cut()));
    }
    let holders = store.inspect(&ResourceName::new("r").unwrap(), 10).await.unwrap().holders;
    assert_eq!(holders[0].metadata, cut());
    assert!(sent(&server) - before < LONG / 4);
    // Nobody reads all of it, for that takes the server long. A release of what nobody holds does not either. An inspection
    // gets the number of permits that is set.
    let _ = store.release(&hold("r", 100), Duration::ZERO).await.unwrap();
    assert_eq!(calls(&server, &["get", "mget"]), [1, 0]);
}

#[tokio::test]
async fn a_refusal_carries_no_long_record_of_one_of_several_holders() {
    let server = RedisServer::start();
    let store = store(&server);
    for asked in one_of_each() {
        granted(&store, &asked).await;
    }
    let mut before = sent(&server);
    for (name, token, letter) in [("shared", 3, "s 1"), ("permits", 4, "p 2/5"), ("twice", 6, "x 1")] {
        let record = format!("7 {letter} 0 me {}", long_metadata());
        server.command(&["HSET", &format!("leasehold:{{{name}}}:d"), &format!("{token:032x}"), &record]);
        before = before.max(sent(&server));
        let mut told = vec![];
        for number in 0..TRIES {
            told.push(refused(&store, &exclusive(&hold(name, 100 + number as u128))).await.by.metadata);
        }
        let inspection = store.inspect(&ResourceName::new(name).unwrap(), 10).await.unwrap();
        told.extend(inspection.holders.into_iter().map(|holder| holder.metadata));
        assert!(told.contains(&cut()), "{name}");
    }
    assert!(sent(&server) - before < LONG / 4);
}

#[tokio::test]
async fn an_inspection_carries_no_long_record_of_a_waiter() {
    let server = RedisServer::start();
    let store = store(&server);
    granted(&store, &exclusive(&hold("r", 1))).await;
    let ticket = QueueTicket { inbox: INBOX, ttl: TTL, grant_window: TTL, max_waiters: 10, place: None };
    let waiter = Acquisition { ticket: Some(ticket), ..exclusive(&hold("r", 2)) };
    assert!(matches!(store.acquire(&waiter).await.unwrap(), Acquired::Queued { .. }));
    let record = format!("5 0 inbox 1000 30000 0 x 1 0  {}", long_metadata());
    server.command(&["HSET", "leasehold:{r}:w", &format!("{:032x}", 2), &record]);
    let before = sent(&server);
    let waiters = store.inspect(&ResourceName::new("r").unwrap(), 10).await.unwrap().waiters;
    assert_eq!(waiters[0].metadata, cut());
    assert!(sent(&server) - before < LONG / 4);
}

#[tokio::test]
async fn a_long_value_that_is_no_record_is_corrupt_and_is_not_carried_either() {
    let server = RedisServer::start();
    let store = store(&server);
    let (ones, token) = ("1".repeat(LONG), format!("{:032x}", 9));
    let before = sent(&server);
    for value in [
        ones.clone(),
        format!("*p{ones}"),
        format!("*x{ones}"),
        "*p".into(),
        "*p/5".into(),
        "*p5/".into(),
        "*s5/2".into(),
        "*x7/3".into(),
        format!("{token}-{ones} x 1 0  {{}}"),
        format!("{token}-7 x 1 0 {ones} {{}}"),
    ] {
        server.command(&["SET", "leasehold:{r}", &value, "PX", "60000"]);
        for asked in [exclusive(&hold("r", 1)), permits(&hold("r", 2))] {
            let error = store.acquire(&asked).await.unwrap_err();
            assert_eq!(error.kind(), "corrupt", "{} … {error}", value.get(..40).unwrap_or(&value));
        }
        let error = store.inspect(&hold("r", 1).resource, 10).await.unwrap_err();
        assert_eq!(error.kind(), "corrupt", "{} … {error}", value.get(..40).unwrap_or(&value));
    }
    assert!(sent(&server) - before < LONG / 4);
}

#[tokio::test]
async fn the_plain_layout_reads_no_long_value_of_another_library() {
    let server = RedisServer::start();
    let options = RedisOptions { layout: Layout::Plain, prefix: "p".into(), ..patient::patient() };
    let store = RedisStore::with_options(&server.url(), options).unwrap();
    server.command(&["SET", "p:r", &"0123456789".repeat(LONG / 10), "PX", "60000"]);
    let refusal = refused(&store, &exclusive(&hold("r", 1))).await;
    assert_eq!(refusal.by.token.to_string(), "01234567");
    assert_eq!(calls(&server, &["get"]), [0]);
}

/// The rules that people have written down do not have it.
#[tokio::test]
async fn a_user_without_the_right_to_getrange_locks_all_the_same() {
    let server = RedisServer::start();
    let url = acl::url_of(&server, "locker");
    server.command(&["ACL", "SETUSER", "locker", "-getrange"]);
    let store = patient::open(&url);
    for asked in one_of_each() {
        granted(&store, &asked).await;
        assert_eq!(store.renew(&asked.hold, TTL).await.unwrap(), Renewed::Extended);
        assert!(refused(&store, &exclusive(&hold("plain", 100))).await.by.fence.is_some());
    }
    for asked in one_of_each() {
        let released = store.release(&asked.hold, Duration::ZERO).await.unwrap();
        assert!(matches!(released, Released::Freed | Released::StillHeld { .. }), "{released:?}");
        let again = store.release(&asked.hold, Duration::ZERO).await.unwrap();
        assert!(matches!(again, Released::NotHeld { .. }), "{again:?}");
    }
}
