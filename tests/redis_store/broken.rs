//! The connection: none yet, lost, stalled, of another kind.

use crate::{proxy::Proxy, *};

#[tokio::test]
async fn a_server_that_lost_its_scripts_gets_them_again() {
    let server = RedisServer::start();
    let store = store(&server);
    let plain = hold("r", 1);
    granted(&store, &exclusive(&plain)).await;
    server.command(&["SCRIPT", "FLUSH"]);
    assert_eq!(store.renew(&plain, TTL).await.unwrap(), Renewed::Extended);
    server.command(&["SCRIPT", "FLUSH"]);
    assert_eq!(store.release(&plain, Duration::ZERO).await.unwrap(), Released::Freed);
}

#[tokio::test]
async fn a_broken_connection_costs_no_verb() {
    let server = RedisServer::start();
    let store = store(&server);
    let plain = hold("r", 1);
    granted(&store, &exclusive(&plain)).await;
    let broken = || server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
    broken();
    assert_eq!(store.renew(&plain, TTL).await.unwrap(), Renewed::Extended);
    broken();
    assert!(store.is_held(&plain).await.unwrap());
    broken();
    assert_eq!(store.release(&plain, Duration::ZERO).await.unwrap(), Released::Freed);
    assert!(!store.is_held(&plain).await.unwrap());
}

#[tokio::test]
async fn a_stalled_server_leaves_the_outcome_open_and_serves_in_order_when_it_wakes() {
    let server = RedisServer::start();
    let store = impatient(&server.url());
    granted(&store, &exclusive(&hold("warm", 1))).await;
    let (kept, returned) = (hold("kept", 2), hold("returned", 3));
    server.pause();
    for error in [
        store.acquire(&exclusive(&kept)).await.unwrap_err(),
        store.acquire(&exclusive(&returned)).await.unwrap_err(),
        store.release(&returned, Duration::ZERO).await.unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::TimedOut { .. }), "{error}");
    }
    server.resume();
    // This is answered after all that was sent before it.
    assert!(!store.is_held(&returned).await.unwrap());
    assert!(store.is_held(&kept).await.unwrap(), "it was executed late");
    assert_all_end(&server);
}

#[tokio::test]
async fn what_was_never_sent_was_certainly_not_executed() {
    let server = RedisServer::start();
    server.pause();
    let store = impatient(&server.url());
    let error = store.acquire(&exclusive(&hold("r", 1))).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    server.resume();
    granted(&store, &exclusive(&hold("r", 2))).await;
}

#[tokio::test]
async fn a_store_starts_without_a_server_and_finds_it_when_it_comes() {
    let mut server = RedisServer::start();
    let store = store(&server);
    server.kill();
    let started = Instant::now();
    let error = store.acquire(&exclusive(&hold("r", 1))).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    assert_eq!(error.certainty(), Certainty::NotExecuted);
    assert!(started.elapsed() < Duration::from_secs(2));
    server.restart();
    granted(&store, &exclusive(&hold("r", 1))).await;
}

#[tokio::test]
async fn a_server_that_died_leaves_the_first_outcome_open_and_no_later_one() {
    let mut server = RedisServer::start();
    let store = store(&server);
    let plain = hold("r", 1);
    granted(&store, &exclusive(&plain)).await;
    server.kill();
    assert_eq!(store.renew(&plain, TTL).await.unwrap_err().certainty(), Certainty::Unknown);
    assert_eq!(store.renew(&plain, TTL).await.unwrap_err().certainty(), Certainty::NotExecuted);
}

#[test]
fn a_store_outlives_the_runtime_that_it_was_first_used_in() {
    let server = RedisServer::start();
    let store = store(&server);
    for token in [1, 2] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let plain = hold("r", token);
        runtime.block_on(granted(&store, &exclusive(&plain)));
        assert_eq!(runtime.block_on(store.release(&plain, Duration::ZERO)).unwrap(), Released::Freed);
    }
}

#[tokio::test]
async fn a_unix_socket_serves_as_well() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("redis.sock");
    let _server = RedisServer::with_args(&["--unixsocket", text(&socket)]);
    for scheme in ["unix", "redis+unix"] {
        let store = RedisStore::open(&format!("{scheme}://{}", text(&socket))).unwrap();
        granted(&store, &exclusive(&hold(scheme, 1))).await;
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn tls_towards_a_plain_server_is_unavailable() {
    let server = RedisServer::start();
    let store = impatient(&server.url().replace("redis://", "rediss://"));
    let error = store.acquire(&exclusive(&hold("r", 1))).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn a_lost_reply_changes_no_answer_to_a_verb_that_can_be_repeated() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = RedisStore::open(&proxy.url()).unwrap();
    let plain = hold("r", 1);
    let first = granted(&store, &exclusive(&plain)).await;
    proxy.lose_next_reply();
    assert_eq!(granted(&store, &exclusive(&plain)).await, first, "the same lease");
    proxy.lose_next_reply();
    assert_eq!(store.renew(&plain, TTL).await.unwrap(), Renewed::Extended);
    proxy.lose_next_reply();
    assert_eq!(store.force_release(&plain.resource).await.unwrap_err().certainty(), Certainty::Unknown);
}

#[tokio::test]
async fn a_release_whose_reply_is_lost_is_done_and_unknown() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = RedisStore::open(&proxy.url()).unwrap();
    let plain = hold("r", 1);
    granted(&store, &exclusive(&plain)).await;
    proxy.lose_next_reply();
    // What a repeat finds gone may have been given back by the first try, or forgotten by the server before it.
    let error = store.release(&plain, Duration::ZERO).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::Unknown);
    assert_eq!(store.release(&plain, Duration::ZERO).await.unwrap(), Released::NotHeld { count: 0 });
    assert_eq!(server.keys().len(), 1, "only the fence: {:?}", server.keys());
}
