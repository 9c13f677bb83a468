//! What is kept on the server: keys, their ends, what is cleared away, what a verb costs.

use crate::redis::store::*;
use leasehold::store::{Store, Walk};

#[tokio::test]
async fn no_key_is_without_an_end_and_none_is_left_over() {
    let server = RedisServer::with_clock();
    let store = store(&server);
    for cooldown in [Duration::ZERO, TTL] {
        for asked in one_of_each() {
            granted(&store, &asked).await;
            assert_all_end(&server);
        }
        for asked in one_of_each() {
            store.renew(&asked.hold, 2 * TTL).await.unwrap();
            assert_all_end(&server);
        }
        for asked in one_of_each() {
            let _ = store.release(&asked.hold, cooldown).await.unwrap();
            assert_all_end(&server);
        }
        server.advance(cooldown + Duration::from_millis(1));
        let left = server.keys();
        assert!(left.iter().all(|(name, _)| name == "leasehold:fence"), "{left:?}");
    }
}

#[tokio::test]
async fn fences_grow_over_a_restart_that_forgot_everything() {
    let mut server = RedisServer::start();
    let store = store(&server);
    let asked = exclusive(&hold("r", 1));
    let before = granted(&store, &asked).await;
    server.restart();
    assert!(granted(&store, &asked).await > before);
}

#[tokio::test]
async fn a_list_is_in_order_and_bounded() {
    let server = RedisServer::start();
    let store = store(&server);
    for n in 0..30 {
        granted(&store, &permits(&hold(&format!("job/{n:04}"), n))).await;
    }
    granted(&store, &exclusive(&hold("other", 1))).await;
    let all = store.list(&Walk::new(b"job/", 100)).await.unwrap();
    let names =
        |from, to| (from..to).map(|n| ResourceName::new(format!("job/{n:04}")).unwrap()).collect::<Vec<_>>();
    assert_eq!((all.resources, all.complete), (names(0, 30), true));
    let some = store.list(&Walk::new(b"job/", 10)).await.unwrap();
    assert_eq!((some.resources, some.complete), (names(0, 10), false));
    assert_eq!(store.list(&Walk::new(b"", 100)).await.unwrap().resources.len(), 31);
    assert_eq!(store.list(&Walk::new(b"nothing", 100)).await.unwrap().resources, []);
}

#[tokio::test]
async fn stores_with_different_prefixes_do_not_meet() {
    let server = RedisServer::start();
    let options = RedisOptions { prefix: "other".into(), ..patient::patient() };
    let other = RedisStore::with_options(&server.url(), options).unwrap();
    granted(&store(&server), &exclusive(&hold("r", 1))).await;
    granted(&other, &exclusive(&hold("r", 2))).await;
    assert_eq!(other.list(&Walk::new(b"", 10)).await.unwrap().resources.len(), 1);
}

#[tokio::test]
async fn an_exclusive_lock_is_one_key_and_few_commands() {
    let server = RedisServer::start();
    let store = store(&server);
    let plain = hold("r", 1);
    granted(&store, &exclusive(&plain)).await;
    let _ = store.release(&plain, Duration::ZERO).await.unwrap();

    server.command(&["CONFIG", "RESETSTAT"]);
    granted(&store, &exclusive(&plain)).await;
    assert_eq!(calls(&server, &["incrby", "set", "exists", "mget", "evalsha"]), [1, 1, 1, 1, 0]);
    assert_eq!(server.keys().len(), 2, "the lock and the fence");
    let _ = store.release(&plain, Duration::ZERO).await.unwrap();
    assert_eq!(calls(&server, &["getrange", "del", "evalsha"]), [1, 1, 1]);
}

#[tokio::test]
async fn ten_thousand_dead_holders_are_cleared_away() {
    let server = RedisServer::with_clock();
    let store = store(&server);
    let shared = |token, ttl| Acquisition { mode: Mode::Shared, ttl, ..exclusive(&hold("r", token)) };
    let living = shared(0, 10 * TTL);
    granted(&store, &living).await;
    for token in 1..=10_000 {
        granted(&store, &shared(token, TTL)).await;
    }
    server.advance(2 * TTL);
    let inspection = store.inspect(&living.hold.resource, 10).await.unwrap();
    assert_eq!((inspection.total, inspection.holders.len()), (1, 1));
    // Each verb clears so many away, and no more.
    let mut verbs = 1;
    while number(server.command(&["ZCARD", "leasehold:{r}:h"])) > 1 && verbs < 1_000 {
        granted(&store, &living).await;
        verbs += 1;
    }
    assert!((25..200).contains(&verbs), "{verbs}");
    assert_eq!(number(server.command(&["ZCARD", "leasehold:{r}:h"])), 1);
    assert_eq!(number(server.command(&["HLEN", "leasehold:{r}:d"])), 1);
}

#[tokio::test]
async fn permits_of_the_dead_are_free_again() {
    let server = RedisServer::with_clock();
    let store = store(&server);
    let (dying, living) = (permits(&hold("r", 1)), permits(&hold("r", 2)));
    granted(&store, &Acquisition { ttl: 2 * TTL, ..living.clone() }).await;
    granted(&store, &dying).await;
    let asked = Acquisition { mode: Mode::permits(3, 5).unwrap(), ..exclusive(&hold("r", 3)) };
    assert!(matches!(store.acquire(&asked).await.unwrap(), Acquired::Refused(_)));
    server.advance(TTL + Duration::from_millis(1));
    granted(&store, &asked).await;
    assert!(store.is_held(&living.hold).await.unwrap() && !store.is_held(&dying.hold).await.unwrap());
}
