//! The capacity that is set while permits are held.

use std::num::NonZeroU32;

use super::{numbers::LONG, *};

impl Scene {
    async fn set_permits(&self, permits: u32) {
        self.store.set_capacity(&self.name, NonZeroU32::new(permits)).await.unwrap();
    }

    async fn capacity(&self) -> Option<u32> {
        self.inspect().await.capacity.map(NonZeroU32::get)
    }
}

pub async fn a_capacity_that_is_set_counts_in_place_of_those_that_are_named(scene: Scene) {
    assert_eq!(scene.capacity().await, None);
    scene.set_permits(3).await;
    assert_eq!(scene.capacity().await, Some(3));
    for of in [2, 5, 9] {
        scene.granted(&scene.permit(1, of)).await;
    }
    for of in [2, 5, 9, 7] {
        scene.refused(&scene.permit(1, of)).await;
    }
    scene.set_permits(4).await;
    assert_eq!(scene.granted(&scene.permit(1, 2)).await.slot, Some(3));
    scene.refused(&scene.permit(1, 9)).await;
    assert_eq!((scene.capacity().await, scene.inspect().await.total), (Some(4), 4));
}

pub async fn a_capacity_that_is_set_outlives_its_holders_until_it_is_removed(scene: Scene) {
    scene.set_permits(1).await;
    for _again in 0..2 {
        let held = scene.permit(1, 5);
        scene.granted(&held).await;
        scene.refused(&scene.permit(1, 5)).await;
        assert_eq!(scene.release(&held).await, Released::Freed);
    }
    scene.granted(&scene.permit(1, 5)).await;
    scene.pass(LONG + secs(1)).await;
    scene.store.force_release(&scene.name).await.unwrap();
    assert_eq!(scene.capacity().await, Some(1));
    for _repeated in 0..2 {
        scene.set_permits(0).await;
        assert_eq!(scene.capacity().await, None);
    }
    scene.granted(&scene.permit(5, 5)).await;
    scene.refused(&scene.permit(1, 5)).await;
}

pub async fn a_larger_capacity_lets_waiters_in_at_once(scene: Scene) {
    let mut notifications = scene.listen().await;
    for _ in 0..2 {
        scene.granted(&scene.permit(1, 2)).await;
    }
    let waiting = [(); 3].map(|()| scene.permit(1, 2));
    let waiting = scene.line_up(waiting).await;
    scene.set_permits(4).await;
    let told: Vec<_> = waiting.iter().map(Heard::go_on).collect();
    assert_eq!(scene.heard(&mut notifications).await, told);
    for (asked, number) in waiting[..2].iter().zip(2..) {
        assert_eq!(scene.granted(asked).await.slot, Some(number));
    }
    assert_eq!(scene.queued(&waiting[2]).await, 0);
    scene.refused(&scene.permit(1, 9)).await;
}

pub async fn a_smaller_capacity_takes_nothing_from_anybody(scene: Scene) {
    let held = [(); 6].map(|()| scene.permit(1, 6));
    for asked in &held {
        scene.granted(asked).await;
    }
    let [waiter] = scene.line_up([scene.permit(1, 6)]).await;
    scene.set_permits(2).await;
    for asked in &held {
        assert_eq!(scene.renew(asked).await, Renewed::Extended);
    }
    // Two may hold, so the fifth release lets the waiter in.
    for asked in &held[..4] {
        assert_eq!(scene.release(asked).await, Released::Freed);
        assert_eq!(scene.queued(&waiter).await, 0);
    }
    assert_eq!(scene.release(&held[4]).await, Released::Freed);
    assert_eq!(scene.granted(&waiter).await.slot, Some(0));
    scene.refused(&scene.permit(1, 6)).await;
}

pub async fn more_permits_than_are_set_are_an_error_and_block_nobody(scene: Scene) {
    let holder = scene.permit(4, 4);
    scene.granted(&holder).await;
    let [large, small] = scene.line_up([scene.permit(3, 4), scene.permit(1, 4)]).await;
    scene.set_permits(2).await;
    for asked in [&large, &scene.permit(3, 9)] {
        match scene.failed(asked).await {
            StoreError::ModeMismatch { asked: mode, used } => {
                assert_eq!((mode, used), (asked.mode, Mode::permits(2, 2).unwrap()));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(scene.queued(&small).await, 0);
    assert_eq!(scene.release(&holder).await, Released::Freed);
    scene.granted(&small).await;
    assert_eq!(scene.failed(&scene.permit(3, 3)).await.kind(), "mode_mismatch");
}

pub async fn a_capacity_that_was_set_leaves_those_that_are_named_when_it_is_removed(scene: Scene) {
    scene.set_permits(9).await;
    let held = [(1, 4), (1, 6), (5, 8)].map(|(count, of)| scene.permit(count, of));
    scene.granted(&held[0]).await;
    scene.granted(&held[1]).await;
    // The third capacity is written down as the larger of the two, and waits where that is too small.
    let third = scene.permit(1, 8);
    scene.granted(&third).await;
    scene.granted(&held[2]).await;
    scene.refused(&scene.permit(7, 8)).await;
    let shown = scene.inspect().await;
    let capacity = |mode| if let Mode::Permits { of, .. } = mode { of.get() } else { 0 };
    assert!(shown.holders.iter().all(|holder| [4, 6].contains(&capacity(holder.mode))), "{shown:?}");
    scene.set_permits(0).await;
    for of in [4, 6, 8] {
        scene.refused(&scene.permit(1, of)).await;
    }
    for asked in [&held[0], &held[2], &third] {
        assert_eq!(scene.release(asked).await, Released::Freed);
    }
    for _ in 0..5 {
        scene.granted(&scene.permit(1, 6)).await;
    }
    scene.refused(&scene.permit(1, 6)).await;
}

pub async fn an_owner_may_hold_more_than_it_has_named_and_is_told_of_all(scene: Scene) {
    scene.set_permits(8).await;
    for _ in 0..2 {
        scene.granted(&owned("a", scene.permit(3, 4))).await;
    }
    let upgrade = owned("a", scene.exclusive());
    let all = Mode::permits(6, 6).unwrap();
    match scene.failed(&upgrade).await {
        StoreError::Deadlock { held, .. } => assert_eq!(held, all),
        other => panic!("{other:?}"),
    }
}

pub async fn a_capacity_is_of_permits_alone(scene: Scene) {
    scene.set_permits(1).await;
    for _ in 0..2 {
        scene.granted(&scene.shared()).await;
    }
    assert_eq!(scene.inspect().await.total, 2);
    scene.store.force_release(&scene.name).await.unwrap();
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    scene.refused(&scene.permit(1, 5)).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    scene.granted(&scene.permit(1, 5)).await;
    scene.refused(&scene.exclusive()).await;
}
