//! The queue: order of arrival, places, and who passes it.

use futures_util::future::join_all;

use super::*;

pub async fn waiters_are_served_in_the_order_of_arrival(scene: Scene) {
    let mut holding = scene.exclusive();
    let mut last = scene.fence(&holding).await;
    for next in
        scene.line_up([scene.exclusive(), scene.shared(), scene.permits(2, 3), scene.exclusive()]).await
    {
        assert_eq!(scene.release(&holding).await, Released::Freed);
        let fence = scene.fence(&next).await;
        assert!(fence > last, "{fence} after {last}");
        (holding, last) = (next, fence);
    }
    assert_eq!(scene.release(&holding).await, Released::Freed);
    assert_eq!(scene.inspect().await, Inspection::default());
}

pub async fn of_many_at_once_one_is_granted_and_the_others_wait_in_a_row(scene: Scene) {
    let many: Vec<_> = (0..50).map(|_| scene.waiting(scene.exclusive())).collect();
    let answers = join_all(many.iter().map(|asked| scene.store.acquire(asked))).await;
    let mut positions = Vec::new();
    for answer in answers {
        match answer.unwrap() {
            Acquired::Granted(_) => {}
            Acquired::Queued { ahead, .. } => positions.push(ahead),
            other => panic!("{other:?}"),
        }
    }
    positions.sort_unstable();
    assert_eq!(positions, (0..49).collect::<Vec<_>>());
}

pub async fn a_repeat_keeps_the_place(scene: Scene) {
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let [first, second] = scene.line_up([scene.exclusive(), scene.exclusive()]).await;
    for _ in 0..3 {
        assert_eq!(scene.queued(&first).await, 0);
        assert_eq!(scene.queued(&second).await, 1);
    }
    assert_eq!(scene.waiters().await, 2);
    assert_eq!(scene.release(&holder).await, Released::Freed);
    scene.granted(&first).await;
}

pub async fn a_position_is_the_number_of_those_ahead(scene: Scene) {
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    let waiters = scene.line_up([(); 4].map(|()| scene.exclusive())).await;
    let [first, second, third, fourth] = &waiters;
    for (waiter, ahead) in waiters.iter().zip(0..) {
        assert_eq!(scene.queued(waiter).await, ahead);
    }
    assert_eq!(scene.release(second).await, Released::NotHeld { count: 0 });
    assert_eq!(scene.queued(third).await, 1);
    assert_eq!(scene.queued(fourth).await, 2);
    assert_eq!(scene.release(&holder).await, Released::Freed);
    assert_eq!(scene.queued(third).await, 0);
    assert_eq!(scene.queued(second).await, 2);
    scene.granted(first).await;
    assert_eq!(scene.waiters().await, 3);
}

pub async fn a_waiter_is_told_who_is_in_the_way(scene: Scene) {
    let holder = Acquisition { lock_delay: secs(5), ..scene.exclusive() };
    scene.granted(&holder).await;
    scene.pass(secs(3)).await;
    for ahead_of_it in 0..3 {
        let Acquired::Queued { refusal, ahead } =
            scene.store.acquire(&scene.waiting(scene.exclusive())).await.unwrap()
        else {
            panic!("it does not wait")
        };
        assert_eq!(ahead, ahead_of_it);
        assert_eq!(refusal.by.token, holder.hold.token.prefix());
        assert_about(refusal.by.remaining, secs(7));
        assert_about(refusal.remaining, secs(12));
    }
}

pub async fn a_try_is_refused_while_somebody_waits(scene: Scene) {
    let holder = scene.permits(1, 3);
    scene.granted(&holder).await;
    scene.line_up([scene.permits(3, 3)]).await;
    let refusal = scene.refused(&scene.permits(1, 3)).await;
    assert_eq!(refusal.by.token, holder.hold.token.prefix());
    assert_about(refusal.remaining, TTL);
    let inspection = scene.inspect().await;
    assert_eq!((inspection.total, inspection.waiting), (1, 1));
}

pub async fn a_newcomer_waits_behind_those_who_wait_though_it_would_fit(scene: Scene) {
    let holder = scene.permits(1, 3);
    scene.granted(&holder).await;
    let [large, small] = scene.line_up([scene.permits(3, 3), scene.permits(1, 3)]).await;
    assert_eq!(scene.queued(&small).await, 1);
    assert_eq!(scene.release(&holder).await, Released::Freed);
    scene.granted(&large).await;
    assert_eq!(scene.queued(&small).await, 0);
    assert_eq!(scene.release(&large).await, Released::Freed);
    scene.granted(&small).await;
}

pub async fn a_waiting_writer_holds_back_the_readers_behind_it(scene: Scene) {
    let reading = scene.shared();
    scene.granted(&reading).await;
    let [writer, reader] = scene.line_up([scene.exclusive(), scene.shared()]).await;
    scene.refused(&scene.shared()).await;
    assert_eq!(scene.queued(&reader).await, 1);
    assert_eq!(scene.release(&reading).await, Released::Freed);
    assert_eq!(scene.queued(&reader).await, 0);
    scene.granted(&writer).await;
    assert_eq!(scene.release(&writer).await, Released::Freed);
    scene.granted(&reader).await;
}

