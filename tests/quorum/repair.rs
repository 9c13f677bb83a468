//! Renewals over all nodes, and the repair of those that lost a lease.

use std::{sync::Arc, time::Duration};

use leasehold::{
    Certainty,
    store::{Acquisition, QuorumNode, Released, Renewed, Store},
};

use crate::quorum::{
    nodes::{Quorum, TTL, exclusive, granted, refused},
    queues::{Client, WINDOW},
};
use support::odd_store::odd_store;

#[tokio::test(start_paused = true)]
async fn a_node_that_lost_a_lease_has_it_again_after_a_renewal() {
    let quorum = Quorum::of_five().await;
    let asked = exclusive();
    let fence = granted(&quorum.store, &asked).await;
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    quorum.nodes[..2].iter().for_each(|node| node.clear());
    assert_eq!(quorum.store.renew(&asked.hold, TTL).await.unwrap(), Renewed::Extended);
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let holder = &quorum.nodes[0].inspect(&asked.hold.resource, 1).await.unwrap().holders[0];
    // The node cannot know that nobody else was granted it meanwhile, so its own fence stays.
    assert!(holder.fence >= Some(fence), "{holder:?}");
}

#[tokio::test(start_paused = true)]
async fn a_repair_does_not_count_for_its_renewal() {
    let quorum = Quorum::of_five().await;
    let asked = exclusive();
    granted(&quorum.store, &asked).await;
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    quorum.nodes[..3].iter().for_each(|node| node.clear());
    assert_eq!(quorum.store.renew(&asked.hold, TTL).await.unwrap(), Renewed::NotHeld);
    tokio::time::sleep(TTL / 2).await;
    assert_eq!(quorum.holders(&asked.hold).await, [3, 4]);
}

#[tokio::test(start_paused = true)]
async fn silent_nodes_make_a_renewal_unknown_and_not_a_loss() {
    let quorum = Quorum::of_five().await;
    let asked = exclusive();
    granted(&quorum.store, &asked).await;
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    quorum.nodes[0].clear();
    quorum.nodes[1..3].iter().for_each(|node| node.fail_next(1));
    let error = quorum.store.renew(&asked.hold, TTL).await.unwrap_err();
    assert_eq!((error.kind(), error.certainty()), ("no_quorum", Certainty::Unknown));
    assert_eq!(quorum.store.renew(&asked.hold, TTL).await.unwrap(), Renewed::Extended);
}

