//! URLs that lead to a server of another kind: told at once, by name, and not tried again for the whole wait.

use std::sync::Arc;

use leasehold::{Acquire, AcquireError, LockManager};

use crate::redis::store::*;

/// On a busy machine. Whoever tries again does so for as long as it may wait.
const AT_ONCE: Duration = Duration::from_secs(20);

/// What an acquisition that may wait for 60 s is told, and that it is told at once.
async fn told(url: &str) -> String {
    let locks = LockManager::builder(Arc::new(RedisStore::open(url).unwrap())).start().unwrap();
    let started = Instant::now();
    let answer = locks.send(Acquire::new("r").wait(Duration::from_secs(60))).await.unwrap();
    let Err(AcquireError::Store(error)) = answer else { panic!("{url}: {answer:?}") };
    assert!(started.elapsed() < AT_ONCE, "{url}: {error} after {:?}", started.elapsed());
    assert!(!error.is_transient() && error.certainty() == Certainty::NotExecuted, "{url}: {error}");
    assert_eq!(error.kind(), "misconfigured", "{error}");
    error.to_string()
}

#[actix::test]
async fn a_cluster_that_is_a_single_server_is_told_so() {
    let server = RedisServer::start();
    let place = format!("127.0.0.1:{}", server.port());
    assert_eq!(
        told(&format!("redis+cluster://{place}")).await,
        format!(
            "store.url does not fit the server: {place} is no cluster (its cluster support is disabled); use redis://"
        )
    );
}

#[actix::test]
async fn a_single_server_that_is_a_node_of_a_cluster_is_told_so() {
    let server = RedisServer::with_args(&["--cluster-enabled", "yes"]);
    let slots = ["CLUSTER", "ADDSLOTSRANGE", "0", "16383"];
    server.command(&slots);
    let ready = || {
        let info: String = redis::from_redis_value(server.command(&["CLUSTER", "INFO"])).unwrap();
        info.contains("cluster_state:ok")
    };
    while !ready() {
        tokio::task::yield_now().await;
    }
    let place = format!("127.0.0.1:{}", server.port());
    assert_eq!(
        told(&server.url()).await,
        format!("store.url does not fit the server: {place} is a node of a cluster; use redis+cluster://")
    );
}

#[actix::test]
async fn a_command_that_is_switched_off_is_told_and_not_tried_again() {
    let within = "does not know a command that the scripts of this library call";
    for command in ["EVALSHA", "SCRIPT", "TIME", "EXISTS"] {
        let server = RedisServer::with_args(&["--rename-command", command, ""]);
        let told = told(&server.url()).await;
        let named = told.contains(&format!("does not know the command {command}"));
        assert!(named || told.contains(within), "{command}: {told}");
        assert!(named == ["EVALSHA", "SCRIPT"].contains(&command), "{command}: {told}");
    }
}

#[actix::test]
async fn a_database_that_the_server_does_not_have_is_told() {
    let server = RedisServer::start();
    let place = format!("127.0.0.1:{}", server.port());
    assert_eq!(
        told(&format!("{}/99", server.url())).await,
        format!("store.url does not fit the server: {place} refuses database 99 (DB index is out of range)")
    );
}
#[actix::test]
async fn tls_towards_a_plain_server_is_told() {
    let server = RedisServer::start();
    let place = format!("127.0.0.1:{}", server.port());
    assert_eq!(
        told(&server.url().replace("redis://", "rediss://")).await,
        format!(
            "store.url does not fit the server: {place} seems not to speak TLS; use redis://, or the port that speaks TLS"
        )
    );
}