pub async fn a_writer_gets_in_though_readers_keep_coming(scene: Scene) {
    let mut readers = vec![scene.shared(), scene.shared(), scene.shared()];
    for reader in &readers {
        scene.granted(reader).await;
    }
    let [writer] = scene.line_up([scene.exclusive()]).await;
    while let Some(reader) = readers.pop() {
        scene.queued(&scene.waiting(scene.shared())).await;
        scene.refused(&scene.shared()).await;
        assert_eq!(scene.release(&reader).await, Released::Freed);
    }
    assert!(scene.is_held(&writer).await);
}

pub async fn a_full_queue_takes_nobody_more(scene: Scene) {
    let at_most_two = |scene: &Scene| {
        let mut asked = scene.waiting(scene.exclusive());
        asked.ticket.as_mut().unwrap().max_waiters = 2;
        asked
    };
    let (holder, [first, second, third]) = (scene.exclusive(), [(); 3].map(|()| at_most_two(&scene)));
    scene.granted(&holder).await;
    assert_eq!((scene.queued(&first).await, scene.queued(&second).await), (0, 1));
    assert_eq!(scene.store.acquire(&third).await.unwrap(), Acquired::Full { waiters: 2 });
    // Who has a place keeps it.
    assert_eq!((scene.queued(&first).await, scene.queued(&second).await), (0, 1));
    assert_eq!(scene.release(&holder).await, Released::Freed);
    assert_eq!(scene.queued(&third).await, 1);
}

pub async fn those_who_are_gone_do_not_fill_a_queue(scene: Scene) {
    scene.granted(&Acquisition { ttl: 4 * TICKET_TTL, ..scene.exclusive() }).await;
    scene.line_up([scene.exclusive(), scene.exclusive()]).await;
    scene.pass(TICKET_TTL + secs(1)).await;
    let mut asked = scene.waiting(scene.exclusive());
    asked.ticket.as_mut().unwrap().max_waiters = 1;
    assert_eq!(scene.queued(&asked).await, 0);
}

pub async fn a_re_entry_passes_the_queue(scene: Scene) {
    let first = scene.granted(&scene.reentrant("worker")).await;
    let [other] = scene.line_up([scene.exclusive()]).await;
    for asked in [scene.reentrant("worker"), scene.waiting(scene.reentrant("worker"))] {
        let again = scene.granted(&asked).await;
        assert_eq!(again.fence, first.fence);
    }
    let inspection = scene.inspect().await;
    assert_eq!((inspection.total, inspection.waiting), (3, 1));
    assert_eq!(scene.queued(&other).await, 0);
}

pub async fn a_reader_whose_owner_reads_passes_the_queue(scene: Scene) {
    scene.granted(&owned("worker", scene.shared())).await;
    let [_writer, stranger] = scene.line_up([scene.exclusive(), scene.shared()]).await;
    for asked in [scene.shared(), scene.waiting(scene.shared())] {
        scene.granted(&owned("worker", asked)).await;
    }
    assert_eq!(scene.queued(&stranger).await, 1);
    assert_eq!(scene.waiters().await, 2);
}

pub async fn a_late_repeat_of_a_closed_hold_does_not_wait(scene: Scene) {
    for asked in [scene.exclusive(), scene.shared(), scene.permits(1, 2)] {
        let asked = scene.waiting(asked);
        scene.granted(&asked).await;
        assert_eq!(scene.release_closed_for(&asked, TTL).await, Released::Freed);
        scene.refused(&asked).await;
        assert_eq!(scene.waiters().await, 0);
        assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 1);
    }
}

pub async fn a_thousand_waiters_are_served_in_order_with_two_verbs_each(scene: Scene) {
    const WAITERS: usize = 1_000;
    let patient = |mut asked: Acquisition| {
        asked.ticket.as_mut().unwrap().ttl = 100 * TICKET_TTL;
        Acquisition { ttl: 100 * TTL, ..asked }
    };
    let many: Vec<_> = (0..WAITERS).map(|_| patient(scene.waiting(scene.exclusive()))).collect();
    let mut holding = Acquisition { ttl: 100 * TTL, ..scene.exclusive() };
    scene.granted(&holding).await;
    for (waiter, ahead) in many.iter().zip(0..) {
        assert_eq!(scene.queued(waiter).await, ahead);
    }
    for waiter in many {
        assert_eq!(scene.release(&holding).await, Released::Freed);
        scene.granted(&waiter).await;
        holding = waiter;
    }
    assert_eq!(scene.release(&holding).await, Released::Freed);
    assert_eq!(scene.inspect().await, Inspection::default());
}