#[tokio::test(start_paused = true)]
async fn a_repair_takes_nothing_from_somebody_else() {
    let quorum = Quorum::of_five().await;
    let (asked, other) = (exclusive(), exclusive());
    granted(&quorum.store, &asked).await;
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    quorum.nodes[0].clear();
    granted(&quorum.nodes[0], &other).await;
    assert_eq!(quorum.store.renew(&asked.hold, TTL).await.unwrap(), Renewed::Extended);
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(quorum.holders(&asked.hold).await, [1, 2, 3, 4]);
    assert_eq!(quorum.holders(&other.hold).await, [0]);
    refused(&quorum.another(), &exclusive()).await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_released_while_it_is_repaired_is_not_left_behind() {
    let quorum = Quorum::of_five().await;
    let asked = exclusive();
    granted(&quorum.store, &asked).await;
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    quorum.nodes[0].clear();
    // The renewal at once, then the repair late.
    quorum.nodes[0].stall_next(1, Duration::ZERO);
    quorum.nodes[0].stall_next(1, Duration::from_millis(100));
    assert_eq!(quorum.store.renew(&asked.hold, TTL).await.unwrap(), Renewed::Extended);
    tokio::time::sleep(Duration::from_millis(5)).await;
    let _released = quorum.store.release(&asked.hold, Duration::ZERO).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(quorum.holders(&asked.hold).await, [0_usize; 0]);
}

/// Has the token hold on all nodes but the first. There an earlier attempt was released, and the answer to that is lost.
async fn with_a_release_in_flight(quorum: &Quorum, asked: &Acquisition) {
    let other = exclusive();
    for node in &quorum.nodes[2..] {
        granted(node, &other).await;
    }
    // The acquisition and the incarnation at once, then the release.
    quorum.nodes[0].stall_next(2, Duration::ZERO);
    quorum.nodes[0].lose_next_replies(1);
    refused(&quorum.store, asked).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    for node in &quorum.nodes[2..] {
        assert_eq!(node.release(&other.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    }
    granted(&quorum.store, asked).await;
    quorum.until_held_by(&asked.hold, &[1, 2, 3, 4]).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_with_a_release_in_flight_has_the_lease_after_a_renewal() {
    let quorum = Quorum::of_five_met().await;
    let asked = exclusive();
    with_a_release_in_flight(&quorum, &asked).await;
    assert_eq!(quorum.store.renew(&asked.hold, TTL).await.unwrap(), Renewed::Extended);
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    tokio::time::sleep(TTL / 2).await;
    assert_eq!(quorum.holders(&asked.hold).await, [0, 1, 2, 3, 4], "and nothing releases it there later");
}

#[tokio::test(start_paused = true)]
async fn a_node_with_a_release_in_flight_does_not_count_for_a_renewal() {
    let quorum = Quorum::of_five_met().await;
    let asked = exclusive();
    with_a_release_in_flight(&quorum, &asked).await;
    // As if the release were still to be executed.
    granted(&quorum.nodes[0], &asked).await;
    quorum.nodes[1..3].iter().for_each(|node| node.clear());
    let error = quorum.store.renew(&asked.hold, TTL).await.unwrap_err();
    assert_eq!((error.kind(), error.certainty()), ("no_quorum", Certainty::Unknown));
    // By then the release was repeated and is over, and the node has the lease anew.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(quorum.holders(&asked.hold).await, [0, 3, 4]);
    assert_eq!(quorum.store.renew(&asked.hold, TTL).await.unwrap(), Renewed::Extended);
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
}

#[tokio::test(start_paused = true)]
async fn a_release_that_was_certainly_not_executed_is_not_in_flight() {
    let quorum = Quorum::of_five_met().await;
    let (asked, other) = (exclusive(), exclusive());
    for node in &quorum.nodes[2..] {
        granted(node, &other).await;
    }
    // The acquisition and the incarnation at once, then the release and its repetition.
    quorum.nodes[0].stall_next(2, Duration::ZERO);
    quorum.nodes[0].fail_next(2);
    refused(&quorum.store, &asked).await;
    tokio::time::sleep(Duration::from_millis(30)).await;
    quorum.nodes[0].clear();
    for node in &quorum.nodes[2..] {
        assert_eq!(node.release(&other.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    }
    granted(&quorum.store, &asked).await;
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
}

#[tokio::test(start_paused = true)]
async fn a_repair_that_has_to_wait_takes_its_turn_at_once() {
    let quorum = Quorum::of_five().await;
    let (client, other) = (Client::of(&quorum).await, exclusive());
    let asked = client.asks();
    let store = client.notified();
    granted(&store, &asked).await;
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    quorum.nodes[0].clear();
    granted(&quorum.nodes[0], &other).await;
    assert_eq!(store.renew(&asked.hold, TTL).await.unwrap(), Renewed::Extended);
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(quorum.holders(&asked.hold).await, [1, 2, 3, 4]);
    assert_eq!(quorum.nodes[0].release(&other.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    // It does not only have what it was handed over.
    tokio::time::sleep(2 * WINDOW).await;
    assert_eq!(quorum.holders(&asked.hold).await, [0, 1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_repaired_when_a_release_that_is_on_its_way_is_answered() {
    let quorum = Quorum::of_five_met().await;
    let (asked, other) = (exclusive(), exclusive());
    for node in &quorum.nodes[2..] {
        granted(node, &other).await;
    }
    // The acquisition and the incarnation at once, then the release late.
    quorum.nodes[0].stall_next(2, Duration::ZERO);
    quorum.nodes[0].stall_next(1, Duration::from_millis(200));
    refused(&quorum.store, &asked).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    for node in &quorum.nodes[2..] {
        assert_eq!(node.release(&other.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    }
    granted(&quorum.store, &asked).await;
    assert_eq!(quorum.store.renew(&asked.hold, TTL).await.unwrap(), Renewed::Extended);
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert_eq!(quorum.holders(&asked.hold).await, [0, 1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_a_majority_has_lost_is_not_repaired_where_a_node_hands_over_to_it() {
    let quorum = Quorum::of_five().await;
    let (client, other) = (Client::of(&quorum).await, exclusive());
    let asked = client.asks();
    let store = client.notified();
    granted(&store, &asked).await;
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    quorum.nodes[0].clear();
    granted(&quorum.nodes[0], &other).await;
    // Its repair waits on the first node.
    assert_eq!(store.renew(&asked.hold, TTL).await.unwrap(), Renewed::Extended);
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(quorum.nodes[0].inspect(&asked.hold.resource, 1).await.unwrap().waiting, 1);
    quorum.nodes[1..3].iter().for_each(|node| node.clear());
    assert_eq!(store.renew(&asked.hold, TTL).await.unwrap(), Renewed::NotHeld);
    assert_eq!(quorum.nodes[0].release(&other.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    tokio::time::sleep(2 * WINDOW).await;
    assert_eq!(quorum.holders(&asked.hold).await, [3, 4], "it had its grant window");
}

#[tokio::test(start_paused = true)]
async fn a_repair_releases_nothing_of_a_later_attempt_on_its_token() {
    let quorum = Quorum::of_five_met().await;
    let asked = exclusive();
    granted(&quorum.store, &asked).await;
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    quorum.nodes[0].clear();
    // The renewal at once, then the repair late.
    quorum.nodes[0].stall_next(1, Duration::ZERO);
    quorum.nodes[0].stall_next(1, Duration::from_millis(30));
    assert_eq!(quorum.store.renew(&asked.hold, TTL).await.unwrap(), Renewed::Extended);
    tokio::time::sleep(Duration::from_millis(5)).await;
    let _released = quorum.store.release(&asked.hold, Duration::ZERO).await.unwrap();
    // It is still open when the repair ends.
    quorum.nodes[1..4].iter().for_each(|node| node.stall_next(1, Duration::from_millis(40)));
    granted(&quorum.store, &asked).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(quorum.holders(&asked.hold).await, [0, 1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn a_repair_that_is_executed_after_the_release_of_its_lease_is_undone() {
    let quorum = Quorum::of_five().await;
    let nodes: Vec<_> = quorum.nodes.iter().map(|node| odd_store(node.clone())).collect();
    let store = quorum.client_of(nodes.iter().map(|node| Arc::new(node.clone()) as Arc<dyn QuorumNode>));
    let asked = exclusive();
    granted(&store, &asked).await;
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    quorum.nodes[0].clear();
    let late = Duration::from_millis(300);
    nodes[0].execute_late(late);
    assert_eq!(store.renew(&asked.hold, TTL).await.unwrap(), Renewed::Extended);
    tokio::time::sleep(Duration::from_millis(5)).await;
    let _released = store.release(&asked.hold, Duration::ZERO).await.unwrap();
    tokio::time::sleep(late).await;
    assert_eq!(quorum.holders(&asked.hold).await, [0], "executed by now");
    tokio::time::sleep(2 * late).await;
    assert_eq!(quorum.holders(&asked.hold).await, [0_usize; 0]);
}
