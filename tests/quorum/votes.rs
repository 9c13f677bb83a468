//! Nodes that are down, slow or silent, and what they granted to attempts that failed.

use std::time::Duration;

use leasehold::{
    Certainty, MemoryStore, Mode, StoreError,
    store::{Acquired, Released, Store},
};
use tokio::time::Instant;

use crate::quorum::nodes::{Quorum, TTL, ask, exclusive, granted, refused, short_of};

const LONG: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_minority_that_is_down_slow_or_mute_costs_no_time() {
    let faults: [fn(&MemoryStore); 3] =
        [|node| node.fail_next(100), |node| node.stall_next(100, LONG), |node| node.lose_next_replies(100)];
    for fault in faults {
        let quorum = Quorum::of_five().await;
        quorum.nodes[1..3].iter().for_each(fault);
        let started = Instant::now();
        let asked = exclusive();
        granted(&quorum.store, &asked).await;
        assert!(quorum.store.is_held(&asked.hold).await.unwrap());
        assert_eq!(quorum.store.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);
        assert_eq!(started.elapsed(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_majority_each_node_is_named_and_what_was_granted_is_released() {
    let quorum = Quorum::of_five().await;
    quorum.nodes[..3].iter().for_each(|node| node.fail_next(1));
    let asked = exclusive();
    let (named, error) = short_of(&quorum.store, &asked).await;
    assert_eq!(named, ["node 0", "node 1", "node 2"]);
    assert_eq!(error.certainty(), Certainty::NotExecuted);
    let text = error.to_string();
    assert!(
        text.starts_with(
            "no majority: 3 of 5 nodes are needed; node 0, node 1, node 2: the store is not available: a"
        ),
        "{text}"
    );
    quorum.until_held_by(&asked.hold, &[]).await;
}

#[tokio::test(start_paused = true)]
async fn when_a_majority_is_silent_the_outcome_is_unknown_in_time_and_released() {
    let faults: [fn(&MemoryStore); 2] = [|node| node.stall_next(1, LONG), |node| node.lose_next_replies(1)];
    for fault in faults {
        let quorum = Quorum::of_five_met().await;
        quorum.nodes[2..].iter().for_each(fault);
        let (asked, started) = (exclusive(), Instant::now());
        let (named, error) = short_of(&quorum.store, &asked).await;
        assert_eq!((named.len(), error.certainty()), (3, Certainty::Unknown));
        assert!(started.elapsed() <= Duration::from_millis(51), "{:?}", started.elapsed());
        tokio::time::sleep(LONG + Duration::from_millis(100)).await;
        quorum.until_held_by(&asked.hold, &[]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_is_waited_for_at_most_a_twentieth_of_the_ttl() {
    let quorum = Quorum::of_five_met().await;
    quorum.nodes[2..].iter().for_each(|node| node.stall_next(1, LONG));
    let (mut asked, started) = (exclusive(), Instant::now());
    asked.ttl = Duration::from_millis(200);
    short_of(&quorum.store, &asked).await;
    assert!(started.elapsed() <= Duration::from_millis(11), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_is_granted_too_late_is_released() {
    let quorum = Quorum::of_five().await;
    let holder = exclusive();
    for node in &quorum.nodes[..3] {
        granted(node, &holder).await;
        // The others are asked too before these have refused.
        node.stall_next(1, Duration::from_millis(1));
    }
    // Both grant in vain. One keeps the release waiting, the other the grant.
    quorum.nodes[3].stall_next(2, Duration::ZERO);
    quorum.nodes[3].stall_next(1, LONG);
    quorum.nodes[4].stall_next(1, LONG);
    let late = exclusive();
    refused(&quorum.store, &late).await;
    assert_eq!(quorum.holders(&late.hold).await, [3]);
    quorum.until_held_by(&late.hold, &[]).await;
    tokio::time::sleep(LONG).await;
    quorum.until_held_by(&late.hold, &[]).await;
    assert_eq!(quorum.holders(&holder.hold).await, [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_split_vote_is_a_refusal_of_both() {
    let quorum = Quorum::of_five().await;
    let other = exclusive();
    for node in &quorum.nodes[1..3] {
        granted(node, &other).await;
    }
    let asked = exclusive();
    quorum.nodes[0].fail_next(1);
    refused(&quorum.store, &asked).await;
    quorum.until_held_by(&asked.hold, &[]).await;
}

#[tokio::test(start_paused = true)]
async fn a_second_attempt_is_not_undone_by_what_the_first_one_releases() {
    let quorum = Quorum::of_five().await;
    let (holder, asked) = (exclusive(), exclusive());
    for node in &quorum.nodes[..3] {
        granted(node, &holder).await;
        // The others are asked too before these have refused.
        node.stall_next(1, Duration::from_millis(1));
    }
    // Granted on two nodes, where releasing takes long: they must not count the second time.
    for node in &quorum.nodes[3..] {
        node.stall_next(2, Duration::ZERO);
        node.stall_next(1, LONG);
    }
    refused(&quorum.store, &asked).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(quorum.nodes[0].release(&holder.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    refused(&quorum.store, &asked).await;
    for node in &quorum.nodes[1..3] {
        assert_eq!(node.release(&holder.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    }
    granted(&quorum.store, &asked).await;
    tokio::time::sleep(LONG).await;
    assert_eq!(quorum.holders(&asked.hold).await, [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_late_grant_of_a_first_attempt_is_left_to_the_second() {
    let quorum = Quorum::of_five_met().await;
    let asked = exclusive();
    quorum.nodes[2..].iter().for_each(|node| node.stall_next(1, LONG));
    short_of(&quorum.store, &asked).await;
    granted(&quorum.store, &asked).await;
    tokio::time::sleep(2 * LONG).await;
    assert!(quorum.holders(&asked.hold).await.len() >= 3, "{:?}", quorum.holders(&asked.hold).await);
}

#[tokio::test(start_paused = true)]
async fn what_is_granted_to_a_verb_that_was_dropped_is_released() {
    let quorum = Quorum::of_five().await;
    quorum.nodes[1..].iter().for_each(|node| node.stall_next(1, Duration::from_millis(20)));
    let asked = exclusive();
    let dropped = tokio::time::timeout(Duration::from_millis(10), quorum.store.acquire(&asked)).await;
    assert!(dropped.is_err());
    tokio::time::sleep(Duration::from_millis(50)).await;
    quorum.until_held_by(&asked.hold, &[]).await;
}

#[tokio::test(start_paused = true)]
async fn a_release_that_overtakes_a_late_acquisition_leaves_nothing_behind() {
    let quorum = Quorum::of_five().await;
    quorum.nodes[4].stall_next(1, LONG);
    let asked = exclusive();
    granted(&quorum.store, &asked).await;
    assert_eq!(quorum.store.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    tokio::time::sleep(2 * LONG).await;
    assert_eq!(quorum.holders(&asked.hold).await, [0_usize; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_release_is_repeated_on_a_node_that_failed() {
    let quorum = Quorum::of_five().await;
    let asked = exclusive();
    granted(&quorum.store, &asked).await;
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    // One answers before the decision, one after it.
    quorum.nodes[0].fail_next(3);
    quorum.nodes[4].fail_next(3);
    assert_eq!(quorum.store.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    tokio::time::sleep(LONG).await;
    assert_eq!(quorum.holders(&asked.hold).await, [0_usize; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_comes_after_its_ttl_is_none() {
    let quorum = Quorum::of_five().await;
    let mut asked = exclusive();
    asked.ttl = Duration::from_millis(1);
    match quorum.store.acquire(&asked).await {
        Err(error) => assert_eq!(error.certainty(), Certainty::Unknown),
        Ok(other) => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn permits_and_ttls_that_are_too_long_are_refused_with_the_reason_and_harm_no_neighbour() {
    let quorum = Quorum::of_five().await;
    let mut long = exclusive();
    long.ttl = TTL + Duration::from_millis(1);
    let permits = ask(Mode::permits(1, 2).unwrap());
    let asked = [permits, exclusive(), long].map(std::sync::Arc::new);
    let answers = quorum.store.acquire_each(&asked).await;
    let [Err(StoreError::Unsupported { reason: of_permits, .. }), Ok(Acquired::Granted(_)), Err(of_ttl)] =
        &answers[..]
    else {
        panic!("{answers:?}")
    };
    assert!(of_permits.contains("3 holders could each have a majority"), "{of_permits}");
    assert!(of_ttl.to_string().contains("limits.max_ttl"), "{of_ttl}");
}

#[tokio::test(start_paused = true)]
async fn two_clients_that_fight_never_hold_together() {
    let quorum = Quorum::of_five().await;
    let clients = [quorum.another(), quorum.another(), quorum.another()];
    let (mut held, mut turns) = (0, 0);
    for turn in 0..300_u64 {
        quorum.nodes[(turn % 5) as usize].stall_next(1, Duration::from_millis(turn % 7));
        let asked = [(); 3].map(|()| exclusive());
        let answers = futures_util::future::join_all(
            clients.iter().zip(&asked).map(|(client, asked)| async move { client.acquire(asked).await }),
        )
        .await;
        let winners: Vec<_> =
            answers.iter().map(|answer| matches!(answer, Ok(Acquired::Granted(_)))).collect();
        let won = winners.iter().filter(|won| **won).count();
        assert!(won <= 1, "{answers:?}");
        held += won;
        turns += 1;
        for ((client, asked), _) in clients.iter().zip(&asked).zip(winners).filter(|(_, won)| *won) {
            assert_eq!(client.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(held > turns / 2, "{held} of {turns}");
}

#[tokio::test(start_paused = true)]
async fn holders_that_end_in_another_order_on_each_node_are_all_counted() {
    let quorum = Quorum::of_five().await;
    let readers: Vec<_> = (0..50).map(|_| ask(Mode::Shared)).collect();
    for reader in &readers {
        granted(&quorum.store, reader).await;
    }
    quorum.until_held_by(&readers[49].hold, &[0, 1, 2, 3, 4]).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    // On each node others end first.
    for (node, first) in quorum.nodes.iter().zip((0..50).step_by(10)) {
        for (number, reader) in readers.iter().enumerate() {
            if !(first..first + 10).contains(&number) {
                node.renew(&reader.hold, TTL).await.unwrap();
            }
        }
    }
    let seen = quorum.store.inspect(&readers[0].hold.resource, 5).await.unwrap();
    assert_eq!(seen.total, 50);
    let seen = quorum.store.inspect(&readers[0].hold.resource, 100).await.unwrap();
    assert_eq!((seen.holders.len(), seen.total), (50, 50));
}
