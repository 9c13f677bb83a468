//! The loss of a place in the queue, and its effect on those behind it.

use super::*;

pub async fn a_try_of_a_waiter_gives_its_place_up(scene: Scene) {
    let mut notifications = scene.listen().await;
    scene.granted(&scene.shared()).await;
    let [writer, reader] = scene.line_up([scene.exclusive(), scene.shared()]).await;
    scene.refused(&Acquisition { ticket: None, ..writer.clone() }).await;
    assert_eq!(scene.told(&mut notifications).await, tokens([&reader]));
    assert_eq!(scene.waiters().await, 0);
}

pub async fn a_waiter_that_does_not_repeat_is_gone_after_the_ttl_of_its_ticket(scene: Scene) {
    let holder = Acquisition { ttl: TICKET_TTL + TTL, ..scene.exclusive() };
    scene.granted(&holder).await;
    let [dead] = scene.line_up([scene.exclusive()]).await;
    scene.pass(secs(10)).await;
    let [alive] = scene.line_up([scene.exclusive()]).await;
    assert_eq!(scene.waiters().await, 2);
    scene.pass(TICKET_TTL - secs(5)).await;
    assert_eq!(scene.waiters().await, 1);
    assert_eq!(scene.queued(&alive).await, 0);
    // It comes back as a newcomer.
    assert_eq!(scene.queued(&dead).await, 1);
}

pub async fn a_waiter_that_is_gone_makes_room_for_those_behind_it(scene: Scene) {
    let mut notifications = scene.listen().await;
    scene.granted(&Acquisition { ttl: TICKET_TTL + TTL, ..scene.shared() }).await;
    scene.line_up([scene.exclusive()]).await;
    scene.pass(secs(10)).await;
    let [first, second] = scene.line_up([scene.shared(), scene.shared()]).await;
    scene.pass(TICKET_TTL - secs(5)).await;
    assert!(!scene.is_held(&first).await, "an end alone does nothing");
    scene.granted(&scene.shared()).await;
    assert_eq!(scene.told(&mut notifications).await, tokens([&first, &second]));
}

pub async fn a_repeat_refreshes_the_ticket(scene: Scene) {
    let holder = Acquisition { ttl: 4 * TICKET_TTL, ..scene.exclusive() };
    scene.granted(&holder).await;
    let [waiter] = scene.line_up([scene.exclusive()]).await;
    for _ in 0..3 {
        scene.pass(TICKET_TTL - secs(5)).await;
        assert_eq!(scene.queued(&waiter).await, 0);
    }
    scene.pass(TICKET_TTL - secs(5)).await;
    assert_eq!(scene.waiters().await, 1);
    scene.pass(secs(6)).await;
    assert_eq!(scene.waiters().await, 0);
}

pub async fn a_waiter_that_leaves_makes_room_for_those_behind_it(scene: Scene) {
    let mut notifications = scene.listen().await;
    let reading = owned("worker", scene.shared());
    scene.granted(&reading).await;
    let [writer, reader] = scene.line_up([scene.exclusive(), scene.shared()]).await;
    // What it leaves with is about its owner, who holds something else.
    let leaving = owned("worker", writer);
    assert_eq!(scene.release(&leaving).await, Released::NotHeld { count: 1 });
    assert_eq!(scene.told(&mut notifications).await, tokens([&reader]));
    assert_eq!(scene.waiters().await, 0);
}

pub async fn who_has_left_is_handed_nothing(scene: Scene) {
    let mut notifications = scene.listen().await;
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let [first, second] = scene.line_up([scene.exclusive(), scene.exclusive()]).await;
    for _ in 0..2 {
        assert_eq!(scene.release(&first).await, Released::NotHeld { count: 0 });
    }
    assert_eq!(scene.release(&holder).await, Released::Freed);
    assert_eq!(scene.told(&mut notifications).await, tokens([&second]));
    assert!(!scene.is_held(&first).await);
}

pub async fn a_waiter_that_would_wait_for_itself_gives_its_place_up(scene: Scene) {
    let mut notifications = scene.listen().await;
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let [reading, upgrade, behind] = scene
        .line_up([scene.shared(), scene.exclusive(), scene.shared()].map(|it| owned("worker", it)))
        .await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    let error = scene.failed(&upgrade).await;
    assert!(matches!(error, StoreError::Deadlock { .. }), "{error:?}");
    assert_eq!(scene.told(&mut notifications).await, tokens([&reading, &behind]));
    assert_eq!(scene.waiters().await, 0);
}

pub async fn a_waiter_of_another_capacity_is_served_when_it_fits(scene: Scene) {
    let mut notifications = scene.listen().await;
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let [first, other, last] =
        scene.line_up([scene.permits(1, 3), scene.permits(3, 4), scene.permits(1, 3)]).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    assert_eq!(scene.told(&mut notifications).await, tokens([&first]));
    scene.granted(&first).await;
    assert_eq!((scene.queued(&other).await, scene.queued(&last).await), (0, 1));
    assert_eq!(scene.release(&first).await, Released::Freed);
    assert_eq!(scene.told(&mut notifications).await, tokens([&other]));
    scene.granted(&other).await;
    assert_eq!(scene.queued(&last).await, 0);
    assert_eq!(scene.release(&other).await, Released::Freed);
    assert_eq!(scene.told(&mut notifications).await, tokens([&last]));
    assert_eq!(scene.waiters().await, 0);
}
