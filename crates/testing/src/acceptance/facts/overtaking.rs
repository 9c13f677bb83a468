//! A hold that is passed on before all who wait.

use super::{passing::granted, *};

pub async fn who_overtakes_is_granted_before_all_who_wait(scene: Scene) {
    let mut notifications = scene.listen().await;
    for from in [scene.exclusive(), scene.shared(), Acquisition { lock_delay: secs(60), ..scene.exclusive() }]
    {
        let before = scene.fence(&from).await;
        let [first, second] = scene.line_up([scene.exclusive(), scene.exclusive()]).await;
        let mut holding = from;
        let mut last = before;
        for _ in 0..3 {
            let to = scene.exclusive();
            let passed = scene.passed(&holding, &to, true).await;
            assert_eq!((passed.released, passed.others_wait), (Released::Freed, true));
            let fence = granted(passed.acquired).fence.unwrap();
            assert!(fence > last, "{fence} after {last}");
            (holding, last) = (to, fence);
        }
        assert_eq!((scene.queued(&first).await, scene.queued(&second).await), (0, 1));
        assert_eq!(scene.heard(&mut notifications).await, []);
        assert_eq!(scene.release(&holding).await, Released::Freed);
        let heard = scene.heard(&mut notifications).await;
        assert_eq!(heard, [Heard::handed_over(&first), Heard::next(&second)]);
        assert_eq!(scene.release(&second).await, Released::NotHeld { count: 0 });
        assert_eq!(scene.release(&first).await, Released::Freed);
    }
}

pub async fn who_overtakes_gives_its_place_up(scene: Scene) {
    let mut notifications = scene.listen().await;
    let from = scene.exclusive();
    scene.granted(&from).await;
    let [first, to, last] = scene.line_up([(); 3].map(|()| scene.exclusive())).await;
    let passed = scene.passed(&from, &to, true).await;
    assert_eq!((passed.released, passed.others_wait), (Released::Freed, true));
    granted(passed.acquired);
    assert_eq!(scene.waiters().await, 2);
    assert_eq!((scene.queued(&first).await, scene.queued(&last).await), (0, 1));
    assert_eq!(scene.release(&to).await, Released::Freed);
    let heard = scene.heard(&mut notifications).await;
    assert_eq!(heard, [Heard::handed_over(&first), Heard::next(&last)]);
}

pub async fn who_overtakes_alone_leaves_nobody_waiting(scene: Scene) {
    let from = scene.exclusive();
    scene.granted(&from).await;
    let [to] = scene.line_up([scene.exclusive()]).await;
    let passed = scene.passed(&from, &to, true).await;
    assert_eq!((passed.released, passed.others_wait), (Released::Freed, false));
    granted(passed.acquired);
    assert_eq!(scene.waiters().await, 0);
    assert_eq!(scene.release(&to).await, Released::Freed);
    assert_eq!(scene.inspect().await, Inspection::default());
}

pub async fn the_last_of_several_holds_may_be_passed_before_all_who_wait(scene: Scene) {
    let [other, from] = [scene.reentrant("worker"), scene.reentrant("worker")];
    let before = scene.fence(&other).await;
    scene.granted(&from).await;
    let [waiter] = scene.line_up([scene.exclusive()]).await;
    assert_eq!(scene.release(&other).await, Released::StillHeld { count: 1 });
    let to = scene.exclusive();
    let passed = scene.passed(&from, &to, true).await;
    assert_eq!((passed.released, passed.others_wait), (Released::Freed, true));
    assert!(granted(passed.acquired).fence.unwrap() > before);
    assert_eq!(scene.queued(&waiter).await, 0);
}

pub async fn a_lost_hold_overtakes_nobody(scene: Scene) {
    let mut notifications = scene.listen().await;
    let from = scene.exclusive();
    scene.granted(&from).await;
    let [first] = scene.line_up([scene.exclusive()]).await;
    scene.pass(TTL + secs(1)).await;
    let passed = scene.passed(&from, &scene.waiting(scene.exclusive()), true).await;
    assert_eq!((passed.released, passed.others_wait), (Released::NotHeld { count: 0 }, false));
    assert!(matches!(passed.acquired, Ok(Acquired::Queued { ahead: 0, .. })), "{passed:?}");
    assert_eq!(scene.heard(&mut notifications).await, [Heard::handed_over(&first)]);
}

pub async fn who_cannot_be_granted_does_not_overtake(scene: Scene) {
    let mut notifications = scene.listen().await;
    let [from, other] = [scene.shared(), scene.shared()];
    scene.granted(&from).await;
    scene.granted(&other).await;
    let [writer] = scene.line_up([scene.exclusive()]).await;
    let to = scene.waiting(scene.exclusive());
    let passed = scene.passed(&from, &to, true).await;
    assert_eq!((passed.released, passed.others_wait), (Released::Freed, true));
    assert!(matches!(passed.acquired, Ok(Acquired::Queued { ahead: 1, .. })), "{passed:?}");
    assert_eq!(scene.release(&other).await, Released::Freed);
    let heard = scene.heard(&mut notifications).await;
    assert_eq!(heard, [Heard::handed_over(&writer), Heard::next(&to)]);
}
