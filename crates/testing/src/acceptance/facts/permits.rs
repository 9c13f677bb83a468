//! Permits: k of n.

use futures_util::future::join_all;

use super::*;

pub async fn permits_are_granted_up_to_the_capacity(scene: Scene) {
    for count in [2, 2, 1] {
        scene.granted(&scene.permits(count, 5)).await;
    }
    scene.refused(&scene.permits(1, 5)).await;
    assert_eq!(scene.inspect().await.total, 3);
}

pub async fn of_many_at_once_as_many_are_granted_as_fit(scene: Scene) {
    let many: Vec<_> = (0..50).map(|_| scene.permits(2, 7)).collect();
    let answers = join_all(many.iter().map(|asked| scene.store.acquire(asked))).await;
    let granted = answers.iter().filter(|answer| matches!(answer, Ok(Acquired::Granted(_)))).count();
    assert_eq!(granted, 3);
    assert!(answers.iter().all(Result::is_ok));
}

pub async fn a_large_request_waits_while_a_small_one_fits(scene: Scene) {
    scene.granted(&scene.permits(3, 5)).await;
    scene.refused(&scene.permits(3, 5)).await;
    scene.refused(&scene.permits(5, 5)).await;
    scene.granted(&scene.permits(2, 5)).await;
}

pub async fn permits_come_back_with_a_release_and_with_an_end(scene: Scene) {
    let released = scene.permits(2, 4);
    scene.granted(&released).await;
    scene.granted(&Acquisition { ttl: secs(3), ..scene.permits(2, 4) }).await;
    scene.refused(&scene.permits(1, 4)).await;
    assert_eq!(scene.release(&released).await, Released::Freed);
    scene.granted(&scene.permits(2, 4)).await;
    scene.refused(&scene.permits(2, 4)).await;
    scene.pass(secs(4)).await;
    scene.granted(&scene.permits(2, 4)).await;
    scene.refused(&scene.permits(1, 4)).await;
}

pub async fn a_refusal_of_permits_names_the_first_end(scene: Scene) {
    let first = Acquisition { ttl: secs(5), ..scene.permits(1, 2) };
    scene.granted(&scene.permits(1, 2)).await;
    scene.granted(&first).await;
    let refusal = scene.refused(&scene.permits(1, 2)).await;
    assert_eq!(refusal.by.token, first.hold.token.prefix());
    assert_eq!(refusal.by.mode, first.mode);
    assert_about(refusal.remaining, secs(5));
    // Who wants everything waits for the last.
    assert_about(scene.refused(&scene.exclusive()).await.remaining, TTL);
}

pub async fn repeated_permits_are_taken_once(scene: Scene) {
    let asked = scene.permits(2, 4);
    let grant = scene.granted(&asked).await;
    assert_eq!(scene.granted(&asked).await, grant);
    let rest = scene.permits(2, 4);
    scene.granted(&rest).await;
    assert_eq!(scene.release(&asked).await, Released::Freed);
    assert_eq!(scene.release(&asked).await, Released::NotHeld { count: 0 });
    scene.refused(&scene.permits(3, 4)).await;
    scene.granted(&scene.permits(2, 4)).await;
}

pub async fn of_two_capacities_in_use_the_smaller_one_counts(scene: Scene) {
    for (before, after) in [(3, 5), (5, 3)] {
        let [old, new] = [scene.permits(1, before), scene.permits(2, after)];
        scene.granted(&old).await;
        scene.granted(&new).await;
        for refused in [scene.permits(1, before), scene.permits(1, after)] {
            scene.refused(&refused).await;
        }
        let holders = scene.inspect().await.holders;
        assert!([old.mode, new.mode].iter().all(|mode| holders.iter().any(|holder| holder.mode == *mode)));
        assert_eq!(scene.release(&old).await, Released::Freed);
        let rest = scene.permits(after - 2, after);
        scene.granted(&rest).await;
        scene.refused(&scene.permits(1, after)).await;
        for held in [&new, &rest] {
            assert_eq!(scene.release(held).await, Released::Freed);
        }
    }
}

pub async fn a_smaller_capacity_waits_until_so_few_permits_are_taken(scene: Scene) {
    let holders = [(); 4].map(|()| scene.permits(1, 5));
    for holder in &holders {
        scene.granted(holder).await;
    }
    let smaller = scene.permits(1, 3);
    for holder in &holders[..2] {
        scene.refused(&smaller).await;
        assert_eq!(scene.release(holder).await, Released::Freed);
    }
    scene.granted(&smaller).await;
    scene.refused(&scene.permits(1, 5)).await;
    assert_eq!(scene.release(&smaller).await, Released::Freed);
    scene.granted(&scene.permits(3, 5)).await;
}

pub async fn a_capacity_is_in_use_until_its_last_holder_has_ended_and_opened(scene: Scene) {
    let short = Acquisition { ttl: secs(2), ..scene.permits(1, 3) };
    let delayed = Acquisition { ttl: secs(2), lock_delay: secs(3), ..scene.permits(1, 3) };
    let larger = scene.permits(1, 5);
    for asked in [&larger, &short, &delayed] {
        scene.granted(asked).await;
    }
    scene.refused(&scene.permits(1, 5)).await;
    scene.pass(secs(3)).await;
    // The one that keeps its permit closed is of the smaller capacity.
    scene.granted(&scene.permits(1, 5)).await;
    scene.refused(&scene.permits(1, 5)).await;
    scene.pass(secs(3)).await;
    scene.granted(&scene.permits(3, 5)).await;
    scene.refused(&scene.permits(1, 5)).await;
}

pub async fn a_third_capacity_waits_for_one_of_two(scene: Scene) {
    let [first, second, third] = [3, 4, 5].map(|of| scene.permits(1, of));
    scene.granted(&first).await;
    scene.granted(&second).await;
    scene.refused(&third).await;
    scene.granted(&scene.permits(1, 4)).await;
    assert_eq!(scene.release(&first).await, Released::Freed);
    scene.granted(&third).await;
    scene.granted(&scene.permits(1, 5)).await;
    scene.refused(&scene.permits(1, 5)).await;
    scene.refused(&first).await;
}

pub async fn permits_and_an_exclusive_holder_exclude_each_other(scene: Scene) {
    let (some, all) = (scene.permits(1, 3), scene.exclusive());
    scene.granted(&some).await;
    assert_eq!(scene.refused(&all).await.by.mode, some.mode);
    assert_eq!(scene.release(&some).await, Released::Freed);
    scene.granted(&all).await;
    assert_eq!(scene.refused(&some).await.by.mode, Mode::Exclusive);
}

pub async fn no_permit_is_lost_in_a_hundred_turns(scene: Scene) {
    for turn in 0..100 {
        let (some, rest) = (scene.permits(1 + turn % 3, 4), scene.permits(4 - (1 + turn % 3), 4));
        scene.granted(&some).await;
        scene.granted(&rest).await;
        assert_eq!(scene.release(&some).await, Released::Freed);
        scene.refused(&scene.permits(2 + turn % 3, 4)).await;
        assert_eq!(scene.release(&rest).await, Released::Freed);
    }
    scene.granted(&scene.permits(4, 4)).await;
}

pub async fn a_free_resource_may_be_used_with_another_capacity(scene: Scene) {
    let asked = scene.permits(1, 3);
    scene.granted(&asked).await;
    assert_eq!(scene.release(&asked).await, Released::Freed);
    scene.granted(&scene.permits(4, 4)).await;
    scene.pass(TTL + secs(1)).await;
    scene.granted(&scene.shared()).await;
}
