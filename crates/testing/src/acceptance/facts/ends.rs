//! The end of a hold, and the time for which a resource stays closed after it.

use super::*;

pub async fn a_lease_ends_by_itself(scene: Scene) {
    for asked in [scene.exclusive(), scene.shared(), scene.permits(2, 2)] {
        let fence = scene.fence(&asked).await;
        scene.pass(TTL - secs(2)).await;
        assert!(scene.is_held(&asked).await);
        scene.pass(secs(3)).await;
        assert!(!scene.is_held(&asked).await);
        assert_eq!(scene.renew(&asked).await, Renewed::NotHeld);
        assert_eq!(scene.release(&asked).await, Released::NotHeld { count: 0 });
        assert_eq!(scene.inspect().await, Inspection::default());

        let next = scene.exclusive();
        assert!(scene.fence(&next).await > fence);
        assert_eq!(scene.release(&next).await, Released::Freed);
    }
}

pub async fn a_lock_delay_keeps_an_expired_resource_closed(scene: Scene) {
    let asked = Acquisition { lock_delay: secs(20), ..owned("worker", scene.exclusive()) };
    scene.granted(&asked).await;
    scene.pass(TTL + secs(5)).await;
    let refusal = scene.refused(&scene.exclusive()).await;
    assert_eq!(refusal.by.state, HolderState::Closed);
    assert_eq!(refusal.by.token, asked.hold.token.prefix());
    assert_about(refusal.by.remaining, secs(15));
    assert_about(refusal.remaining, secs(15));
    let inspection = scene.inspect().await;
    assert_eq!(inspection.total, 1);
    assert_eq!(inspection.holders[0].state, HolderState::Closed);
    scene.pass(secs(16)).await;
    scene.granted(&scene.exclusive()).await;
}

pub async fn a_release_before_the_end_knows_no_lock_delay(scene: Scene) {
    for asked in [scene.exclusive(), scene.shared(), scene.permits(2, 2)] {
        let asked = Acquisition { lock_delay: secs(20), ..asked };
        scene.granted(&asked).await;
        assert_eq!(scene.release(&asked).await, Released::Freed);
        assert_eq!(scene.inspect().await.total, 0);
    }
}

pub async fn a_renewal_keeps_the_lock_delay(scene: Scene) {
    for asked in [scene.exclusive(), scene.shared(), scene.permits(2, 2)] {
        let asked = Acquisition { lock_delay: secs(20), ..asked };
        scene.granted(&asked).await;
        scene.pass(secs(5)).await;
        assert_eq!(scene.renew(&asked).await, Renewed::Extended);
        scene.pass(TTL - secs(3)).await;
        assert!(scene.is_held(&asked).await);
        scene.pass(secs(8)).await;
        assert!(!scene.is_held(&asked).await);
        assert_about(scene.refused(&scene.exclusive()).await.remaining, secs(15));
        scene.pass(secs(16)).await;
        assert_eq!(scene.inspect().await.total, 0);
    }
}

pub async fn an_expired_holder_is_no_holder_during_its_lock_delay(scene: Scene) {
    for asked in [scene.exclusive(), scene.shared(), scene.permits(1, 2)] {
        let asked = Acquisition { lock_delay: secs(20), ..owned("worker", asked) };
        scene.granted(&asked).await;
        scene.pass(TTL + secs(5)).await;
        assert!(!scene.is_held(&asked).await);
        assert_eq!(scene.renew(&asked).await, Renewed::NotHeld);
        assert_eq!(scene.release(&asked).await, Released::NotHeld { count: 0 });
        // It does not hold, so it does not re-enter and would not wait for itself; it is closed for it as for others.
        scene.refused(&scene.reentrant("worker")).await;
        scene.refused(&owned("worker", scene.exclusive())).await;
        assert_eq!(scene.inspect().await.holders[0].state, HolderState::Closed);
        scene.pass(secs(20)).await;
    }
}

pub async fn a_lock_delay_of_a_reader_keeps_writers_out(scene: Scene) {
    let dead = Acquisition { lock_delay: secs(20), ..owned("worker", scene.shared()) };
    scene.granted(&dead).await;
    scene.pass(TTL + secs(5)).await;
    let reader = owned("worker", scene.shared());
    assert_eq!(scene.granted(&reader).await.holds, 1);
    assert_eq!(scene.release(&reader).await, Released::Freed);
    assert_about(scene.refused(&scene.exclusive()).await.remaining, secs(15));
    scene.pass(secs(16)).await;
    scene.granted(&scene.exclusive()).await;
}

