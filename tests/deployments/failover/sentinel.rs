//! A master that dies, is replaced, freezes; and a sentinel that is wrong.

use leasehold::{Acquire, LockManager, LossReason, store::Store};
use std::sync::atomic::{AtomicU16, Ordering};

use futures_util::future::join_all;
use tokio::time::timeout;

use crate::deployments::failover::{
    callers::work_while,
    fake_sentinel::{FakeSentinel, url_of},
    *,
};
use leasehold_testing::servers::{RedisServer, Replicated, Sentinels};
use leasehold_testing::waiting::{PATIENCE, eventually, until};

/// The name of the counter that stays.
const FENCE: &str = "leasehold:fence";

fn wait_until_only_the_fence_is_left(server: &RedisServer) {
    until("only the fence is left", || server.keys().iter().all(|(key, _)| key == FENCE));
}

fn nobody_spoke_to_the_other(servers: &Sentinels, masters: [usize; 2]) {
    for (number, server) in servers.servers.iter().enumerate() {
        if !masters.contains(&number) {
            assert_eq!(Sentinels::scripts_called(server), 0, "server {number} was always a replica");
        }
    }
}

#[actix::test]
async fn when_the_master_is_killed_locks_are_granted_by_the_next_one() {
    let mut servers = Sentinels::calm();
    let before = servers.master();
    let (report, servers) = work_while(&servers.url(), move || {
        servers.servers[before].kill();
        servers.wait_for_another(before);
        servers
    })
    .await;
    println!("sentinel, master killed: {report}");
    let after = servers.master();
    nobody_spoke_to_the_other(&servers, [before, after]);
    wait_until_only_the_fence_is_left(&servers.servers[after]);
}

#[actix::test]
async fn when_the_master_is_replaced_on_purpose_the_work_goes_on() {
    let servers = Sentinels::calm();
    let before = servers.master();
    let (report, servers) = work_while(&servers.url(), move || {
        servers.fail_over();
        servers.wait_for_another(before);
        servers
    })
    .await;
    println!("sentinel, planned failover: {report}");
    let after = servers.master();
    nobody_spoke_to_the_other(&servers, [before, after]);
    wait_until_only_the_fence_is_left(&servers.servers[after]);
}

#[actix::test]
async fn a_master_that_is_frozen_is_left_for_the_next_one() {
    let servers = Sentinels::calm();
    let before = servers.master();
    let (report, servers) = work_while(&servers.url(), move || {
        servers.servers[before].pause();
        servers.wait_for_another(before);
        servers
    })
    .await;
    println!("sentinel, master frozen: {report}");
    let after = servers.master();
    nobody_spoke_to_the_other(&servers, [before, after]);
    wait_until_only_the_fence_is_left(&servers.servers[after]);
}

#[actix::test]
async fn a_holder_whose_lease_the_next_master_does_not_know_is_told() {
    let mut servers = Sentinels::calm();
    let store = with(&servers.url(), RedisOptions { watch_leases: true, ..patient() });
    let locks = LockManager::builder(store).start().unwrap();
    let lease = locks.send(Acquire::new("r").ttl(10 * TTL).wait(PATIENCE)).await.unwrap().unwrap();
    // The next renewal is due in hours.
    lease.renew().await.unwrap();
    let before = servers.master();
    servers.servers[before].kill();
    servers.wait_for_another(before);
    let after = servers.master();
    eventually("the next master writes", async || {
        servers.servers[after].try_command(&["DEL", "leasehold:{r}"]).is_ok()
    })
    .await;
    assert_eq!(timeout(PATIENCE, lease.lost()).await, Ok(LossReason::NotHeld));
}

