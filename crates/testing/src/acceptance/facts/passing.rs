//! A hold that is passed on: a release and an acquisition at one moment.

use super::*;

pub async fn a_pass_that_nobody_waits_for_grants_with_a_larger_fence(scene: Scene) {
    let mut notifications = scene.listen().await;
    for overtake in [false, true] {
        for from in [scene.exclusive(), scene.shared(), scene.permits(2, 2), scene.reentrant("worker")] {
            let before = scene.fence(&from).await;
            let to = owned("another", scene.exclusive());
            let passed = scene.passed(&from, &to, overtake).await;
            assert_eq!((passed.released, passed.others_wait), (Released::Freed, false));
            let grant = granted(passed.acquired);
            assert!(grant.fence.unwrap() > before);
            assert_eq!(grant.holds, 1);
            assert!(!scene.is_held(&from).await);
            let shown = scene.inspect().await;
            assert_eq!((shown.total, shown.waiting), (1, 0));
            assert_eq!(
                (shown.holders[0].token, shown.holders[0].fence),
                (to.hold.token.prefix(), grant.fence)
            );
            assert_eq!(shown.holders[0].metadata, *to.metadata);
            assert_about(shown.holders[0].remaining, TTL);
            assert_eq!(scene.release(&to).await, Released::Freed);
        }
    }
    assert_eq!(scene.heard(&mut notifications).await, []);
}

pub async fn a_pass_serves_those_who_wait_before(scene: Scene) {
    let mut notifications = scene.listen().await;
    let (from, to) = (scene.exclusive(), scene.waiting(scene.exclusive()));
    scene.granted(&from).await;
    let [first, second] = scene.line_up([scene.exclusive(), scene.exclusive()]).await;
    let passed = scene.passed(&from, &to, false).await;
    assert_eq!((passed.released, passed.others_wait), (Released::Freed, true));
    let Ok(Acquired::Queued { refusal, ahead: 1 }) = passed.acquired else { panic!("{passed:?}") };
    assert_eq!(refusal.by.token, first.hold.token.prefix());
    assert_about(refusal.remaining, WINDOW);
    let heard = scene.heard(&mut notifications).await;
    assert_eq!(heard, [Heard::handed_over(&first), Heard::next(&second)]);
    for (holding, next) in [(&first, &second), (&second, &to)] {
        assert_eq!(scene.release(holding).await, Released::Freed);
        assert!(scene.is_held(next).await);
    }
}

pub async fn a_pass_to_the_head_is_granted_and_not_told(scene: Scene) {
    let mut notifications = scene.listen().await;
    let from = scene.exclusive();
    scene.granted(&from).await;
    let [to, other] = scene.line_up([scene.exclusive(), scene.exclusive()]).await;
    let passed = scene.passed(&from, &to, false).await;
    assert_eq!((passed.released, passed.others_wait), (Released::Freed, true));
    granted(passed.acquired);
    assert_about(scene.inspect().await.holders[0].remaining, TTL);
    assert_eq!(scene.heard(&mut notifications).await, []);
    assert_eq!(scene.queued(&other).await, 0);
}

pub async fn a_pass_to_who_does_not_wait_leaves_it_out(scene: Scene) {
    let (from, to) = (scene.exclusive(), scene.exclusive());
    scene.granted(&from).await;
    let [first] = scene.line_up([scene.exclusive()]).await;
    let passed = scene.passed(&from, &to, false).await;
    assert_eq!((passed.released, passed.others_wait), (Released::Freed, false));
    let Ok(Acquired::Refused(refusal)) = passed.acquired else { panic!("{passed:?}") };
    assert_eq!(refusal.by.token, first.hold.token.prefix());
    assert_eq!(scene.waiters().await, 0);
}

pub async fn a_pass_of_what_is_not_held_acquires_as_usual(scene: Scene) {
    for overtake in [false, true] {
        let [from, holder] = [scene.exclusive(), scene.exclusive()];
        let passed = scene.passed(&from, &holder, overtake).await;
        assert_eq!((passed.released, passed.others_wait), (Released::NotHeld { count: 0 }, false));
        granted(passed.acquired);
        let to = scene.waiting(scene.exclusive());
        for others_wait in [false, true] {
            let passed = scene.passed(&from, &to, overtake).await;
            assert_eq!((passed.released, passed.others_wait), (Released::NotHeld { count: 0 }, others_wait));
            let Ok(Acquired::Queued { refusal, ahead: 0 }) = passed.acquired else { panic!("{passed:?}") };
            assert_eq!(refusal.by.token, holder.hold.token.prefix());
            scene.queued(&scene.waiting(scene.shared())).await;
        }
        assert!(scene.is_held(&holder).await);
        assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 1);
        assert_eq!(scene.release(&to).await, Released::Freed);
        assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 2);
    }
}

