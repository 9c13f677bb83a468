//! The fence of a lease that is repeated or re-entered, when nodes missed its first hold or were late.

use std::time::Duration;

use leasehold::{
    Fence, Owner,
    store::{Acquisition, QuorumNode, Released, Store},
};
use tokio::time::sleep;

use crate::quorum::nodes::{Quorum, TTL, exclusive, granted};

fn owned() -> Acquisition {
    let mut asked = exclusive();
    asked.hold.owner = Some(Owner::new("owner").unwrap());
    asked.reentrant = true;
    asked
}

/// A hold of which the last two nodes know nothing.
async fn missed_by_two(quorum: &Quorum) -> (Acquisition, Fence) {
    let held = owned();
    quorum.nodes[3..].iter().for_each(|node| node.fail_next(1));
    let fence = granted(&quorum.store, &held).await;
    quorum.until_held_by(&held.hold, &[0, 1, 2]).await;
    sleep(Duration::from_millis(10)).await;
    (held, fence)
}

#[tokio::test(start_paused = true)]
async fn a_re_entry_has_the_fence_of_the_first_hold_though_nodes_missed_that_and_answer_first() {
    let quorum = Quorum::of_five().await;
    let (held, fence) = missed_by_two(&quorum).await;
    for round in 0..3 {
        quorum.nodes[..3].iter().for_each(|node| node.stall_next(1, Duration::from_millis(3)));
        let again = owned();
        assert_eq!(granted(&quorum.store, &again).await, fence, "round {round}");
        quorum.until_held_by(&again.hold, &[0, 1, 2, 3, 4]).await;
        sleep(Duration::from_millis(10)).await;
        // Those that had a smaller one are told; nothing lowers a larger one.
        for node in &quorum.nodes {
            let inspection = node.inspect(&again.hold.resource, 9).await.unwrap();
            assert!(inspection.holders.iter().all(|holder| holder.fence >= Some(fence)), "{inspection:?}");
        }
    }
    assert!(matches!(
        quorum.store.release(&held.hold, Duration::ZERO).await.unwrap(),
        Released::StillHeld { .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn a_re_entry_has_the_fence_of_the_first_hold_though_a_node_gave_it_a_larger_one_too_late_to_count() {
    for when in ["before the re-entry", "while the re-entry is under way"] {
        let quorum = Quorum::of_five_met().await;
        // One node is ahead, and its answer comes when a majority has granted without it.
        let ahead = exclusive();
        let far = Fence::new(granted(&quorum.nodes[3], &ahead).await.get() + 1_000_000);
        assert!(quorum.nodes[3].raise_fences(&[(&ahead.hold, far)]).await.remove(0).unwrap());
        let _released = quorum.nodes[3].release(&ahead.hold, Duration::ZERO).await.unwrap();
        quorum.nodes[3].stall_next(1, Duration::from_millis(3));
        quorum.nodes[4].fail_next(1);
        let held = owned();
        let fence = granted(&quorum.store, &held).await;
        assert!(fence < far);
        if when == "before the re-entry" {
            quorum.until_held_by(&held.hold, &[0, 1, 2, 3]).await;
            sleep(Duration::from_millis(10)).await;
        } else {
            quorum.nodes[3].stall_next(1, Duration::from_millis(4));
        }
        // One that voted does not answer the re-entry, so that a majority needs the one that is ahead.
        [2, 4].iter().for_each(|&node: &usize| quorum.nodes[node].fail_next(1));
        let again = owned();
        assert_eq!(granted(&quorum.store, &again).await, fence, "{when}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_majority_that_knows_the_first_hold_a_re_entry_has_a_larger_fence() {
    let quorum = Quorum::of_five().await;
    let (held, fence) = missed_by_two(&quorum).await;
    // Taken away, and given to somebody else in between; two nodes were not reached.
    for node in &quorum.nodes[..1] {
        assert_eq!(node.force_release(&held.hold.resource).await.unwrap(), 1);
    }
    let other = exclusive();
    let between = granted(&quorum.another(), &other).await;
    assert!(between > fence);
    assert_eq!(quorum.store.release(&other.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    quorum.until_held_by(&other.hold, &[]).await;
    let again = granted(&quorum.store, &owned()).await;
    assert!(again > between, "{again} after {between}");
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_ended_leaves_no_fence_to_its_owner() {
    let quorum = Quorum::of_five().await;
    let (_, fence) = missed_by_two(&quorum).await;
    sleep(TTL + Duration::from_secs(1)).await;
    assert!(granted(&quorum.store, &owned()).await > fence);
}

#[tokio::test(start_paused = true)]
async fn a_repeat_has_the_fence_of_the_first_grant_though_a_late_node_has_another() {
    let quorum = Quorum::of_five().await;
    let asked = owned();
    // The last one is late, and gives it a larger fence.
    quorum.nodes[4].stall_next(1, Duration::from_millis(20));
    let fence = granted(&quorum.store, &asked).await;
    sleep(Duration::from_millis(30)).await;
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    quorum.nodes[..2].iter().for_each(|node| node.fail_next(1));
    assert_eq!(granted(&quorum.store, &asked).await, fence);
}