#[tokio::test]
async fn a_replica_that_a_sentinel_takes_for_the_master_is_not_spoken_to() {
    let master = RedisServer::start();
    let replica = RedisServer::with_args(&["--replicaof", "127.0.0.1", &master.port().to_string()]);
    let store = open(&sentinel_that_names(replica.port()).await);
    let answer = store.acquire(&asked("r", Mode::Exclusive)).await;
    assert!(is_unavailable(&answer), "{answer:?}");
    assert!(answer.unwrap_err().to_string().contains("no master"));
    assert_eq!(Sentinels::scripts_called(&replica), 0);
}

#[tokio::test]
async fn a_service_that_no_sentinel_knows_is_named() {
    let store = open(&sentinel_that_names(0).await);
    let error = store.acquire(&asked("r", Mode::Exclusive)).await.unwrap_err().to_string();
    assert!(error.contains("\"locks\"") && error.contains("unknown service"), "{error}");
}

#[tokio::test]
async fn sentinels_have_a_password_of_their_own() {
    let master = RedisServer::with_args(&["--requirepass", "of-master"]);
    let url = sentinel_that_names(master.port()).await;
    let url = url.replace("://", "://:of-master@") + "?sentinel_user=me&sentinel_password=of-sentinels";
    granted(&open(&url), &asked("r", Mode::Exclusive)).await;
}

#[tokio::test]
async fn a_master_that_becomes_a_replica_is_left_at_its_first_refusal() {
    for replicas_ack in [0, 1] {
        let servers = Replicated::start(1);
        let url = sentinel_that_names(servers.master.port()).await;
        let store = with(&url, RedisOptions { replicas_ack, ..patient() });
        granted(&store, &asked("before", Mode::Exclusive)).await;
        // Unlike a sentinel nobody closes the connections.
        servers.master.command(&["REPLICAOF", "127.0.0.1", &servers.replicas[0].port().to_string()]);
        let refused = store.acquire(&asked("r", Mode::Exclusive)).await;
        assert!(is_unavailable(&refused), "{refused:?}");
        let before = Sentinels::scripts_called(&servers.master);
        let error = store.acquire(&asked("r", Mode::Exclusive)).await.unwrap_err().to_string();
        assert!(error.contains("no master"), "{error}");
        assert_eq!(Sentinels::scripts_called(&servers.master), before);
    }
}

#[tokio::test]
async fn a_master_that_was_replaced_is_not_used_again_though_it_answers() {
    for replicas_ack in [0, 1] {
        let [old, new] = [(); 2].map(|()| Replicated::start(1));
        let named = Arc::new(AtomicU16::new(old.master.port()));
        let store =
            with(&sentinel_that_says(Arc::clone(&named)).await, RedisOptions { replicas_ack, ..patient() });
        several_at_once(&store).await;
        named.store(new.master.port(), Ordering::Relaxed);
        let meanwhile = asked("meanwhile", Mode::Shared);
        eventually("the new master is spoken to", async || {
            granted(&store, &meanwhile).await;
            Sentinels::scripts_called(&new.master) > 0
        })
        .await;
        let before = Sentinels::scripts_called(&old.master);
        several_at_once(&store).await;
        assert_eq!(Sentinels::scripts_called(&old.master), before);
    }
}

/// Where replicas confirm, each has a connection of its own.
async fn several_at_once(store: &RedisStore) {
    let asked: Vec<_> = (0..8).map(|number| asked(&format!("r{number}"), Mode::Shared)).collect();
    for answer in join_all(asked.iter().map(|asked| store.acquire(asked))).await {
        assert!(matches!(answer, Ok(Acquired::Granted(_))), "{answer:?}");
    }
}

/// A sentinel that says the same to everybody: this port, or that it knows no service if that is zero.
async fn sentinel_that_names(port: u16) -> String {
    sentinel_that_says(Arc::new(AtomicU16::new(port))).await
}

/// The same, for what the port is at the time.
async fn sentinel_that_says(port: Arc<AtomicU16>) -> String {
    let sentinel = FakeSentinel { port, ..FakeSentinel::default() };
    url_of(&[sentinel.listen().await])
}
