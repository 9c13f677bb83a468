//! All or none: several resources at one moment.

use leasehold::store::{ALL_AT_MOST, AcquiredAll};

use super::*;

pub async fn all_are_granted_if_all_are_free(scene: Scene) {
    let asked = all([scene.exclusive(), scene.shared(), scene.permits(2, 3), scene.reentrant("me")]);
    let grants = granted(&scene, &asked).await;
    assert!(grants.iter().all(|grant| grant.holds == 1 && grant.fence.is_some()), "{grants:?}");
    for asked in &asked {
        assert!(scene.is_held(asked).await);
        assert_eq!(scene.release(asked).await, Released::Freed);
    }
    assert!(granted(&scene, &[]).await.is_empty());
}

pub async fn if_one_is_in_the_way_none_is_granted(scene: Scene) {
    for modes in [[0, 0, 0, 0], [0, 1, 0, 2], [1, 2, 0, 1]] {
        let asked = all(modes.map(|mode| match mode {
            0 => scene.exclusive(),
            1 => scene.shared(),
            _ => scene.permits(1, 2),
        }));
        let holder = on(&asked[2], scene.exclusive());
        let fence = scene.fence(&holder).await;
        let (which, refusal) = refused(&scene, &asked).await;
        assert_eq!((which, refusal.by.token), (2, holder.hold.token.prefix()));
        assert!(refusal.by.fence.is_none_or(|told| told == fence), "{refusal:?}");
        for asked in &asked {
            assert!(!scene.is_held(asked).await);
        }
        for free in [&asked[0], &asked[1], &asked[3]] {
            assert_eq!(scene.store.inspect(&free.hold.resource, 9).await.unwrap(), Inspection::default());
            scene.granted(&on(free, scene.exclusive())).await;
        }
    }
}

pub async fn one_that_can_never_be_granted_fails_alone_and_none_is_granted(scene: Scene) {
    let asked = all([scene.exclusive(), scene.shared(), scene.exclusive()]);
    scene.granted(&on(&asked[1], scene.permits(1, 3))).await;
    match acquire(&scene, &asked).await {
        AcquiredAll::Failed { which: 1, error: StoreError::ModeMismatch { .. } } => {}
        other => panic!("{other:?}"),
    }
    for free in [&asked[0], &asked[2]] {
        scene.granted(&on(free, scene.exclusive())).await;
    }
}

pub async fn a_repeat_grants_all_again_with_the_same_fences(scene: Scene) {
    let asked = all([scene.exclusive(), scene.shared(), scene.exclusive()]);
    let first = granted(&scene, &asked).await;
    scene.pass(secs(6)).await;
    assert_eq!(granted(&scene, &asked).await, first);
    scene.pass(secs(6)).await;
    for asked in &asked {
        assert!(scene.is_held(asked).await);
    }
}

pub async fn what_a_token_held_before_is_left_to_it(scene: Scene) {
    let asked = all([scene.exclusive(), scene.exclusive(), scene.exclusive()]);
    scene.granted(&asked[0]).await;
    scene.granted(&on(&asked[2], scene.exclusive())).await;
    assert_eq!(refused(&scene, &asked).await.0, 2);
    assert!(scene.is_held(&asked[0]).await);
    assert!(!scene.is_held(&asked[1]).await);
}

pub async fn who_asks_for_all_does_not_wait_and_overtakes_nobody(scene: Scene) {
    let [free, taken] = all([scene.exclusive(), scene.exclusive()]);
    let (holder, waiter) = (on(&taken, scene.shared()), scene.waiting(on(&taken, scene.exclusive())));
    scene.granted(&holder).await;
    scene.queued(&waiter).await;
    let asked = [free, scene.waiting(on(&taken, scene.shared()))];
    assert_eq!(refused(&scene, &asked).await.0, 1);
    assert_eq!(scene.store.inspect(&taken.hold.resource, 9).await.unwrap().waiting, 1);
    assert_eq!(scene.release(&holder).await, Released::Freed);
    assert!(scene.is_held(&waiter).await);
}

