//! The hand-over: to whom, when, for how long, and how it is told.

use super::*;

pub async fn a_release_hands_over_to_the_head_alone_and_tells_it_once(scene: Scene) {
    let mut notifications = scene.listen().await;
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let [head, next] = scene.line_up([scene.exclusive(), scene.exclusive()]).await;
    assert_eq!(scene.told(&mut notifications).await, []);
    assert_eq!(scene.release(&holder).await, Released::Freed);
    assert!(scene.is_held(&head).await);
    assert!(!scene.is_held(&next).await);
    assert_eq!(scene.waiters().await, 1);
    scene.granted(&head).await;
    assert_eq!(scene.queued(&next).await, 0);
    assert_eq!(scene.told(&mut notifications).await, tokens([&head]));
}

pub async fn a_hand_over_is_told_to_the_inbox_of_its_waiter(scene: Scene) {
    let mut notifications = scene.listen().await;
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let mut elsewhere = scene.waiting(scene.shared());
    elsewhere.ticket.as_mut().unwrap().inbox = Inbox(SystemRandom.token());
    let mut notifications_elsewhere = subscribed(scene.store.listen(&elsewhere.ticket.unwrap().inbox)).await;
    scene.queued(&elsewhere).await;
    let [here] = scene.line_up([scene.shared()]).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    assert_eq!(scene.told(&mut notifications).await, tokens([&here]));
    match next_of_waiters(&mut notifications_elsewhere).await {
        Notification::HandedOver(token) => assert_eq!(token, elsewhere.hold.token),
        other => panic!("{other:?}"),
    }
}

pub async fn a_hand_over_holds_for_its_grant_window(scene: Scene) {
    for waiter in [scene.exclusive(), scene.shared(), scene.permits(1, 1)] {
        let holder = scene.exclusive();
        scene.granted(&holder).await;
        let [waiter] = scene.line_up([waiter]).await;
        assert_eq!(scene.release(&holder).await, Released::Freed);
        assert!(scene.is_held(&waiter).await);
        assert_about(scene.inspect().await.holders[0].remaining, WINDOW);
        scene.pass(WINDOW + secs(1)).await;
        assert!(!scene.is_held(&waiter).await);
        assert_eq!(scene.inspect().await.total, 0);
    }
}

pub async fn who_takes_a_hand_over_up_holds_for_its_own_ttl(scene: Scene) {
    for waiter in [scene.exclusive(), scene.shared(), scene.permits(1, 1)] {
        let holder = scene.exclusive();
        let before = scene.fence(&holder).await;
        let [waiter] = scene.line_up([waiter]).await;
        assert_eq!(scene.release(&holder).await, Released::Freed);
        let handed_over = scene.inspect().await.holders[0].fence.unwrap();
        assert!(handed_over > before);
        assert_eq!(scene.fence(&waiter).await, handed_over);
        scene.pass(WINDOW + secs(1)).await;
        assert!(scene.is_held(&waiter).await);
        assert_about(scene.inspect().await.holders[0].remaining, TTL - WINDOW - secs(1));
        assert_eq!(scene.release(&waiter).await, Released::Freed);
    }
}

pub async fn a_hand_over_shows_who_it_is(scene: Scene) {
    let metadata = BTreeMap::from([("why \"ü\"\n".to_owned(), "a  b {%} 1 x".to_owned())]);
    for waiter in [scene.exclusive(), scene.shared(), scene.permits(2, 3)] {
        let waiter = Acquisition { metadata: metadata.clone().into(), ..owned("a b {%}", waiter) };
        let holder = scene.exclusive();
        scene.granted(&holder).await;
        let [waiter] = scene.line_up([waiter]).await;
        assert_eq!(scene.release(&holder).await, Released::Freed);
        for _taken_up in [false, true] {
            let shown = scene.inspect().await.holders.remove(0);
            assert_eq!(shown.token, waiter.hold.token.prefix());
            assert_eq!(shown.owner, waiter.hold.owner);
            assert_eq!((shown.mode, shown.state), (waiter.mode, HolderState::Holding));
            assert_eq!(shown.metadata, metadata);
            let slot = matches!(waiter.mode, Mode::Permits { .. }).then_some(0);
            assert_eq!(scene.granted(&waiter).await, Grant { fence: shown.fence, holds: 1, slot });
        }
        assert_eq!(scene.release(&waiter).await, Released::Freed);
    }
}

