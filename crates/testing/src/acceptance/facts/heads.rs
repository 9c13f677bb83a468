//! The heads of the queue: when it is their turn, and how many of them fit.

use super::*;

pub async fn a_head_that_asks_is_granted_and_not_told(mut scene: Scene) {
    for head in [scene.exclusive(), scene.shared(), scene.permits(1, 1)] {
        let mut notifications = scene.listen_anew().await;
        scene.granted(&scene.exclusive()).await;
        let [head] = scene.line_up([head]).await;
        scene.pass(TTL + secs(1)).await;
        scene.granted(&head).await;
        assert_about(scene.inspect().await.holders[0].remaining, TTL);
        assert_eq!(scene.told(&mut notifications).await, []);
        assert_eq!(scene.release(&head).await, Released::Freed);
    }
}

pub async fn a_newcomer_hands_what_a_dead_holder_left_to_the_head(mut scene: Scene) {
    for place in [false, true] {
        let mut notifications = scene.listen_anew().await;
        scene.granted(&scene.exclusive()).await;
        let [head] = scene.line_up([scene.exclusive()]).await;
        scene.pass(TTL + secs(1)).await;
        if place {
            assert_eq!(scene.queued(&scene.waiting(scene.exclusive())).await, 0);
        } else {
            assert_eq!(scene.refused(&scene.exclusive()).await.by.token, head.hold.token.prefix());
        }
        assert_eq!(scene.told(&mut notifications).await, tokens([&head]));
        assert_eq!(scene.release(&head).await, Released::Freed);
    }
}

pub async fn a_stranger_that_releases_hands_what_a_dead_holder_left_to_the_head(mut scene: Scene) {
    for dead in [scene.exclusive(), scene.shared()] {
        let mut notifications = scene.listen_anew().await;
        scene.granted(&dead).await;
        let [head] = scene.line_up([scene.exclusive()]).await;
        scene.pass(TTL + secs(1)).await;
        assert_eq!(scene.release(&dead).await, Released::NotHeld { count: 0 });
        assert_eq!(scene.told(&mut notifications).await, tokens([&head]));
        assert_eq!(scene.release(&head).await, Released::Freed);
    }
}

pub async fn all_readers_at_the_head_are_handed_over_together(scene: Scene) {
    let mut notifications = scene.listen().await;
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let [first, second, third, writer, last] = scene
        .line_up([scene.shared(), scene.shared(), scene.shared(), scene.exclusive(), scene.shared()])
        .await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    assert_eq!(scene.told(&mut notifications).await, tokens([&first, &second, &third]));
    assert_eq!(scene.queued(&last).await, 1);
    let (fence_of_first, fence_of_third) = (scene.fence(&first).await, scene.fence(&third).await);
    assert!(fence_of_third > fence_of_first);
    for reader in [&first, &second, &third] {
        assert_eq!(scene.release(reader).await, Released::Freed);
    }
    assert_eq!(scene.told(&mut notifications).await, tokens([&writer]));
}

pub async fn permits_are_handed_to_as_many_heads_as_fit(scene: Scene) {
    let mut notifications = scene.listen().await;
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let [two, one, large, small] = scene
        .line_up([scene.permits(2, 4), scene.permits(1, 4), scene.permits(2, 4), scene.permits(1, 4)])
        .await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    // One permit is left; the head of those who wait needs two, and the next one does not overtake it.
    assert_eq!(scene.told(&mut notifications).await, tokens([&two, &one]));
    assert_eq!(scene.release(&one).await, Released::Freed);
    assert_eq!(scene.told(&mut notifications).await, tokens([&large]));
    assert_eq!(scene.release(&two).await, Released::Freed);
    assert_eq!(scene.told(&mut notifications).await, tokens([&small]));
}

pub async fn a_hold_that_opens_later_is_not_handed_over_before(scene: Scene) {
    let mut notifications = scene.listen().await;
    for holder in [scene.exclusive(), scene.shared(), scene.permits(1, 1)] {
        scene.granted(&holder).await;
        let [waiter] = scene.line_up([scene.exclusive()]).await;
        assert_eq!(scene.release_closed_for(&holder, secs(8)).await, Released::Freed);
        assert_eq!(scene.queued(&waiter).await, 0);
        scene.pass(secs(9)).await;
        scene.granted(&waiter).await;
        assert_eq!(scene.told(&mut notifications).await, []);
        assert_eq!(scene.release(&waiter).await, Released::Freed);
    }
}

pub async fn a_forced_release_hands_over(mut scene: Scene) {
    for holders in [vec![scene.exclusive()], vec![scene.shared(), scene.shared()]] {
        let mut notifications = scene.listen_anew().await;
        for holder in &holders {
            scene.granted(holder).await;
        }
        let [head, next] = scene.line_up([scene.exclusive(), scene.exclusive()]).await;
        let taken_away = scene.store.force_release(&scene.name).await.unwrap();
        assert_eq!(taken_away, holders.len() as u64);
        assert_eq!(scene.told(&mut notifications).await, tokens([&head]));
        assert_eq!(scene.waiters().await, 1);
        assert_eq!(scene.release(&head).await, Released::Freed);
        assert_eq!(scene.release(&next).await, Released::Freed);
    }
}

pub async fn a_forced_release_takes_a_hand_over_away(scene: Scene) {
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let [first, second] = scene.line_up([scene.exclusive(), scene.exclusive()]).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 1);
    assert!(!scene.is_held(&first).await);
    assert!(scene.is_held(&second).await);
}

pub async fn an_owner_that_waits_twice_is_handed_both(scene: Scene) {
    let mut notifications = scene.listen().await;
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let worker = || scene.reentrant("worker");
    let [first, second, other, last] = scene.line_up([worker(), worker(), scene.exclusive(), worker()]).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    assert_eq!(scene.told(&mut notifications).await, tokens([&first, &second]));
    let grant = scene.granted(&first).await;
    assert_eq!(grant.holds, 2);
    assert_eq!(scene.granted(&second).await, grant);
    // It re-enters from behind the other who waits.
    assert_eq!(scene.granted(&last).await, Grant { holds: 3, ..grant });
    assert_eq!(scene.queued(&other).await, 0);
    assert_eq!(scene.waiters().await, 1);
}

pub async fn a_release_to_a_waiter_of_the_same_owner_leaves_nothing_held(scene: Scene) {
    let holder = owned("worker", scene.permits(2, 3));
    scene.granted(&holder).await;
    let [waiter] = scene.line_up([owned("worker", scene.permits(2, 3))]).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    assert!(scene.is_held(&waiter).await);
}
