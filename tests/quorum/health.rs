//! Nodes that are down or silent are left alone, and asked again when they are back.

use std::time::Duration;

use leasehold::{
    QuorumStore, StoreError,
    store::{Acquired, QuorumNode, Store},
};
use leasehold_testing::waiting::eventually;
use tokio::time::{Instant, sleep};

use crate::quorum::nodes::{Quorum, TTL, exclusive, granted, refused};

const LONG: Duration = Duration::from_secs(1);

async fn turn(store: &QuorumStore) {
    let asked = exclusive();
    granted(store, &asked).await;
    let _released = store.release(&asked.hold, Duration::ZERO).await.unwrap();
    sleep(Duration::from_millis(1)).await;
}

/// Returns the nodes that a new lease is on, and releases it.
async fn asked_nodes(quorum: &Quorum) -> Vec<usize> {
    let asked = exclusive();
    granted(&quorum.store, &asked).await;
    sleep(Duration::from_millis(1)).await;
    let holders = quorum.holders(&asked.hold).await;
    let _released = quorum.store.release(&asked.hold, Duration::ZERO).await.unwrap();
    sleep(Duration::from_millis(1)).await;
    holders
}

#[tokio::test(start_paused = true)]
async fn a_node_that_failed_again_and_again_is_left_alone_for_a_moment() {
    let quorum = Quorum::of_five().await;
    // The vote, the release, and what is owed for it.
    quorum.nodes[4].fail_next(3);
    turn(&quorum.store).await;
    let asked = exclusive();
    granted(&quorum.store, &asked).await;
    sleep(Duration::from_millis(1)).await;
    assert_eq!(quorum.holders(&asked.hold).await, [0, 1, 2, 3]);
    let _released = quorum.store.release(&asked.hold, Duration::ZERO).await.unwrap();
    sleep(LONG).await;
    assert_eq!(asked_nodes(&quorum).await, [0, 1, 2, 3, 4]);
    assert_eq!(asked_nodes(&quorum).await, [0, 1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_node_is_asked_for_nothing_more_until_it_answers() {
    let quorum = Quorum::of_five().await;
    quorum.nodes[4].stall_next(1, LONG);
    turn(&quorum.store).await;
    sleep(Duration::from_millis(300)).await;
    assert_eq!(asked_nodes(&quorum).await, [0, 1, 2, 3]);
    sleep(LONG).await;
    assert_eq!(asked_nodes(&quorum).await, [0, 1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_node_that_is_known_to_be_silent() {
    let quorum = Quorum::of_five().await;
    let other = exclusive();
    quorum.nodes[3..].iter().for_each(|node| node.stall_next(1, LONG));
    turn(&quorum.store).await;
    sleep(Duration::from_millis(300)).await;
    granted(&quorum.nodes[0], &other).await;
    // Two votes of five, which the other two could make a majority.
    let (asked, started) = (exclusive(), Instant::now());
    let answer = quorum.store.acquire(&asked).await;
    assert!(matches!(answer, Ok(Acquired::Refused(_))), "{answer:?}");
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_names_who_is_in_the_way_on_most_nodes() {
    let quorum = Quorum::of_five().await;
    let (mut holder, passing) = (exclusive(), exclusive());
    holder.ttl = TTL / 2;
    for node in &quorum.nodes[..3] {
        granted(node, &holder).await;
    }
    for node in &quorum.nodes[3..] {
        granted(node, &passing).await;
    }
    // Two of those with the holder decide it, and one that opens later.
    for slow in [2, 4] {
        quorum.nodes[slow].stall_next(1, Duration::from_millis(1));
    }
    match quorum.store.acquire(&exclusive()).await {
        Ok(Acquired::Refused(refusal)) => assert_eq!(refusal.by.token, holder.hold.token.prefix()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_lock_delay_counts_as_a_part_of_the_ttl() {
    let quorum = Quorum::of_five().await;
    let mut asked = exclusive();
    asked.lock_delay = Duration::from_millis(1);
    let answer = quorum.store.acquire(&asked).await;
    assert!(matches!(answer, Err(StoreError::Unsupported { .. })), "{answer:?}");
    asked.ttl -= Duration::from_millis(1);
    granted(&quorum.store, &asked).await;
}

#[test]
fn what_is_owed_is_released_though_the_runtime_ended_that_was_at_it() {
    use leasehold::{MemoryStore, QuorumOptions};
    use std::sync::Arc;

    let nodes: Vec<_> = (0..5).map(|_| MemoryStore::default()).collect();
    let named = nodes.iter().enumerate().map(|(which, node)| {
        let store: Arc<dyn QuorumNode> = Arc::new(node.clone());
        (which.to_string(), store)
    });
    let options = QuorumOptions { fresh_start: true, ..QuorumOptions::default() };
    let quorum = QuorumStore::new(named, options).unwrap();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (holder, first, second) = (exclusive(), exclusive(), exclusive());
    runtime().block_on(async {
        for node in &nodes[..3] {
            granted(node, &holder).await;
            // The others are asked too before these have refused.
            node.stall_next(1, Duration::from_millis(1));
        }
        // Granted by two nodes, which take long to give it back.
        for node in &nodes[3..] {
            node.stall_next(2, Duration::ZERO);
            node.stall_next(1, Duration::from_secs(60));
        }
        refused(&quorum, &first).await;
        sleep(Duration::from_millis(20)).await;
    });
    runtime().block_on(async {
        assert!(nodes[3].is_held(&first.hold).await.unwrap());
        let mut other = second;
        other.hold.resource = leasehold::ResourceName::new("other").unwrap();
        for node in &nodes[..3] {
            let mut blocking = exclusive();
            blocking.hold.resource = other.hold.resource.clone();
            granted(node, &blocking).await;
            node.stall_next(1, Duration::from_millis(1));
        }
        refused(&quorum, &other).await;
        eventually("released everywhere", async || {
            !nodes[3].is_held(&first.hold).await.unwrap() && !nodes[4].is_held(&first.hold).await.unwrap()
        })
        .await;
    });
}
