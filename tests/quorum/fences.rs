//! Fences of a quorum only grow, whatever its nodes forget.

use std::time::Duration;

use leasehold::{
    Fence, QuorumOptions, QuorumStore,
    store::{Acquired, QuorumNode, Store},
};
use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use tokio::time::{Instant, sleep, timeout};

use crate::quorum::{
    nodes::{Quorum, TTL, exclusive, granted},
    restarts::{PATIENT, on_servers},
};
use leasehold_testing::servers::RedisServer;
use leasehold_testing::waiting::PATIENCE;
use support::patient;

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

/// Acquires and releases, again where there is no quorum for a moment. Fences have to grow.
async fn turns(clients: &[QuorumStore], ttl: Duration, count: usize, last: &mut Fence) {
    let give_up = Instant::now() + PATIENCE;
    let mut granted = 0;
    for client in clients.iter().cycle() {
        assert!(Instant::now() < give_up, "no more than {granted} of {count}");
        let mut asked = exclusive();
        asked.ttl = ttl;
        if let Ok(Acquired::Granted(grant)) = client.acquire(&asked).await {
            let fence = grant.fence.unwrap();
            assert!(fence > *last, "{fence} after {last}");
            *last = fence;
            granted += 1;
        }
        drop(client.release(&asked.hold, Duration::ZERO).await);
        if granted == count {
            return;
        }
    }
}

/// Lets a server come back empty where it meets only servers that never knew the last fences. Whoever trusts it when it is old
/// enough gives out smaller ones.
#[tokio::test]
async fn fences_grow_over_5_000_acquisitions_on_servers_that_come_back_empty_while_others_are_away() {
    const ROUNDS: usize = 20;
    const SEED: u64 = 16;
    let max_ttl = Duration::from_secs(1);
    let mut rng = StdRng::seed_from_u64(SEED);
    let mut servers: Vec<_> = (0..5).map(|_| RedisServer::with_clock()).collect();
    // Their clocks are minutes apart, so that a fence goes back unless it is written to a majority.
    for (minutes, server) in servers.iter().enumerate() {
        server.advance(Duration::from_secs(60 * minutes as u64));
    }
    let options =
        QuorumOptions { node_timeout: PATIENT, max_ttl, fresh_start: true, ..QuorumOptions::default() };
    let clients = [on_servers(&servers, options.clone()), on_servers(&servers, options.clone())];
    let mut last = Fence::new(0);
    turns(&clients[..1], max_ttl, 1, &mut last).await;
    for _ in 0..ROUNDS {
        turns(&clients, max_ttl, 180, &mut last).await;
        let mut order = [0, 1, 2, 3, 4];
        order.shuffle(&mut rng);
        let [victim, first, second, third, fourth] = order;
        // Three know the next fences,
        for away in [third, fourth] {
            servers[away].pause();
        }
        turns(&clients, max_ttl, 70, &mut last).await;
        // and one of them forgets them, and waits until no lease that it forgot can be valid.
        servers[victim].restart();
        let back = patient::open(&servers[victim].url());
        while back.incarnation().await.unwrap().age < max_ttl + max_ttl / 10 {
            sleep(Duration::from_millis(50)).await;
        }
        // It meets the two that never knew them.
        for (away, there) in [(first, third), (second, fourth)] {
            servers[away].pause();
            servers[there].resume();
        }
        // So does a client that knows no fence: the others would name a larger one than they have seen.
        let newcomer = [on_servers(&servers, options.clone())];
        let _no_quorum = timeout(max_ttl / 2, turns(&newcomer, max_ttl, 10, &mut last)).await;
        for away in [first, second] {
            servers[away].resume();
        }
        loop {
            turns(&clients, max_ttl, 1, &mut last).await;
            let report = back.report().await.unwrap();
            if report.incarnation.has_recovered(report.recovered.as_ref()) {
                break;
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
}
