//! All or none, where it is a matter of the server: one call, lost replies, no memory.

use std::sync::Arc;

use leasehold::store::AcquiredAll;

use crate::redis::store::{proxy::Proxy, *};

fn asked(names: &[(&str, u128)]) -> Vec<Arc<Acquisition>> {
    names.iter().map(|&(name, token)| Arc::new(exclusive(&hold(name, token)))).collect()
}

async fn fences(store: &RedisStore, asked: &[Arc<Acquisition>]) -> Vec<Option<Fence>> {
    match store.acquire_all(asked).await.unwrap() {
        AcquiredAll::Granted(grants) => grants.into_iter().map(|grant| grant.fence).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn all_are_taken_and_taken_back_in_one_call() {
    let server = RedisServer::start();
    let store = store(&server);
    let three = asked(&[("a", 1), ("b", 2), ("c", 3)]);
    fences(&store, &three).await;
    assert_eq!(server.keys().len(), 4, "three locks and the fence");
    assert_all_end(&server);
    server.command(&["CONFIG", "RESETSTAT"]);
    let others = asked(&[("x", 4), ("y", 5), ("c", 6)]);
    assert!(matches!(store.acquire_all(&others).await.unwrap(), AcquiredAll::Refused { which: 2, .. }));
    assert_eq!(calls(&server, &["evalsha", "time"]), [1, 1]);
    assert_eq!(server.keys().len(), 4);
}

#[tokio::test]
async fn a_lost_reply_grants_all_again_and_leaves_a_refusal_unknown() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let store = patient::open(&proxy.url());
    let both = asked(&[("a", 1), ("b", 2)]);
    let first = fences(&store, &both).await;
    proxy.lose_next_reply();
    assert_eq!(fences(&store, &both).await, first, "the same leases");
    proxy.lose_next_reply();
    // The first try may have been granted before somebody took one of them away.
    let error = store.acquire_all(&asked(&[("c", 3), ("b", 4)])).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::Unknown);
    assert_eq!(server.keys().len(), 3, "two locks and the fence: {:?}", server.keys());
}

#[tokio::test]
async fn a_full_server_and_what_is_foreign_fail_the_whole_and_leave_nothing() {
    let server = RedisServer::start();
    let store = store(&server);
    server.command(&["HSET", "leasehold:{b}", "field", "value"]);
    let both = asked(&[("a", 1), ("b", 2)]);
    match store.acquire_all(&both).await.unwrap() {
        AcquiredAll::Failed { which: 1, error: StoreError::Corrupt { .. } } => {}
        other => panic!("{other:?}"),
    }
    assert!(!store.is_held(&both[0].hold).await.unwrap());
    server.command(&["DEL", "leasehold:{b}"]);
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    match store.acquire_all(&both).await.unwrap() {
        AcquiredAll::Failed { which: 0, error: StoreError::OutOfMemory { .. } } => {}
        other => panic!("{other:?}"),
    }
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    fences(&store, &both).await;
}

#[tokio::test]
async fn what_could_not_be_taken_back_is_unknown() {
    let server = RedisServer::start();
    server.command(&["ACL", "SETUSER", "keeper", "on", ">s3cret", "~*", "&*", "+@all", "-del"]);
    let store = patient::open(&server.url_for("keeper", "s3cret"));
    granted(&store, &exclusive(&hold("b", 9))).await;
    let both = asked(&[("a", 1), ("b", 2)]);
    let error = store.acquire_all(&both).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::Unknown, "{error}");
    assert!(store.is_held(&both[0].hold).await.unwrap());
}
