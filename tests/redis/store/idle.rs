//! A connection that ended, or was forgotten, while nobody used it: nothing is sent on it, and every outcome is certain.

use std::sync::Arc;

use crate::redis::store::{proxy::Proxy, *};
use leasehold::store::AcquiredAll;
use leasehold::{RedisOptions, RedisStore};
use tokio::time;

/// Lets this time pass for the store and not for the server.
async fn pass(length: Duration) {
    time::pause();
    time::advance(length).await;
    time::resume();
}

/// Long enough for it to be looked whether a connection has ended, and too short for the server to be asked.
const MOMENT: Duration = Duration::from_millis(20);
/// Long enough for the server to be asked.
const MINUTE: Duration = Duration::from_secs(60);

/// Has the server close all connections, as it does with those that were idle for its `timeout`.
async fn close(server: &RedisServer) {
    server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
    pass(MOMENT).await;
}

#[tokio::test]
async fn a_connection_that_ended_while_it_was_idle_leaves_no_outcome_open() {
    let server = RedisServer::start();
    let store = store(&server);
    let (held, lost) = (hold("held", 1), hold("lost", 2));
    granted(&store, &exclusive(&held)).await;
    close(&server).await;
    let asked = [Arc::new(exclusive(&hold("free", 3))), Arc::new(exclusive(&hold("held", 3)))];
    assert!(matches!(store.acquire_all(&asked).await.unwrap(), AcquiredAll::Refused { which: 1, .. }));
    close(&server).await;
    assert_eq!(store.release(&lost, Duration::ZERO).await.unwrap(), Released::NotHeld { count: 0 });
    close(&server).await;
    assert_eq!(store.force_release(&held.resource).await.unwrap(), 1);
}

#[tokio::test]
async fn a_server_that_died_while_nobody_asked_it_leaves_no_outcome_open() {
    let mut server = RedisServer::start();
    let store = store(&server);
    let plain = hold("r", 1);
    granted(&store, &exclusive(&plain)).await;
    store.renew(&plain, TTL).await.unwrap();
    server.kill();
    pass(MOMENT).await;
    assert_eq!(store.renew(&plain, TTL).await.unwrap_err().certainty(), Certainty::NotExecuted);
    assert_eq!(store.force_release(&plain.resource).await.unwrap_err().certainty(), Certainty::NotExecuted);
    assert_eq!(store.acquire(&exclusive(&plain)).await.unwrap_err().certainty(), Certainty::NotExecuted);
}

#[tokio::test]
async fn a_connection_that_a_firewall_forgot_while_it_was_idle_leaves_no_outcome_open() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    // Less than the TTL: the question whether the connection is still there takes as long.
    let response_timeout = Duration::from_secs(10);
    let options = RedisOptions { response_timeout, ..patient::patient() };
    let store = RedisStore::with_options(&proxy.url(), options).unwrap();
    let plain = hold("r", 1);
    granted(&store, &exclusive(&plain)).await;
    store.renew(&plain, TTL).await.unwrap();
    for opened in [2, 4] {
        assert_eq!(proxy.opened(), opened);
        proxy.forget_connections();
        pass(MINUTE).await;
        // Both connections: that of the renewals, and the other one.
        assert_eq!(store.renew(&plain, TTL).await.unwrap(), Renewed::Extended);
        let (resource, others) =
            (ResourceName::new("free").unwrap(), [(); 3].map(|()| exclusive(&hold("others", 3))));
        let (opened, answers) = tokio::join!(
            store.force_release(&resource),
            futures_util::future::join_all(others.iter().map(|asked| store.acquire(asked)))
        );
        assert_eq!(opened.unwrap(), 0);
        assert!(answers.iter().all(|answer| matches!(answer, Ok(Acquired::Granted(_)))), "{answers:?}");
    }
    assert_eq!(proxy.opened(), 6, "one question, and one new connection, for all who came");
}

#[tokio::test]
async fn a_connection_that_was_idle_and_is_there_is_kept() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let all_but_ping = ["ACL", "SETUSER", "locker", "on", ">s3cret", "~*", "&*", "+@all", "-ping"];
    server.command(&all_but_ping);
    let store = patient::open(&proxy.url().replace("redis://", "redis://locker:s3cret@"));
    let plain = hold("r", 1);
    granted(&store, &exclusive(&plain)).await;
    for idle in [MOMENT, MINUTE, MOMENT, MINUTE] {
        pass(idle).await;
        assert!(store.is_held(&plain).await.unwrap());
    }
    assert_eq!(proxy.opened(), 1);
    let refused: Vec<Value> = redis::from_redis_value(server.command(&["ACL", "LOG"])).unwrap();
    assert_eq!(refused.len(), 1, "what was refused is one line: the question after a minute");
}