pub async fn a_hand_over_that_nobody_takes_up_passes_to_the_next(scene: Scene) {
    let mut notifications = scene.listen().await;
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let [dead, next, last] = scene.line_up([(); 3].map(|()| scene.exclusive())).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    scene.pass(WINDOW + secs(1)).await;
    assert_eq!(scene.queued(&last).await, 0);
    assert!(scene.is_held(&next).await);
    // It comes back to where it stood.
    assert_eq!(scene.queued(&dead).await, 0);
    assert_eq!(scene.queued(&last).await, 1);
    assert_eq!(scene.told(&mut notifications).await, tokens([&dead, &next]));
}

pub async fn a_lock_delay_counts_only_after_a_hand_over_is_taken_up(scene: Scene) {
    for waiter in [scene.exclusive(), scene.shared(), scene.permits(1, 1)] {
        let waiter = Acquisition { lock_delay: secs(60), ..waiter };
        let holder = scene.exclusive();
        scene.granted(&holder).await;
        let [waiter] = scene.line_up([waiter]).await;
        assert_eq!(scene.release(&holder).await, Released::Freed);
        assert_about(scene.refused(&scene.exclusive()).await.remaining, WINDOW);
        scene.pass(WINDOW + secs(1)).await;
        let next = scene.exclusive();
        scene.granted(&next).await;
        scene.queued(&waiter).await;
        assert_eq!(scene.release(&next).await, Released::Freed);
        scene.granted(&waiter).await;
        assert_about(scene.refused(&scene.exclusive()).await.remaining, TTL + secs(60));
        scene.pass(TTL + secs(1)).await;
        assert_eq!(scene.refused(&scene.exclusive()).await.by.state, HolderState::Closed);
        assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 1);
    }
}

pub async fn a_renewal_takes_a_hand_over_up(scene: Scene) {
    for waiter in [scene.exclusive(), scene.shared(), scene.permits(1, 1)] {
        let holder = scene.exclusive();
        scene.granted(&holder).await;
        let [waiter] = scene.line_up([Acquisition { lock_delay: secs(60), ..waiter }]).await;
        assert_eq!(scene.release(&holder).await, Released::Freed);
        assert_eq!(scene.renew(&waiter).await, Renewed::Extended);
        assert_about(scene.inspect().await.holders[0].remaining, TTL);
        assert_about(scene.refused(&scene.exclusive()).await.remaining, TTL + secs(60));
        assert_eq!(scene.release(&waiter).await, Released::Freed);
        assert_eq!(scene.inspect().await, Inspection::default());
    }
}

pub async fn a_hand_over_can_be_released_untaken(scene: Scene) {
    let mut notifications = scene.listen().await;
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let waiters = [scene.exclusive(), scene.shared(), scene.permits(1, 1), scene.exclusive()];
    let waiters = scene.line_up(waiters.map(|it| Acquisition { lock_delay: secs(60), ..it })).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    for waiter in &waiters {
        assert_eq!(scene.release(waiter).await, Released::Freed);
    }
    assert_eq!(scene.told(&mut notifications).await, tokens(&waiters));
    assert_eq!(scene.inspect().await, Inspection::default());
}

pub async fn an_inbox_may_be_listened_to_twice(scene: Scene) {
    let mut first = scene.listen().await;
    {
        let mut second = scene.listen().await;
        assert_eq!(scene.told(&mut second).await, []);
        // The first heard all of it as well: a hand-over on each server.
        for _ in scene.world.everywhere() {
            assert!(matches!(next_of_waiters(&mut first).await, Notification::HandedOver(_)));
        }
    }
    assert_eq!(scene.told(&mut first).await, []);
}

pub async fn a_waiter_may_be_served_without_anybody_listening(scene: Scene) {
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let waiter = unheard(scene.waiting(scene.exclusive()));
    scene.queued(&waiter).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    scene.granted(&waiter).await;
}
