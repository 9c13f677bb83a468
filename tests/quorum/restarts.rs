//! Nodes that come back empty do not vote until nothing that they forgot can be valid any more.

use std::{sync::Arc, time::Duration};

use leasehold::store::{QuorumOptions, QuorumStore, RedisOptions, RedisStore, Store};

use crate::{
    nodes::{Quorum, TTL, exclusive, granted, refused, short_of},
    support::redis_server::RedisServer,
};

#[tokio::test(start_paused = true)]
async fn a_node_that_came_back_empty_does_not_vote_for_the_longest_ttl() {
    let quorum = Quorum::of_five().await;
    let holder = exclusive();
    quorum.nodes[3..].iter().for_each(|node| node.fail_next(1));
    granted(&quorum.store, &holder).await;
    quorum.nodes[0].restart();
    // Three nodes know nothing of the holder, but only two of them may vote.
    refused(&quorum.store, &exclusive()).await;
    tokio::time::sleep(TTL - Duration::from_secs(1)).await;
    quorum.nodes[1..3].iter().for_each(|node| node.fail_next(1));
    let (named, error) = short_of(&quorum.store, &exclusive()).await;
    assert_eq!(named, ["node 0", "node 1", "node 2"]);
    assert!(
        error.to_string().contains("it may have forgotten leases and does not vote for another"),
        "{error}"
    );
    tokio::time::sleep(Duration::from_secs(2)).await;
    quorum.nodes[1..3].iter().for_each(|node| node.fail_next(1));
    granted(&quorum.store, &exclusive()).await;
}

#[tokio::test(start_paused = true)]
async fn a_fresh_start_lets_young_nodes_vote_until_they_are_restarted() {
    let quorum = Quorum::of_five().await;
    quorum.nodes.iter().for_each(leasehold::MemoryStore::restart);
    let (named, _) = short_of(&quorum.store, &exclusive()).await;
    assert_eq!(named.len(), 5);
    let options = QuorumOptions { max_ttl: TTL, fresh_start: true, ..QuorumOptions::default() };
    let fresh = quorum.another_with(options);
    tokio::time::sleep(Duration::from_millis(10)).await;
    let asked = exclusive();
    granted(&fresh, &asked).await;
    let _released = fresh.release(&asked.hold, Duration::ZERO).await.unwrap();
    quorum.until_held_by(&asked.hold, &[]).await;
    quorum.nodes[..3].iter().for_each(leasehold::MemoryStore::restart);
    let (named, _) = short_of(&fresh, &exclusive()).await;
    assert_eq!(named, ["node 0", "node 1", "node 2"]);
}

pub(crate) fn on_servers(servers: &[RedisServer], options: QuorumOptions) -> QuorumStore {
    with_options(servers, &RedisOptions::default(), options)
}

pub(crate) fn with_options(
    servers: &[RedisServer],
    redis: &RedisOptions,
    options: QuorumOptions,
) -> QuorumStore {
    let node = |server: &RedisServer| {
        let store: Arc<dyn Store> = Arc::new(RedisStore::with_options(&server.url(), redis.clone()).unwrap());
        (server.url(), store)
    };
    QuorumStore::new(servers.iter().map(node), options).unwrap()
}

pub(crate) const PATIENT: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_server_that_was_killed_does_not_vote_though_its_connection_is_opened_again_unnoticed() {
    let mut servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    let options = QuorumOptions { node_timeout: PATIENT, fresh_start: true, ..QuorumOptions::default() };
    let quorum = on_servers(&servers, options);
    let asked = exclusive();
    // So that the other two are met.
    servers[2].pause();
    granted(&quorum, &asked).await;
    servers[2].resume();
    servers[0].restart();
    servers[1].restart();
    let (named, error) = short_of(&quorum, &exclusive()).await;
    assert_eq!(named, [servers[0].url(), servers[1].url()]);
    assert!(error.to_string().contains("does not vote"), "{error}");
}

#[tokio::test]
async fn a_server_that_forgets_nothing_votes_however_young_it_is() {
    let durable = ["--appendonly", "yes", "--appendfsync", "always"];
    let lazy = ["--appendonly", "yes", "--appendfsync", "everysec"];
    let options = || QuorumOptions { node_timeout: PATIENT, ..QuorumOptions::default() };
    let mut servers: Vec<_> = (0..3).map(|_| RedisServer::with_args(&durable)).collect();
    let quorum = on_servers(&servers, options());
    let holder = exclusive();
    granted(&quorum, &holder).await;
    servers.iter_mut().for_each(RedisServer::restart);
    refused(&quorum, &exclusive()).await;
    assert!(quorum.is_held(&holder.hold).await.unwrap());

    let servers: Vec<_> = (0..3).map(|_| RedisServer::with_args(&lazy)).collect();
    assert_eq!(short_of(&on_servers(&servers, options()), &exclusive()).await.0.len(), 3);
}
