//! An owner that enters again, and what would make it wait for itself.

use super::*;

pub async fn an_owner_enters_again_with_the_same_fence(scene: Scene) {
    let first = scene.granted(&scene.reentrant("worker")).await;
    let second = scene.granted(&scene.reentrant("worker")).await;
    let third = scene.granted(&scene.reentrant("worker")).await;
    assert_eq!([first.holds, second.holds, third.holds], [1, 2, 3]);
    assert_eq!(second.fence, first.fence);
    assert_eq!(third.fence, first.fence);
    assert_eq!(scene.inspect().await.total, 3);
}

pub async fn an_owner_leaves_as_often_as_it_entered(scene: Scene) {
    let holds = [scene.reentrant("worker"), scene.reentrant("worker"), scene.reentrant("worker")];
    for hold in &holds {
        scene.granted(hold).await;
    }
    // Not in the order of entry: every hold is one of its own.
    assert_eq!(scene.release(&holds[0]).await, Released::StillHeld { count: 2 });
    assert_eq!(scene.release(&holds[2]).await, Released::StillHeld { count: 1 });
    scene.refused(&scene.exclusive()).await;
    assert_eq!(scene.release(&holds[1]).await, Released::Freed);
    scene.granted(&scene.exclusive()).await;
}

pub async fn each_hold_of_an_owner_ends_alone(scene: Scene) {
    let long = scene.reentrant("worker");
    let short = Acquisition { ttl: secs(3), ..scene.reentrant("worker") };
    scene.granted(&long).await;
    scene.granted(&short).await;
    scene.pass(secs(5)).await;
    assert!(!scene.is_held(&short).await);
    assert!(scene.is_held(&long).await);
    assert_eq!(scene.renew(&short).await, Renewed::NotHeld);
    assert_eq!(scene.granted(&scene.reentrant("worker")).await.holds, 2);
    assert_about(scene.refused(&scene.exclusive()).await.remaining, TTL);
}

pub async fn a_lost_hold_tells_how_many_its_owner_has_left(scene: Scene) {
    let short = Acquisition { ttl: secs(3), ..scene.reentrant("worker") };
    scene.granted(&scene.reentrant("worker")).await;
    scene.granted(&short).await;
    scene.pass(secs(5)).await;
    assert_eq!(scene.release(&short).await, Released::NotHeld { count: 1 });
}

pub async fn nobody_else_enters_what_an_owner_holds(scene: Scene) {
    let holder = scene.reentrant("worker");
    scene.granted(&holder).await;
    for _ in 0..2 {
        for other in [
            scene.reentrant("another"),
            scene.exclusive(),
            Acquisition { reentrant: true, ..scene.exclusive() },
            owned("another", scene.shared()),
        ] {
            assert_eq!(scene.refused(&other).await.by.owner, holder.hold.owner);
        }
        // The same again with two holds, which a store may keep differently.
        scene.granted(&scene.reentrant("worker")).await;
    }
}

pub async fn a_repeated_re_entry_is_counted_once(scene: Scene) {
    let (first, second) = (scene.reentrant("worker"), scene.reentrant("worker"));
    scene.granted(&first).await;
    let grant = scene.granted(&second).await;
    assert_eq!(scene.granted(&second).await, grant);
    assert_eq!(scene.granted(&first).await, grant);
    assert_eq!(scene.release(&second).await, Released::StillHeld { count: 1 });
    assert_eq!(scene.release(&second).await, Released::NotHeld { count: 1 });
    assert_eq!(scene.release(&first).await, Released::Freed);
}

pub async fn an_owner_that_does_not_re_enter_would_wait_for_itself(scene: Scene) {
    let holder = scene.reentrant("worker");
    scene.granted(&holder).await;
    for _ in 0..2 {
        let error = scene.failed(&owned("worker", scene.exclusive())).await;
        assert_deadlock(&error, Mode::Exclusive, Mode::Exclusive);
        scene.granted(&scene.reentrant("worker")).await;
    }
    assert_eq!(scene.release(&holder).await, Released::StillHeld { count: 2 });
}

pub async fn an_upgrade_would_wait_for_itself(scene: Scene) {
    for holder in [scene.shared(), scene.permits(2, 3)] {
        let holder = owned("worker", holder);
        scene.granted(&holder).await;
        let error = scene.failed(&scene.reentrant("worker")).await;
        assert_deadlock(&error, Mode::Exclusive, holder.mode);
        // Another owner may simply wait.
        scene.refused(&scene.reentrant("another")).await;
        assert_eq!(scene.release(&holder).await, Released::Freed);
    }
}

pub async fn a_deadlock_names_all_that_the_owner_holds(scene: Scene) {
    scene.granted(&scene.permits(1, 9)).await;
    for count in [2, 3] {
        scene.granted(&owned("worker", scene.permits(count, 9))).await;
    }
    let error = scene.failed(&scene.reentrant("worker")).await;
    assert_deadlock(&error, Mode::Exclusive, Mode::permits(5, 9).unwrap());
}

pub async fn an_owner_cannot_read_what_it_holds_exclusively(scene: Scene) {
    scene.granted(&scene.reentrant("worker")).await;
    for _ in 0..2 {
        for asked in [scene.shared(), scene.permits(1, 2)] {
            let asked = Acquisition { reentrant: true, ..owned("worker", asked) };
            let error = scene.failed(&asked).await;
            assert_deadlock(&error, asked.mode, Mode::Exclusive);
        }
        scene.granted(&scene.reentrant("worker")).await;
    }
}

pub async fn an_owner_whose_lease_ended_does_not_wait_for_itself(scene: Scene) {
    for ended in [scene.exclusive(), scene.shared(), scene.permits(1, 2)] {
        scene.granted(&owned("worker", ended)).await;
        scene.pass(TTL + secs(1)).await;
        let next = owned("worker", scene.exclusive());
        assert_eq!(scene.granted(&next).await.holds, 1);
        assert_eq!(scene.release(&next).await, Released::Freed);
    }
}

pub async fn a_new_session_of_an_owner_has_a_larger_fence(scene: Scene) {
    let (first, second) = (scene.reentrant("worker"), scene.reentrant("worker"));
    let before = scene.fence(&first).await;
    scene.granted(&second).await;
    assert_eq!(scene.release(&first).await, Released::StillHeld { count: 1 });
    assert_eq!(scene.release(&second).await, Released::Freed);
    assert!(scene.fence(&first).await > before);
}

pub async fn an_owner_re_enters_beside_its_own_closed_hold(scene: Scene) {
    let (first, second) = (scene.reentrant("worker"), scene.reentrant("worker"));
    let fence = scene.fence(&first).await;
    scene.granted(&second).await;
    let released = scene.release_closed_for(&second, secs(5)).await;
    assert_eq!(released, Released::StillHeld { count: 1 });
    let grant = scene.granted(&scene.reentrant("worker")).await;
    assert_eq!((grant.fence, grant.holds), (Some(fence), 2));
}

#[track_caller]
fn assert_deadlock(error: &StoreError, wanted: Mode, has: Mode) {
    let StoreError::Deadlock { asked, held } = error else { panic!("not a deadlock: {error}") };
    assert_eq!((*asked, *held), (wanted, has));
}
