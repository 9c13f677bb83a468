//! The notification of the next in the queue, after a hand-over to somebody else.

use leasehold::store::NEXT_AT_MOST;

use super::*;

pub async fn the_first_of_those_left_waiting_is_told_that_it_is_next(scene: Scene) {
    let mut notifications = scene.listen().await;
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let [first, second, third] = scene.line_up([(); 3].map(|()| scene.exclusive())).await;
    assert_eq!(scene.heard(&mut notifications).await, []);
    assert_eq!(scene.release(&holder).await, Released::Freed);
    let heard = scene.heard(&mut notifications).await;
    assert_eq!(heard, [Heard::handed_over(&first), Heard::next(&second)]);
    assert_eq!(scene.release(&first).await, Released::Freed);
    let heard = scene.heard(&mut notifications).await;
    assert_eq!(heard, [Heard::handed_over(&second), Heard::next(&third)]);
}

pub async fn nobody_is_next_when_nobody_is_left_waiting(scene: Scene) {
    let mut notifications = scene.listen().await;
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let [first, second] = scene.line_up([scene.shared(), scene.shared()]).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    let heard = scene.heard(&mut notifications).await;
    assert_eq!(heard, [&first, &second].map(Heard::handed_over));
}

pub async fn who_is_next_is_told_once_after_several_hand_overs(scene: Scene) {
    let mut notifications = scene.listen().await;
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let [first, second, writer, _last] =
        scene.line_up([scene.shared(), scene.shared(), scene.exclusive(), scene.shared()]).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    let heard = scene.heard(&mut notifications).await;
    assert_eq!(heard, [Heard::handed_over(&first), Heard::handed_over(&second), Heard::next(&writer)]);
}

pub async fn who_asks_is_not_told_that_it_is_next(scene: Scene) {
    let mut notifications = scene.listen().await;
    scene.granted(&scene.exclusive()).await;
    let [head, asking, last] = scene.line_up([(); 3].map(|()| scene.exclusive())).await;
    scene.pass(TTL + secs(1)).await;
    assert_eq!(scene.queued(&asking).await, 0);
    let heard = scene.heard(&mut notifications).await;
    assert_eq!(heard, [Heard::handed_over(&head), Heard::next(&last)]);
    assert_eq!(scene.release(&asking).await, Released::NotHeld { count: 0 });
    scene.pass(WINDOW + secs(1)).await;
    scene.granted(&last).await;
    assert_eq!(scene.heard(&mut notifications).await, []);
}

pub async fn a_head_that_asks_tells_nobody_who_is_next(scene: Scene) {
    let mut notifications = scene.listen().await;
    scene.granted(&scene.exclusive()).await;
    let [head, _second] = scene.line_up([scene.exclusive(), scene.exclusive()]).await;
    scene.pass(TTL + secs(1)).await;
    scene.granted(&head).await;
    assert_eq!(scene.heard(&mut notifications).await, []);
}

pub async fn whoever_makes_room_tells_who_is_next(mut scene: Scene) {
    for way in 0..4 {
        let mut notifications = scene.listen_anew().await;
        let holder = Acquisition { ttl: TTL, ..scene.shared() };
        scene.granted(&holder).await;
        let [head, second, third] =
            scene.line_up([scene.exclusive(), scene.shared(), scene.exclusive()]).await;
        let heard = [Heard::handed_over(&head), Heard::next(&second)];
        match way {
            0 => {
                // A waiter that leaves.
                assert_eq!(scene.release(&head).await, Released::NotHeld { count: 0 });
                let heard = [Heard::handed_over(&second), Heard::next(&third)];
                assert_eq!(scene.heard(&mut notifications).await, heard);
            }
            1 => {
                // A newcomer, after an end.
                scene.pass(TTL + secs(1)).await;
                scene.refused(&scene.exclusive()).await;
                assert_eq!(scene.heard(&mut notifications).await, heard);
            }
            2 => {
                // A stranger, after an end.
                scene.pass(TTL + secs(1)).await;
                assert_eq!(scene.release(&scene.exclusive()).await, Released::NotHeld { count: 0 });
                assert_eq!(scene.heard(&mut notifications).await, heard);
            }
            _ => {
                assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 1);
                assert_eq!(scene.heard(&mut notifications).await, heard);
            }
        }
        for gone in [&holder, &head, &second, &third] {
            let _ = scene.release(gone).await;
        }
        assert_eq!(scene.inspect().await, Inspection::default());
    }
}

pub async fn a_waiter_whose_inbox_nobody_listens_to_is_skipped(scene: Scene) {
    let mut notifications = scene.listen().await;
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let [head] = scene.line_up([scene.exclusive()]).await;
    scene.queued(&unheard(scene.waiting(scene.exclusive()))).await;
    let [second, _third] = scene.line_up([scene.exclusive(), scene.exclusive()]).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    let heard = scene.heard(&mut notifications).await;
    assert_eq!(heard, [Heard::handed_over(&head), Heard::next(&second)]);
}

pub async fn only_so_many_are_skipped(mut scene: Scene) {
    for (skipped, is_told) in [(NEXT_AT_MOST - 1, true), (NEXT_AT_MOST, false)] {
        let mut notifications = scene.listen_anew().await;
        let holder = elsewhere(scene.exclusive());
        scene.granted(&holder).await;
        let here = |mut asked: Acquisition| {
            asked.hold.resource = holder.hold.resource.clone();
            asked
        };
        let [head, next] = [(); 2].map(|()| here(scene.waiting(scene.exclusive())));
        scene.queued(&head).await;
        for _ in 0..skipped {
            scene.queued(&unheard(here(scene.waiting(scene.exclusive())))).await;
        }
        scene.queued(&next).await;
        // The last is told in any case, if it hears.
        scene.queued(&unheard(here(scene.waiting(scene.exclusive())))).await;
        assert_eq!(scene.release(&holder).await, Released::Freed);
        let mut expected = vec![Heard::handed_over(&head)];
        expected.extend(is_told.then(|| Heard::next(&next)));
        assert_eq!(scene.heard(&mut notifications).await, expected);
    }
}

pub async fn who_asks_is_not_one_of_those_that_are_skipped(mut scene: Scene) {
    for (skipped, is_told) in [(NEXT_AT_MOST - 1, true), (NEXT_AT_MOST, false)] {
        let mut notifications = scene.listen_anew().await;
        let here = elsewhere(scene.exclusive()).hold.resource;
        let waiting = || {
            let mut asked = scene.waiting(scene.exclusive());
            asked.hold.resource = here.clone();
            asked
        };
        scene.granted(&waiting()).await;
        let [head, asking, next] = [waiting(), waiting(), waiting()];
        for asked in [&head, &asking] {
            scene.queued(asked).await;
        }
        for _ in 0..skipped {
            scene.queued(&unheard(waiting())).await;
        }
        for asked in [&next, &unheard(waiting())] {
            scene.queued(asked).await;
        }
        scene.pass(TTL + secs(1)).await;
        assert_eq!(scene.queued(&asking).await, 0, "the head was handed it");
        let mut expected = vec![Heard::handed_over(&head)];
        expected.extend(is_told.then(|| Heard::next(&next)));
        assert_eq!(scene.heard(&mut notifications).await, expected);
    }
}
