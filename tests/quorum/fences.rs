//! Fences of a quorum only grow, whatever its nodes forget.

use std::time::Duration;

use leasehold::{Fence, Store};

use crate::nodes::{Quorum, TTL, exclusive, granted};

#[tokio::test(start_paused = true)]
async fn fences_grow_over_a_thousand_acquisitions_while_nodes_are_restarted_empty() {
    let quorum = Quorum::of_five().await;
    let clients = [quorum.another(), quorum.another()];
    let mut last = Fence::new(0);
    for turn in 0..1_000 {
        if turn % 20 == 0 {
            quorum.nodes[turn / 20 % 5].restart();
            // One at a time: the one before must be able to vote again.
            tokio::time::sleep(TTL / 100).await;
        }
        if turn % 20 == 10 {
            tokio::time::sleep(TTL + TTL / 50).await;
        }
        // Slow nodes change which ones make the majority.
        quorum.nodes[turn % 5].stall_next(1, Duration::from_millis(3));
        let (client, asked) = (&clients[turn % 2], exclusive());
        let fence = granted(client, &asked).await;
        assert!(fence > last, "{fence} after {last} in turn {turn}");
        last = fence;
        let _released = client.release(&asked.hold, Duration::ZERO).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_largest_fence_of_the_majority_is_known_to_a_majority_before_it_is_given_out() {
    let quorum = Quorum::of_five().await;
    // One node is far ahead.
    let ahead = exclusive();
    let far = Fence::new(granted(&quorum.nodes[0], &ahead).await.get() + 1_000_000_000_000);
    assert!(quorum.nodes[0].raise_fences(&[(&ahead.hold, far)]).await.remove(0).unwrap());
    let _released = quorum.nodes[0].release(&ahead.hold, Duration::ZERO).await.unwrap();

    let first = exclusive();
    let fence = granted(&quorum.store, &first).await;
    assert!(fence > far);
    let _released = quorum.store.release(&first.hold, Duration::ZERO).await.unwrap();
    quorum.until_held_by(&first.hold, &[]).await;
    // The next one does not hear of it from that node.
    quorum.nodes[0].fail_next(1);
    assert!(granted(&quorum.another(), &exclusive()).await > fence);
}

#[tokio::test(start_paused = true)]
async fn a_fence_that_cannot_be_written_back_is_not_given_out() {
    let quorum = Quorum::of_five().await;
    // Each has another fence: they are executed at different times.
    for (which, node) in quorum.nodes.iter().enumerate() {
        node.stall_next(1, Duration::from_millis(which as u64));
        node.stall_next(1, Duration::ZERO);
        node.fail_next(1);
    }
    let asked = exclusive();
    let error = quorum.store.acquire(&asked).await.unwrap_err();
    assert_eq!(error.kind(), "no_quorum");
    tokio::time::sleep(Duration::from_millis(100)).await;
    quorum.until_held_by(&asked.hold, &[]).await;
}
