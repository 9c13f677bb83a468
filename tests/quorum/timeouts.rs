//! How long a quorum waits: longer for nodes that have to be connected, and for renewals that have the time.

use std::{sync::Arc, time::Duration};

use leasehold::{
    Durability, QuorumOptions,
    store::{Released, Renewed, Store},
};
use tokio::time::{Instant, sleep};

use crate::quorum::{
    nodes::{Quorum, TTL, exclusive, granted, short_of},
    restarts::{on, patiently, with_options},
};
use leasehold_testing::servers::RedisServer;
use support::patient;

const SLOW: Duration = Duration::from_millis(300);
const FROZEN: Duration = Duration::from_secs(60);

#[tokio::test]
async fn the_first_verb_waits_until_its_servers_are_connected() {
    let servers: Arc<Vec<_>> = Arc::new((0..5).map(|_| RedisServer::start()).collect());
    let node_timeout = Duration::from_secs(3);
    let options = QuorumOptions {
        node_timeout,
        connect_timeout: FROZEN,
        fresh_start: true,
        ..QuorumOptions::default()
    };
    let (patient, first) = (patiently(&servers, true), on("first"));
    granted(&patient, &first).await;
    let _released = patient.release(&first.hold, Duration::ZERO).await.unwrap();
    let quorum = with_options(&servers, &patient::patient(), options);
    servers[..4].iter().for_each(RedisServer::pause);
    // A grant may take a twentieth of it.
    let mut asked = exclusive();
    asked.ttl = Duration::from_secs(400);
    let resumed = async {
        sleep(node_timeout + SLOW).await;
        servers[1..4].iter().for_each(RedisServer::resume);
    };
    // Without a limit of the connection itself it would wait for the first server, too.
    let (fence, ()) = tokio::join!(granted(&quorum, &asked), resumed);
    assert!(fence.get() > 0);
    assert_eq!(patient.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    servers[0].resume();
}

#[tokio::test(start_paused = true)]
async fn a_node_is_waited_for_longer_only_until_its_first_answer() {
    let quorum = Quorum::of_five().await;
    quorum.nodes[2..].iter().for_each(|node| node.stall_next(1, SLOW));
    let (asked, started) = (exclusive(), Instant::now());
    granted(&quorum.store, &asked).await;
    assert_eq!(started.elapsed(), SLOW);
    let _released = quorum.store.release(&asked.hold, Duration::ZERO).await.unwrap();
    quorum.until_held_by(&asked.hold, &[]).await;

    quorum.nodes[2..].iter().for_each(|node| node.stall_next(1, SLOW));
    let started = Instant::now();
    short_of(&quorum.store, &exclusive()).await;
    assert!(started.elapsed() <= Duration::from_millis(51), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_never_connects_delays_nothing_that_a_majority_decides() {
    let quorum = Quorum::of_five().await;
    quorum.nodes[..2].iter().for_each(|node| node.stall_next(1, FROZEN));
    let started = Instant::now();
    granted(&quorum.store, &exclusive()).await;
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_waits_for_a_majority_as_long_as_its_lease_is_safe() {
    let quorum = Quorum::of_five().await;
    let asked = exclusive();
    granted(&quorum.store, &asked).await;
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    quorum.nodes[..2].iter().for_each(|node| node.stall_next(1, FROZEN));
    quorum.nodes[2..].iter().for_each(|node| node.stall_next(1, SLOW));
    assert_eq!(quorum.store.renew(&asked.hold, TTL).await.unwrap(), Renewed::Extended);

    // When little is left, there is no time to wait.
    sleep(TTL - Duration::from_millis(100)).await;
    quorum.nodes.iter().for_each(|node| node.stall_next(1, FROZEN));
    let started = Instant::now();
    let error = quorum.store.renew(&asked.hold, TTL).await.unwrap_err();
    assert_eq!(error.kind(), "no_quorum");
    assert!(started.elapsed() <= Duration::from_millis(26), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_quorum_says_how_many_nodes_know_of_a_lease() {
    assert_eq!(Quorum::of_five().await.store.durability(), Durability::Majority { nodes: 3, of: 5 });
}
