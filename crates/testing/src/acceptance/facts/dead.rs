//! The cost of dead waiters to those who live: of whose inbox nobody hears, or that is heard and not answered.

use leasehold::store::STEPS_AT_MOST;

use super::*;

/// A holder, and behind it so many waiters whose process is gone.
async fn ahead(scene: &Scene, dead: usize) -> Acquisition {
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    for _ in 0..dead {
        scene.queued(&unheard(scene.waiting(scene.exclusive()))).await;
    }
    holder
}

/// The same, but what their processes are sent arrives.
async fn vanished(scene: &Scene, so_many: usize) -> (Acquisition, Vec<Acquisition>) {
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let vanished: Vec<_> = (0..so_many).map(|_| scene.waiting(scene.exclusive())).collect();
    for waiter in &vanished {
        scene.queued(waiter).await;
    }
    (holder, vanished)
}

pub async fn the_dead_are_passed_over_at_once(mut scene: Scene) {
    for dead in [1, 8, 30, 300] {
        let mut notifications = scene.listen_anew().await;
        let holder = ahead(&scene, dead).await;
        let [alive, behind] = scene.line_up([scene.exclusive(), scene.exclusive()]).await;
        assert_eq!(scene.release(&holder).await, Released::Freed);
        assert!(scene.is_held(&alive).await, "{dead}");
        assert_eq!(scene.waiters().await, 1);
        let heard = scene.heard(&mut notifications).await;
        assert_eq!(heard, [Heard::handed_over(&alive), Heard::next(&behind)]);
        for gone in [&behind, &alive] {
            let _ = scene.release(gone).await;
        }
    }
}

pub async fn a_try_is_not_refused_because_of_the_dead(scene: Scene) {
    for dead in [1, 8, 30, 300] {
        for released in [true, false] {
            let holder = ahead(&scene, dead).await;
            if released {
                assert_eq!(scene.release(&holder).await, Released::Freed);
            } else {
                scene.pass(TTL + secs(1)).await;
            }
            let tries = scene.exclusive();
            scene.granted(&tries).await;
            assert_eq!(scene.release(&tries).await, Released::Freed);
        }
    }
}

pub async fn the_dead_do_not_fill_a_queue(scene: Scene) {
    let holder = ahead(&scene, 3).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    scene.granted(&holder).await;
    let mut asked = scene.waiting(scene.exclusive());
    asked.ticket.as_mut().unwrap().max_waiters = 1;
    assert_eq!(scene.queued(&asked).await, 0);
    assert_eq!(scene.waiters().await, 1);
}

pub async fn who_was_taken_for_dead_stands_where_it_stood(scene: Scene) {
    let mut notifications = scene.listen().await;
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let deaf = unheard(scene.waiting(scene.exclusive()));
    scene.queued(&deaf).await;
    let [first, second] = scene.line_up([scene.exclusive(), scene.exclusive()]).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    assert!(scene.is_held(&first).await);
    assert_eq!(scene.queued(&second).await, 0);
    assert_eq!(scene.queued(&deaf).await, 0);
    assert_eq!(scene.queued(&second).await, 1);
    assert_eq!(scene.release(&first).await, Released::Freed);
    assert!(scene.is_held(&deaf).await);
    let heard = scene.heard(&mut notifications).await;
    let heard: Vec<_> = heard.into_iter().filter(|heard| matches!(heard, Heard::HandedOver(_))).collect();
    assert_eq!(heard, [Heard::handed_over(&first)]);
}

pub async fn who_was_taken_for_dead_stands_before_who_came_later_in_the_same_call(scene: Scene) {
    for its_token_is_drawn_first in [true, false] {
        let holder = scene.shared();
        scene.granted(&holder).await;
        let first = scene.waiting(scene.exclusive());
        scene.queued(&first).await;
        let early = scene.waiting(scene.exclusive());
        let deaf = unheard(scene.waiting(scene.shared()));
        let late = scene.waiting(scene.exclusive());
        let behind = if its_token_is_drawn_first { late } else { early };
        let gives_up = Acquisition { ticket: None, ..first };
        let together = [deaf.clone(), gives_up, behind.clone()].map(Arc::new);
        for answer in scene.store.acquire_each(&together).await {
            answer.unwrap();
        }
        assert_eq!(scene.waiters().await, 1);
        scene.granted(&deaf).await;
        for gone in [&deaf, &holder, &behind] {
            let _ = scene.release(gone).await;
        }
    }
}

pub async fn who_came_back_is_handed_over_though_nobody_hears_it(scene: Scene) {
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let [first, second] = [(); 2].map(|()| unheard(scene.waiting(scene.exclusive())));
    for deaf in [&first, &second] {
        scene.queued(deaf).await;
    }
    assert_eq!(scene.release(&holder).await, Released::Freed);
    scene.granted(&second).await;
    assert_eq!(scene.queued(&first).await, 0);
    assert_eq!(scene.release(&second).await, Released::Freed);
    assert!(scene.is_held(&first).await);
    scene.granted(&first).await;
}

