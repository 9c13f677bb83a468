//! The connection: none yet, lost, stalled, of another kind.

use leasehold_testing::servers::Replicated;

use crate::redis::store::{proxy::Proxy, *};
use leasehold::store::Store;

async fn granted_in_the_end(store: &RedisStore, asked: &Acquisition) {
    let answer = in_the_end(async || store.acquire(asked).await).await;
    assert!(matches!(answer, Acquired::Granted(_)), "{answer:?}");
}

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
    granted_in_the_end(&store, &exclusive(&hold("warm", 1))).await;
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
    assert!(!in_the_end(async || store.is_held(&returned).await).await);
    assert!(in_the_end(async || store.is_held(&kept).await).await, "it was executed late");
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
    granted_in_the_end(&store, &exclusive(&hold("r", 2))).await;
}

#[tokio::test]
async fn a_store_starts_without_a_server_and_finds_it_when_it_comes() {
    let mut server = RedisServer::start();
    let store = store(&server);
    server.kill();
    let error = store.acquire(&exclusive(&hold("r", 1))).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    assert_eq!(error.certainty(), Certainty::NotExecuted);
    assert!(
        error.to_string().contains("refused"),
        "told at once, and not when its patience is over: {error}"
    );
    server.restart();
    granted(&store, &exclusive(&hold("r", 1))).await;
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
        let store = patient::open(&format!("{scheme}://{}", text(&socket)));
        granted(&store, &exclusive(&hold(scheme, 1))).await;
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn a_lost_reply_changes_no_answer_to_a_verb_that_can_be_repeated() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = patient::open(&proxy.url());
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
    let store = patient::open(&proxy.url());
    let plain = hold("r", 1);
    granted(&store, &exclusive(&plain)).await;
    proxy.lose_next_reply();
    // What a repeat finds gone may have been released by the first try, or forgotten by the server before it.
    let error = store.release(&plain, Duration::ZERO).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::Unknown);
    assert_eq!(store.release(&plain, Duration::ZERO).await.unwrap(), Released::NotHeld { count: 0 });
    assert_eq!(server.keys().len(), 1, "only the fence: {:?}", server.keys());
}

#[tokio::test]
async fn a_connection_that_a_proxy_forgot_is_given_up_after_a_few_silent_calls() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = impatient(&proxy.url());
    let plain = hold("r", 1);
    granted_in_the_end(&store, &exclusive(&plain)).await;
    // The connection of the renewals.
    in_the_end(async || store.renew(&plain, TTL).await).await;
    for _ in 0..2 {
        proxy.forget_connections();
        let mut silent = 0;
        while let Err(error) = store.renew(&plain, TTL).await {
            assert!(matches!(error, StoreError::TimedOut { .. }), "{error}");
            assert_eq!(error.certainty(), Certainty::Unknown);
            silent += 1;
            assert!(silent < 100, "no other connection after {silent} calls");
        }
        assert!(silent >= 2, "given up after {silent} silent calls");
    }
}

#[tokio::test]
async fn a_store_whose_replicas_confirm_leaves_forgotten_connections_too() {
    let servers = Replicated::start(1);
    let proxy = Proxy::start(&servers.master).await;
    let timeout = Duration::from_secs(6);
    let options = RedisOptions { replicas_ack: 1, response_timeout: timeout, ..patient::patient() };
    let store = RedisStore::with_options(&proxy.url(), options).unwrap();
    let asked: Vec<_> = (1..9).map(|token| exclusive(&hold(&format!("r{token}"), token))).collect();
    for answer in futures_util::future::join_all(asked.iter().map(|asked| store.acquire(asked))).await {
        assert!(matches!(answer, Ok(Acquired::Granted(_))), "{answer:?}");
    }
    proxy.forget_connections();
    let mut silent = 0;
    while let Err(error) = store.renew(&asked[0].hold, TTL).await {
        assert_eq!(error.certainty(), Certainty::Unknown, "{error}");
        silent += 1;
        assert!(silent < 2, "{silent} calls went out on connections that were open before");
    }
}

#[tokio::test]
async fn a_server_that_only_stalls_keeps_its_connection() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = impatient(&proxy.url());
    let plain = hold("r", 1);
    granted_in_the_end(&store, &exclusive(&plain)).await;
    let number =
        |client: &str| client.lines().next().and_then(|line| line.split(' ').next()).map(str::to_owned);
    let id = |server: &RedisServer| {
        let clients: String = redis::from_redis_value(server.command(&["CLIENT", "LIST"])).unwrap();
        number(&clients)
    };
    let (before, opened) = (id(&server), proxy.opened());
    server.pause();
    // Two connections are tried beside the first one, the second one a second after the first. Then the next try is seconds away.
    let (mut calls, began) = (0, Instant::now());
    while proxy.opened() < opened + 2 {
        let error = store.is_held(&plain).await.unwrap_err();
        assert!(matches!(error, StoreError::TimedOut { .. }), "{error}");
        calls += 1;
    }
    // Three calls without an answer are the reason of the first try, and another call would be that of the second one.
    assert!(
        calls >= 4 && began.elapsed() >= Duration::from_millis(1_450),
        "the second try came after {calls} calls, {:?}",
        began.elapsed()
    );
    // Long enough for the last try to end.
    for _ in 0..2 {
        store.is_held(&plain).await.unwrap_err();
    }
    server.resume();
    assert!(in_the_end(async || store.is_held(&plain).await).await);
    assert_eq!(id(&server), before, "the connection of before is in use");
}

#[tokio::test]
async fn a_renewal_stands_behind_nothing_that_waits_for_its_answer() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = impatient(&proxy.url());
    let kept = hold("kept", 1);
    granted_in_the_end(&store, &exclusive(&kept)).await;
    // The server works off what it has, and answers nothing on the connection of the attempts.
    proxy.forget_connections();
    let error = store.acquire(&exclusive(&hold("other", 2))).await.unwrap_err();
    assert!(matches!(error, StoreError::TimedOut { .. }), "{error}");
    assert_eq!(in_the_end(async || store.renew(&kept, TTL).await).await, Renewed::Extended);
    let error = store.acquire(&exclusive(&hold("other", 2))).await.unwrap_err();
    assert!(matches!(error, StoreError::TimedOut { .. }), "{error}");
}
