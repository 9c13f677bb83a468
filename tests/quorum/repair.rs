//! Renewals over all nodes, and the repair of those that lost a lease.

use std::time::Duration;

use leasehold::{
    Certainty,
    store::{Renewed, Store},
};

use crate::quorum::nodes::{Quorum, TTL, exclusive, granted, refused};

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
