//! Metadata that renewals replace: what it costs the server, and which records it changes.

use std::sync::Arc;

use super::*;

fn step(number: usize) -> Option<Arc<BTreeMap<String, String>>> {
    Some(Arc::new(BTreeMap::from([("step".to_owned(), format!("{number}{}", "x".repeat(1_000)))])))
}

async fn describe(store: &RedisStore, asked: &[Acquisition], told: Option<usize>) {
    let renewal = |asked| Renewal { metadata: told.and_then(step), ..Renewal::new(asked, TTL) };
    let renewals: Vec<_> = asked.iter().map(|asked| renewal(&asked.hold)).collect();
    for renewed in store.renew_each(&renewals).await {
        assert_eq!(renewed.unwrap(), Renewed::Extended);
    }
}

async fn metadata(store: &RedisStore, asked: &Acquisition) -> BTreeMap<String, String> {
    let holders = store.inspect(&asked.hold.resource, 9).await.unwrap().holders;
    holders.into_iter().find(|holder| holder.token == asked.hold.token.prefix()).unwrap().metadata
}

#[tokio::test]
async fn many_are_described_by_one_call_and_who_says_nothing_new_writes_nothing() {
    let server = RedisServer::start();
    let store = store(&server);
    let asked: Vec<_> =
        (0..64).map(|number| exclusive(&hold(&format!("r/{number}"), number as u128))).collect();
    for asked in &asked {
        granted(&store, asked).await;
    }
    for (told, writes) in [(Some(1), 64), (None, 0), (Some(2), 64), (None, 0)] {
        server.command(&["CONFIG", "RESETSTAT"]);
        describe(&store, &asked, told).await;
        assert_eq!(calls(&server, &["evalsha", "set", "hset", "pexpire"]), [1, writes, 0, 64], "{told:?}");
    }
    assert_eq!(metadata(&store, &asked[63]).await, *step(2).unwrap());
    assert_all_end(&server);
}

#[tokio::test]
async fn each_kind_of_record_is_described_also_on_a_full_server() {
    let server = RedisServer::start();
    let store = store(&server);
    let asked = one_of_each();
    for asked in &asked {
        granted(&store, asked).await;
    }
    describe(&store, &asked, Some(1)).await;
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    describe(&store, &asked, Some(2)).await;
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    for asked in &asked {
        assert_eq!(metadata(&store, asked).await, *step(2).unwrap(), "{asked:?}");
        assert!(!matches!(store.release(&asked.hold, Duration::ZERO).await, Ok(Released::NotHeld { .. })));
    }
    assert_all_end(&server);
}

#[tokio::test]
async fn the_first_renewal_of_what_plain_commands_took_tells_fence_and_metadata() {
    let server = RedisServer::start();
    let store = store(&server);
    for (number, name) in ["first", "by plain commands"].into_iter().enumerate() {
        let asked = exclusive(&hold(name, number as u128));
        let fence = Some(granted(&store, &asked).await);
        let renewals = [Renewal { fence, metadata: step(1), ..Renewal::new(&asked.hold, TTL) }];
        assert_eq!(store.renew_each(&renewals).await.remove(0).unwrap(), Renewed::Extended);
        let holder = store.inspect(&asked.hold.resource, 1).await.unwrap().holders.remove(0);
        assert_eq!((holder.fence, holder.metadata), (fence, BTreeMap::clone(&step(1).unwrap())));
    }
}

#[tokio::test]
async fn records_of_older_versions_are_described_and_garbage_is_left_alone() {
    let server = RedisServer::start();
    let store = store(&server);
    let asked = exclusive(&hold("r", 1));
    let token = asked.hold.token.to_hex();
    let holder = r#"x 1 0  {"step":"0"}"#;
    for (value, is_ours) in [
        (format!("{token}-9 {holder}"), true),
        (format!("{token}+9 {holder}"), true),
        (format!("{token}-9 x 1 0"), false),
        (format!("{token}-9 x 1 0/30000 "), false),
        (format!("{token}-x {holder}"), false),
    ] {
        server.command(&["SET", "leasehold:{r}", &value, "PX", "30000"]);
        let renewals = [Renewal { metadata: step(1), ..Renewal::new(&asked.hold, TTL) }];
        let renewed = store.renew_each(&renewals).await.remove(0);
        if is_ours {
            assert_eq!(renewed.unwrap(), Renewed::Extended, "{value}");
            assert_eq!(metadata(&store, &asked).await, *step(1).unwrap());
        } else {
            assert!(matches!(renewed, Err(StoreError::Corrupt { .. })), "{value}: {renewed:?}");
            assert_eq!(server.command(&["GET", "leasehold:{r}"]), Value::BulkString(value.into()));
        }
    }
}
