//! Nodes that come back empty do not vote until nothing that they forgot can be valid any more.

use std::{sync::Arc, time::Duration};

use leasehold::{
    QuorumOptions, QuorumStore, RedisOptions, RedisStore, ResourceName,
    store::{Acquisition, Hold, QuorumNode, Store},
};

use tokio::time::{sleep, timeout};

use crate::quorum::nodes::{Quorum, TTL, exclusive, granted, refused, short_of};
use leasehold_testing::servers::RedisServer;
use support::patient::{self, patient};

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
async fn a_new_process_counts_a_node_that_the_nodes_have_known_for_the_longest_ttl() {
    for (since, counts) in [(TTL / 2, false), (TTL + Duration::from_secs(1), true)] {
        let quorum = Quorum::of_five().await;
        quorum.nodes[0].restart();
        // All nodes are told of the new incarnation.
        turn(&quorum.store).await;
        sleep(since).await;
        turn(&quorum.another()).await;
        let recovered = quorum.nodes[0].report().await.unwrap().recovered;
        assert_eq!(recovered.is_some(), counts, "known for {since:?}");
    }
}

async fn turn(store: &QuorumStore) {
    let asked = exclusive();
    granted(store, &asked).await;
    let _released = store.release(&asked.hold, Duration::ZERO).await.unwrap();
    sleep(Duration::from_millis(100)).await;
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
    // Nor when all of them forget: what they forgot may still be valid.
    quorum.nodes.iter().for_each(leasehold::MemoryStore::restart);
    sleep(Duration::from_millis(200)).await;
    let (named, _) = short_of(&fresh, &exclusive()).await;
    assert_eq!(named.len(), 5);
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
        let store: Arc<dyn QuorumNode> =
            Arc::new(RedisStore::with_options(&server.url(), redis.clone()).unwrap());
        (server.url(), store)
    };
    QuorumStore::new(servers.iter().map(node), options).unwrap()
}

pub(crate) const PATIENT: Duration = Duration::from_secs(5);
/// A TTL of which a quorum waits `PATIENT` for a node.
const LASTING: Duration = Duration::from_secs(20 * PATIENT.as_secs());

/// A quorum whose servers may get no turn for seconds, on a busy machine.
pub(crate) fn patiently(servers: &[RedisServer], fresh_start: bool) -> QuorumStore {
    let (node_timeout, connect_timeout) = (PATIENT, PATIENT);
    let options = QuorumOptions { node_timeout, connect_timeout, fresh_start, ..QuorumOptions::default() };
    with_options(servers, &patient(), options)
}

#[tokio::test]
async fn a_server_that_was_killed_does_not_vote_though_its_connection_is_opened_again_unnoticed() {
    let mut servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    let quorum = patiently(&servers, true);
    let holder = on("r");
    granted(&quorum, &holder).await;
    // A majority has answered. What still travels to the third node would be sent again to the server that comes back.
    until_held_on_all(&servers, &holder.hold).await;
    servers[0].restart();
    servers[1].restart();
    let (named, error) = short_of(&quorum, &on("r")).await;
    assert_eq!(named, [servers[0].url(), servers[1].url()]);
    assert!(error.to_string().contains("does not vote"), "{error}");
}

async fn until_held_on_all(servers: &[RedisServer], hold: &Hold) {
    let held = async {
        for server in servers {
            let node = patient::open(&server.url());
            while !node.is_held(hold).await.unwrap() {
                sleep(Duration::from_millis(1)).await;
            }
        }
    };
    timeout(LASTING, held).await.unwrap();
}

/// An exclusive acquisition that lasts, of a resource that no other step is still releasing.
pub(crate) fn on(name: &str) -> Acquisition {
    let mut asked = exclusive();
    asked.hold.resource = ResourceName::new(name).unwrap();
    asked.ttl = LASTING;
    asked
}

#[tokio::test]
async fn a_server_that_forgets_nothing_votes_however_young_it_is_unless_it_is_empty() {
    let durable = ["--appendonly", "yes", "--appendfsync", "always"];
    let lazy = ["--appendonly", "yes", "--appendfsync", "everysec"];
    for (args, forgets) in [(durable, false), (lazy, true)] {
        let mut servers: Vec<_> = (0..3).map(|_| RedisServer::with_args(&args)).collect();
        // Nothing tells a new server from one whose disk was wiped.
        assert_eq!(short_of(&patiently(&servers, false), &on("new")).await.0.len(), 3);
        let holder = on("held");
        granted(&patiently(&servers, true), &holder).await;
        servers.iter_mut().for_each(RedisServer::restart);
        let quorum = patiently(&servers, false);
        if forgets {
            assert_eq!(short_of(&quorum, &on("lazy")).await.0.len(), 3);
            continue;
        }
        refused(&quorum, &on("held")).await;
        assert!(quorum.is_held(&holder.hold).await.unwrap());
        // One that comes back without its data counts for nothing, durable or not.
        let _released = quorum.release(&holder.hold, Duration::ZERO).await.unwrap();
        let mut direct = redis::Client::open(servers[0].url()).unwrap().get_connection().unwrap();
        let () = redis::cmd("FLUSHALL").query(&mut direct).unwrap();
        servers[0].restart();
        servers[1].kill();
        let (named, error) = short_of(&quorum, &on("empty")).await;
        assert_eq!(named, [servers[0].url(), servers[1].url()], "{error}");
        assert!(error.to_string().contains("does not vote"), "{error}");
    }
}