pub async fn a_pass_of_a_place_gives_the_place_up(scene: Scene) {
    let mut notifications = scene.listen().await;
    let holder = scene.shared();
    scene.granted(&holder).await;
    let [from, reader] = scene.line_up([scene.exclusive(), scene.shared()]).await;
    let passed = scene.passed(&from, &scene.waiting(scene.exclusive()), false).await;
    assert_eq!((passed.released, passed.others_wait), (Released::NotHeld { count: 0 }, false));
    assert!(matches!(passed.acquired, Ok(Acquired::Queued { ahead: 0, .. })), "{passed:?}");
    assert_eq!(scene.heard(&mut notifications).await, [Heard::handed_over(&reader)]);
    assert_eq!(scene.waiters().await, 1);
}

pub async fn a_pass_of_one_of_several_holds_frees_nothing(scene: Scene) {
    let mut notifications = scene.listen().await;
    for overtake in [false, true] {
        let [from, other] = [scene.reentrant("worker"), scene.reentrant("worker")];
        scene.granted(&from).await;
        scene.granted(&other).await;
        let [first] = scene.line_up([scene.exclusive()]).await;
        let to = scene.waiting(scene.exclusive());
        let passed = scene.passed(&from, &to, overtake).await;
        assert_eq!((passed.released, passed.others_wait), (Released::StillHeld { count: 1 }, true));
        let Ok(Acquired::Queued { refusal, ahead: 1 }) = passed.acquired else { panic!("{passed:?}") };
        assert_eq!(refusal.by.token, other.hold.token.prefix());
        assert!(!scene.is_held(&from).await);
        assert_eq!(scene.heard(&mut notifications).await, []);
        for holding in [&other, &first, &to] {
            assert_eq!(scene.release(holding).await, Released::Freed);
        }
        scene.heard(&mut notifications).await;
    }
}

pub async fn a_pass_within_an_owner_re_enters(scene: Scene) {
    for overtake in [false, true] {
        let [from, other, to] = [(); 3].map(|()| scene.reentrant("worker"));
        let fence = scene.granted(&from).await.fence;
        scene.granted(&other).await;
        let [waiter] = scene.line_up([scene.exclusive()]).await;
        let passed = scene.passed(&from, &to, overtake).await;
        assert_eq!((passed.released, passed.others_wait), (Released::StillHeld { count: 1 }, true));
        assert_eq!(granted(passed.acquired), Grant { fence, holds: 2, slot: None });
        assert_eq!(scene.release(&other).await, Released::StillHeld { count: 1 });
        assert_eq!(scene.release(&to).await, Released::Freed);
        assert_eq!(scene.release(&waiter).await, Released::Freed);
    }
}

pub async fn a_pass_releases_though_the_acquisition_is_an_error(scene: Scene) {
    for overtake in [false, true] {
        let [from, other] = [(); 2].map(|()| owned("worker", scene.shared()));
        scene.granted(&from).await;
        scene.granted(&other).await;
        let passed = scene.passed(&from, &owned("worker", scene.exclusive()), overtake).await;
        assert_eq!((passed.released, passed.others_wait), (Released::StillHeld { count: 1 }, false));
        assert!(matches!(passed.acquired, Err(StoreError::Deadlock { .. })), "{passed:?}");
        assert!(!scene.is_held(&from).await);
        assert_eq!(scene.release(&other).await, Released::Freed);
    }
}

pub async fn a_pass_knows_no_lock_delay_of_the_one_and_keeps_that_of_the_other(scene: Scene) {
    for overtake in [false, true] {
        let from = Acquisition { lock_delay: secs(60), ..scene.exclusive() };
        let to = Acquisition { lock_delay: secs(20), ..scene.exclusive() };
        scene.granted(&from).await;
        granted(scene.passed(&from, &to, overtake).await.acquired);
        assert_about(scene.refused(&scene.exclusive()).await.remaining, TTL + secs(20));
        assert_eq!(scene.renew(&to).await, Renewed::Extended);
        scene.pass(TTL + secs(1)).await;
        assert!(!scene.is_held(&to).await);
        assert_about(scene.refused(&scene.exclusive()).await.remaining, secs(19));
        assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 1);
    }
}

pub async fn a_repeated_pass_grants_the_same_fence(scene: Scene) {
    for overtake in [false, true] {
        let (from, to) = (scene.exclusive(), scene.exclusive());
        scene.granted(&from).await;
        let first = granted(scene.passed(&from, &to, overtake).await.acquired);
        scene.pass(secs(5)).await;
        let again = scene.passed(&from, &to, overtake).await;
        assert_eq!(again.released, Released::NotHeld { count: 0 });
        assert_eq!(granted(again.acquired), first);
        assert_about(scene.inspect().await.holders[0].remaining, TTL);
        assert_eq!(scene.release(&to).await, Released::Freed);
    }
}

#[track_caller]
pub(super) fn granted(acquired: Result<Acquired, StoreError>) -> Grant {
    match acquired {
        Ok(Acquired::Granted(grant)) => grant,
        other => panic!("it was not granted: {other:?}"),
    }
}
