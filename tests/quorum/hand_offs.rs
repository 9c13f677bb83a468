//! Hand-offs by a majority: what becomes of the hold, and of the next one, where nodes fail.

use std::time::Duration;

use leasehold::{
    Certainty, StoreError,
    store::{Acquired, Released, Store},
};

use tokio::time::Instant;

use crate::quorum::nodes::{Quorum, TTL, exclusive, granted};

#[tokio::test(start_paused = true)]
async fn a_hold_that_is_handed_off_is_released_later_where_a_node_failed() {
    let quorum = Quorum::of_five_met().await;
    let [from, to] = [exclusive(), exclusive()];
    granted(&quorum.store, &from).await;
    quorum.nodes[3..].iter().for_each(|node| node.fail_next(1));
    let handed_off = quorum.store.hand_off(&from.hold, &to, false).await.unwrap();
    assert_eq!(handed_off.released, Released::Freed);
    assert!(matches!(handed_off.acquired, Ok(Acquired::Granted(_))), "{handed_off:?}");
    quorum.until_held_by(&from.hold, &[]).await;
    assert!(quorum.store.is_held(&to.hold).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_hand_off_that_a_majority_does_not_answer_is_unknown_and_leaves_no_hold_behind() {
    let quorum = Quorum::of_five_met().await;
    let [from, to] = [exclusive(), exclusive()];
    granted(&quorum.store, &from).await;
    quorum.nodes[..3].iter().for_each(|node| node.lose_next_replies(1));
    let error = quorum.store.hand_off(&from.hold, &to, false).await.unwrap_err();
    assert!(matches!(error, StoreError::NoQuorum { .. }), "{error}");
    assert_eq!(error.certainty(), Certainty::Unknown);
    // Whoever asked releases both, as after any error.
    for hold in [&from.hold, &to.hold] {
        let _either = quorum.store.release(hold, Duration::ZERO).await;
        quorum.until_held_by(hold, &[]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_hand_off_is_not_decided_before_its_release_is() {
    let quorum = Quorum::of_five_met().await;
    let [from, to] = [exclusive(), exclusive()];
    quorum.nodes[3..].iter().for_each(|node| node.fail_next(1));
    granted(&quorum.store, &from).await;
    quorum.until_held_by(&from.hold, &[0, 1, 2]).await;
    // A majority grants, and of it one alone has released something.
    quorum.nodes[1..3].iter().for_each(|node| node.stall_next(1, Duration::from_millis(3)));
    let handed_off = quorum.store.hand_off(&from.hold, &to, false).await.unwrap();
    assert_eq!(handed_off.released, Released::Freed);
    assert!(matches!(handed_off.acquired, Ok(Acquired::Granted(_))), "{handed_off:?}");
}

#[tokio::test(start_paused = true)]
async fn a_grant_beside_a_release_that_is_not_decided_is_given_back() {
    let quorum = Quorum::of_five_met().await;
    let [from, to] = [exclusive(), exclusive()];
    quorum.nodes[3..].iter().for_each(|node| node.fail_next(1));
    granted(&quorum.store, &from).await;
    quorum.until_held_by(&from.hold, &[0, 1, 2]).await;
    // Three grant, and of those that held only one has released it.
    quorum.nodes[1..3].iter().for_each(|node| node.fail_next(1));
    let error = quorum.store.hand_off(&from.hold, &to, false).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::Unknown, "{error}");
    let began = Instant::now();
    quorum.until_held_by(&to.hold, &[]).await;
    quorum.until_held_by(&from.hold, &[]).await;
    assert!(began.elapsed() < TTL / 4, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_was_not_held_is_handed_off_as_not_held() {
    let quorum = Quorum::of_five_met().await;
    let [other, from, to] = [exclusive(), exclusive(), exclusive()];
    granted(&quorum.store, &other).await;
    let handed_off = quorum.store.hand_off(&from.hold, &to, false).await.unwrap();
    assert_eq!(handed_off.released, Released::NotHeld { count: 0 });
    assert!(matches!(handed_off.acquired, Ok(Acquired::Refused(_))), "{handed_off:?}");
    quorum.until_held_by(&to.hold, &[]).await;
}