pub async fn a_lock_delay_keeps_permits_taken(scene: Scene) {
    scene.granted(&Acquisition { lock_delay: secs(20), ..scene.permits(2, 3) }).await;
    scene.pass(TTL + secs(5)).await;
    scene.refused(&scene.permits(2, 3)).await;
    scene.granted(&Acquisition { ttl: secs(60), ..scene.permits(1, 3) }).await;
    scene.pass(secs(16)).await;
    scene.granted(&scene.permits(2, 3)).await;
}

pub async fn a_release_may_open_later(scene: Scene) {
    for asked in [scene.exclusive(), scene.shared(), scene.permits(2, 2)] {
        scene.granted(&asked).await;
        assert_eq!(scene.release_closed_for(&asked, secs(30)).await, Released::Freed);
        assert!(!scene.is_held(&asked).await);
        assert_eq!(scene.renew(&asked).await, Renewed::NotHeld);
        assert_eq!(scene.release(&asked).await, Released::NotHeld { count: 0 });

        let refusal = scene.refused(&scene.exclusive()).await;
        assert_eq!((refusal.by.state, refusal.by.mode), (HolderState::Closed, asked.mode));
        assert_about(refusal.remaining, secs(30));
        let inspection = scene.inspect().await;
        assert_eq!(inspection.total, 1);
        assert_about(inspection.holders[0].remaining, secs(30));

        scene.pass(secs(31)).await;
        assert_eq!(scene.inspect().await.total, 0);
    }
}

pub async fn a_closed_resource_is_closed_to_its_last_holder_too(scene: Scene) {
    let asked = scene.reentrant("worker");
    scene.granted(&asked).await;
    assert_eq!(scene.release_closed_for(&asked, secs(30)).await, Released::Freed);
    let refusal = scene.refused(&scene.reentrant("worker")).await;
    assert_eq!((refusal.by.state, refusal.by.owner), (HolderState::Closed, None));
    scene.refused(&asked).await;
    scene.refused(&owned("worker", scene.shared())).await;
}

pub async fn permits_that_open_later_stay_taken(scene: Scene) {
    let asked = scene.permits(2, 3);
    scene.granted(&asked).await;
    assert_eq!(scene.release_closed_for(&asked, secs(5)).await, Released::Freed);
    scene.refused(&scene.permits(2, 3)).await;
    scene.granted(&scene.permits(1, 3)).await;
    scene.refused(&scene.permits(1, 3)).await;
    scene.pass(secs(6)).await;
    scene.granted(&scene.permits(2, 3)).await;
}

pub async fn a_reader_that_opens_later_keeps_writers_out(scene: Scene) {
    let asked = scene.shared();
    scene.granted(&asked).await;
    assert_eq!(scene.release_closed_for(&asked, secs(20)).await, Released::Freed);
    let reader = scene.shared();
    scene.granted(&reader).await;
    assert_eq!(scene.release(&reader).await, Released::Freed);
    assert_about(scene.refused(&scene.exclusive()).await.remaining, secs(20));
}

pub async fn a_late_repeat_does_not_bring_a_closed_hold_back(scene: Scene) {
    let owner = scene.reentrant("worker");
    scene.granted(&owner).await;
    for asked in [scene.reentrant("worker"), scene.shared(), scene.permits(1, 3)] {
        let owner_left = asked.mode == Mode::Exclusive;
        scene.granted(&asked).await;
        let _ = scene.release_closed_for(&asked, secs(5)).await;
        let refusal = scene.refused(&asked).await;
        assert_eq!(refusal.by.token, asked.hold.token.prefix());
        assert_eq!(refusal.by.state, HolderState::Closed);
        if owner_left {
            assert_eq!(scene.release(&owner).await, Released::Freed);
        }
        scene.pass(secs(6)).await;
        scene.granted(&asked).await;
        assert_eq!(scene.release(&asked).await, Released::Freed);
    }
}

pub async fn a_late_repeat_does_not_bring_back_a_hand_over_that_was_renewed(scene: Scene) {
    for (asked, other) in [(scene.shared(), scene.shared()), (scene.permits(1, 3), scene.permits(1, 3))] {
        let holder = scene.exclusive();
        scene.granted(&holder).await;
        let brief = Acquisition { ttl: secs(5), lock_delay: secs(20), ..asked };
        let [brief, other] = scene.line_up([brief, other]).await;
        assert_eq!(scene.release(&holder).await, Released::Freed);
        scene.granted(&other).await;
        // Its ticket is still known, though it has taken up what it was handed over.
        assert_eq!(scene.renew(&brief).await, Renewed::Extended);
        scene.pass(secs(6)).await;
        let refusal = scene.refused(&brief).await;
        assert_eq!(refusal.by.token, brief.hold.token.prefix());
        assert!(!scene.is_held(&brief).await);
        assert_eq!(scene.inspect().await.total, 2);
        assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 2);
    }
}