pub async fn those_who_vanished_cost_two_windows_however_many(mut scene: Scene) {
    let mut kept = Vec::new();
    for many in [1, 8, 30, 200] {
        let (holder, _) = vanished(&scene, many).await;
        let mut notifications = scene.listen_anew().await;
        let [alive] = scene.line_up([scene.exclusive()]).await;
        assert_eq!(scene.release(&holder).await, Released::Freed);
        // The last is elsewhere, and is told that it is next.
        assert_eq!(scene.heard(&mut notifications).await, [Heard::next(&alive)]);
        for _window in 0..2 {
            scene.pass(WINDOW + secs(1)).await;
            match scene.store.acquire(&alive).await.unwrap() {
                Acquired::Granted(_) => break,
                other => assert!(matches!(other, Acquired::Queued { .. }), "{other:?}"),
            }
        }
        assert!(scene.is_held(&alive).await, "{many}");
        assert_eq!(scene.release(&alive).await, Released::Freed);
        scene.granted(&scene.exclusive()).await;
        assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 1);
        // Those of the next turn wait there.
        kept.push(notifications);
    }
}

pub async fn who_answers_the_roll_keeps_its_place(scene: Scene) {
    let mut notifications = scene.listen().await;
    let (holder, dead) = vanished(&scene, 3).await;
    let [first, asking, last] = scene.line_up([(); 3].map(|()| scene.exclusive())).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    let heard = scene.heard(&mut notifications).await;
    assert_eq!(heard, [Heard::handed_over(&dead[0]), Heard::next(&dead[1])]);
    scene.pass(WINDOW + secs(1)).await;
    assert_eq!(scene.queued(&asking).await, 2);
    let heard = scene.heard(&mut notifications).await;
    let called = [&dead[2], &first, &last].map(Heard::go_on);
    assert_eq!(heard[0], Heard::handed_over(&dead[1]));
    assert_eq!(heard[1..], called);
    // Only the first answers.
    assert_eq!(scene.queued(&first).await, 1);
    scene.pass(WINDOW + secs(1)).await;
    assert_eq!(scene.queued(&asking).await, 0);
    assert!(scene.is_held(&first).await);
    // The last lives all the same, and has lost nothing.
    assert_eq!(scene.queued(&last).await, 1);
    assert_eq!(scene.queued(&dead[2]).await, 0);
}

pub async fn the_roll_is_called_once_for_what_was_not_taken_up(scene: Scene) {
    let mut notifications = scene.listen().await;
    let (holder, _dead) = vanished(&scene, 1).await;
    let [second, third] = scene.line_up([scene.exclusive(), scene.exclusive()]).await;
    assert_eq!(scene.release(&holder).await, Released::Freed);
    let _ = scene.heard(&mut notifications).await;
    scene.pass(WINDOW + secs(1)).await;
    assert_eq!(scene.release(&holder).await, Released::NotHeld { count: 0 });
    scene.granted(&second).await;
    let heard = scene.heard(&mut notifications).await;
    assert_eq!(heard, [Heard::handed_over(&second), Heard::go_on(&third)]);
    assert_eq!(scene.release(&second).await, Released::Freed);
    assert_eq!(scene.heard(&mut notifications).await, [Heard::handed_over(&third)]);
}

pub async fn a_hand_over_that_was_taken_up_calls_no_roll(scene: Scene) {
    let mut notifications = scene.listen().await;
    for waiter in [scene.exclusive(), scene.shared(), scene.reentrant("worker")] {
        let (holder, _) = vanished(&scene, 0).await;
        let [first, second, third] = scene.line_up([waiter, scene.exclusive(), scene.exclusive()]).await;
        assert_eq!(scene.release(&holder).await, Released::Freed);
        scene.granted(&first).await;
        scene.pass(WINDOW + secs(1)).await;
        let _ = scene.heard(&mut notifications).await;
        assert_eq!(scene.release(&first).await, Released::Freed);
        let heard = scene.heard(&mut notifications).await;
        assert_eq!(heard, [Heard::handed_over(&second), Heard::next(&third)]);
        for gone in [&third, &second] {
            let _ = scene.release(gone).await;
        }
    }
}

pub async fn the_last_is_told_too_if_it_is_elsewhere(mut scene: Scene) {
    let (holder, waiters) = vanished(&scene, 3).await;
    let mut elsewhere = scene.listen_anew().await;
    let [last] = scene.line_up([scene.exclusive()]).await;
    for gone in [&holder, &waiters[0]] {
        assert_eq!(scene.release(gone).await, Released::Freed);
        assert_eq!(scene.heard(&mut elsewhere).await, [Heard::next(&last)]);
        scene.may_be_told_again(Heard::next(&last));
    }
}

pub async fn one_verb_hands_over_to_so_many_and_the_rest_go_on_at_once(scene: Scene) {
    const READERS: usize = 250;
    let mut notifications = scene.listen().await;
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let readers: Vec<_> = (0..READERS).map(|_| scene.waiting(scene.shared())).collect();
    for reader in &readers {
        scene.queued(reader).await;
    }
    assert_eq!(scene.release(&holder).await, Released::Freed);
    assert_eq!(scene.inspect().await.total, u64::from(STEPS_AT_MOST / 5));
    let mut verbs = 0;
    loop {
        let heard = scene.heard(&mut notifications).await;
        let told = heard.iter().find_map(|heard| match heard {
            Heard::GoOn(token) => Some(*token),
            _ => None,
        });
        let Some(token) = told else { break };
        let going_on = readers.iter().find(|reader| reader.hold.token == token).unwrap();
        scene.granted(going_on).await;
        verbs += 1;
    }
    assert_eq!(verbs, 3);
    let inspection = scene.inspect().await;
    assert_eq!((inspection.total, inspection.waiting), (READERS as u64, 0));
}