pub async fn a_place_that_is_given_up_for_nothing_goes_to_those_behind_it(scene: Scene) {
    let [asked, taken] = all([scene.exclusive(), scene.exclusive()]);
    scene.granted(&on(&taken, scene.exclusive())).await;
    let reader = on(&asked, owned("reader", scene.shared()));
    scene.granted(&reader).await;
    let first = scene.waiting(on(&asked, scene.exclusive()));
    let behind = scene.waiting(on(&asked, scene.shared()));
    scene.queued(&first).await;
    scene.queued(&behind).await;
    assert_eq!(refused(&scene, &[first, taken]).await.0, 0);
    assert!(scene.is_held(&behind).await, "nobody is before it any more");
}

pub async fn what_is_taken_back_is_handed_over_to_those_who_wait(scene: Scene) {
    let [held, taken] = all([scene.exclusive(), scene.exclusive()]);
    scene.granted(&held).await;
    let [first, second] = [(); 2].map(|()| scene.waiting(on(&held, scene.exclusive())));
    scene.queued(&first).await;
    scene.queued(&second).await;
    scene.pass(TTL + secs(1)).await;
    scene.granted(&on(&taken, scene.exclusive())).await;
    // The first is its turn, and is granted; and taken back for want of the other.
    assert_eq!(refused(&scene, &[first.clone(), taken]).await.0, 1);
    assert!(!scene.is_held(&first).await && scene.is_held(&second).await);
}

pub async fn one_resource_named_twice_is_in_its_own_way(scene: Scene) {
    let [first, other] = all([scene.exclusive(), scene.exclusive()]);
    let again = on(&first, scene.exclusive());
    let (which, refusal) = refused(&scene, &[first.clone(), other, again]).await;
    assert_eq!((which, refusal.by.token), (2, first.hold.token.prefix()));
    assert!(!scene.is_held(&first).await);
    let twice = [(); 2].map(|()| on(&first, scene.reentrant("me")));
    let holds = granted(&scene, &twice).await.into_iter().map(|grant| grant.holds);
    assert_eq!(holds.collect::<Vec<_>>(), [1, 2]);
}

pub async fn a_re_entry_that_is_taken_back_leaves_the_first_hold(scene: Scene) {
    let [mine, taken] = all([scene.reentrant("me"), scene.exclusive()]);
    scene.granted(&mine).await;
    scene.granted(&on(&taken, scene.exclusive())).await;
    assert_eq!(refused(&scene, &[on(&mine, scene.reentrant("me")), taken]).await.0, 1);
    assert_eq!(scene.release(&mine).await, Released::Freed);
}

pub async fn as_many_as_may_be_are_granted_together(scene: Scene) {
    let asked: Vec<_> = (0..ALL_AT_MOST).map(|_| elsewhere(scene.exclusive())).collect();
    let fences: Vec<_> = granted(&scene, &asked).await.into_iter().map(|grant| grant.fence).collect();
    assert!(fences.is_sorted() && fences.len() == ALL_AT_MOST);
    let last = on(&asked[ALL_AT_MOST - 1], scene.exclusive());
    let mut again: Vec<_> = (1..ALL_AT_MOST).map(|_| elsewhere(scene.exclusive())).collect();
    again.push(last);
    assert_eq!(refused(&scene, &again).await.0, ALL_AT_MOST - 1);
    for asked in &again {
        assert!(!scene.is_held(asked).await);
    }
}

/// The same, each of a resource of its own.
fn all<const N: usize>(asked: [Acquisition; N]) -> [Acquisition; N] {
    asked.map(elsewhere)
}

/// The second, of the resource of the first.
fn on(taken: &Acquisition, mut asked: Acquisition) -> Acquisition {
    asked.hold.resource = taken.hold.resource.clone();
    asked
}

async fn acquire(scene: &Scene, asked: &[Acquisition]) -> AcquiredAll {
    let asked: Vec<_> = asked.iter().cloned().map(Arc::new).collect();
    scene.store.acquire_all(&asked).await.unwrap()
}

async fn granted(scene: &Scene, asked: &[Acquisition]) -> Vec<Grant> {
    match acquire(scene, asked).await {
        AcquiredAll::Granted(grants) if grants.len() == asked.len() => grants,
        other => panic!("not all were granted: {other:?}"),
    }
}

async fn refused(scene: &Scene, asked: &[Acquisition]) -> (usize, Refusal) {
    match acquire(scene, asked).await {
        AcquiredAll::Refused { which, refusal } => (which, refusal),
        other => panic!("nobody was in the way: {other:?}"),
    }
}
