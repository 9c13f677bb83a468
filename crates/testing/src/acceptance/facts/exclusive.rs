//! One exclusive holder: the verbs, their repetition, and fences.

use futures_util::future::join_all;

use super::*;

pub async fn an_exclusive_holder_keeps_everybody_else_out(scene: Scene) {
    let holder = scene.exclusive();
    let grant = scene.granted(&holder).await;
    assert_eq!(grant.holds, 1);
    assert!(scene.is_held(&holder).await);
    for other in [scene.exclusive(), scene.reentrant("somebody"), scene.shared(), scene.permits(1, 2)] {
        let refusal = scene.refused(&other).await;
        assert_eq!(refusal.by.token, holder.hold.token.prefix());
        assert!(!scene.is_held(&other).await);
    }
}

pub async fn of_many_at_once_one_is_granted(scene: Scene) {
    // A quorum has a twentieth of the TTL to come to a decision.
    let ttl = Duration::from_secs(600);
    let many: Vec<_> = (0..50).map(|_| Acquisition { ttl, ..scene.exclusive() }).collect();
    let answers = join_all(many.iter().map(|asked| scene.store.acquire(asked))).await;
    let granted = answers.iter().filter(|answer| matches!(answer, Ok(Acquired::Granted(_)))).count();
    let refused = answers.iter().filter(|answer| matches!(answer, Ok(Acquired::Refused(_)))).count();
    assert_eq!((granted, refused), (1, 49));
}

pub async fn a_release_opens_at_once(scene: Scene) {
    let (first, second) = (scene.exclusive(), scene.exclusive());
    scene.granted(&first).await;
    assert_eq!(scene.release(&first).await, Released::Freed);
    assert!(!scene.is_held(&first).await);
    scene.granted(&second).await;
    assert!(scene.is_held(&second).await);
}

pub async fn a_stranger_can_neither_renew_nor_release(scene: Scene) {
    for holder in [scene.exclusive(), scene.shared(), scene.permits(1, 1)] {
        scene.granted(&holder).await;
        let stranger = scene.ask(holder.mode);
        assert_eq!(scene.renew(&stranger).await, Renewed::NotHeld);
        assert_eq!(scene.release(&stranger).await, Released::NotHeld { count: 0 });
        assert!(scene.is_held(&holder).await);
        assert_eq!(scene.release(&holder).await, Released::Freed);
    }
}

pub async fn a_repeated_acquisition_has_no_smaller_fence_and_a_new_end(scene: Scene) {
    for asked in [scene.exclusive(), scene.shared(), scene.permits(2, 3)] {
        let first = scene.granted(&asked).await;
        scene.pass(secs(6)).await;
        let again = scene.granted(&asked).await;
        assert!(again.holds == first.holds && again.fence >= first.fence, "{again:?} after {first:?}");
        scene.pass(secs(6)).await;
        assert!(scene.is_held(&asked).await);
        assert_eq!(scene.inspect().await.total, 1);
        assert_eq!(scene.release(&asked).await, Released::Freed);
    }
}

pub async fn a_repeated_release_finds_nothing_and_harms_nobody(scene: Scene) {
    for asked in [scene.exclusive(), scene.shared(), scene.permits(1, 1)] {
        scene.granted(&asked).await;
        assert_eq!(scene.release(&asked).await, Released::Freed);
        let next = scene.ask(asked.mode);
        scene.granted(&next).await;
        assert_eq!(scene.release(&asked).await, Released::NotHeld { count: 0 });
        assert_eq!(scene.renew(&asked).await, Renewed::NotHeld);
        assert_eq!(scene.release(&next).await, Released::Freed);
    }
}

pub async fn releasing_what_was_never_granted_is_harmless(scene: Scene) {
    let asked = scene.exclusive();
    assert_eq!(scene.release(&asked).await, Released::NotHeld { count: 0 });
    assert_eq!(scene.release_closed_for(&asked, secs(5)).await, Released::NotHeld { count: 0 });
    assert_eq!(scene.inspect().await.total, 0);
    scene.granted(&asked).await;
}

pub async fn a_renewal_counts_the_end_from_now(scene: Scene) {
    for asked in [scene.exclusive(), scene.shared(), scene.permits(1, 1)] {
        scene.granted(&asked).await;
        scene.pass(secs(6)).await;
        assert_eq!(scene.renew(&asked).await, Renewed::Extended);
        assert_about(scene.inspect().await.holders[0].remaining, TTL);
        scene.pass(secs(6)).await;
        assert!(scene.is_held(&asked).await);

        let shorter = Acquisition { ttl: secs(3), ..asked };
        assert_eq!(scene.renew(&shorter).await, Renewed::Extended);
        assert_about(scene.inspect().await.holders[0].remaining, secs(3));
        scene.pass(secs(4)).await;
        assert!(!scene.is_held(&shorter).await);
        assert_eq!(scene.inspect().await.total, 0);
    }
}

pub async fn a_refusal_changes_nothing(scene: Scene) {
    let holder = scene.exclusive();
    scene.granted(&holder).await;
    scene.pass(secs(4)).await;
    scene.refused(&Acquisition { ttl: secs(60), ..scene.exclusive() }).await;
    let inspection = scene.inspect().await;
    assert_eq!(inspection.total, 1);
    assert_eq!(inspection.holders[0].token, holder.hold.token.prefix());
    assert_about(inspection.holders[0].remaining, secs(6));
}

pub async fn a_refusal_names_who_is_in_the_way_and_for_how_long(scene: Scene) {
    let holder = Acquisition { lock_delay: secs(5), ..owned("worker 7", scene.exclusive()) };
    let fence = scene.fence(&holder).await;
    scene.pass(secs(3)).await;

    let Refusal { by, remaining } = scene.refused(&scene.exclusive()).await;
    assert_eq!(by.token, holder.hold.token.prefix());
    assert_eq!(by.mode, Mode::Exclusive);
    assert_eq!(by.state, HolderState::Holding);
    assert_eq!(by.owner, holder.hold.owner);
    assert_eq!(by.fence, Some(fence));
    assert_eq!(by.metadata, *holder.metadata);
    assert_about(by.remaining, secs(7));
    // If it expires, the resource opens only after its lock delay.
    assert_about(remaining, secs(12));
}

pub async fn a_later_grant_has_the_larger_fence(scene: Scene) {
    let mut last = None;
    for asked in [
        scene.exclusive(),
        scene.shared(),
        scene.exclusive(),
        scene.permits(1, 1),
        scene.reentrant("a"),
        scene.reentrant("a"),
    ] {
        let fence = scene.fence(&asked).await;
        assert!(Some(fence) > last, "{fence:?} after {last:?}");
        last = Some(fence);
        assert_eq!(scene.release(&asked).await, Released::Freed);
    }
    let forced = scene.fence(&scene.exclusive()).await;
    assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 1);
    let expired = scene.fence(&scene.exclusive()).await;
    assert!(expired > forced);
    scene.pass(TTL + secs(1)).await;
    assert!(scene.fence(&scene.shared()).await > expired);
}

pub async fn a_token_holds_only_where_it_was_granted(scene: Scene) {
    let asked = scene.exclusive();
    scene.granted(&asked).await;
    let mut elsewhere = asked.clone();
    elsewhere.hold.resource = ResourceName::new(unique("fact/")).unwrap();
    assert!(!scene.is_held(&elsewhere).await);
    assert_eq!(scene.renew(&elsewhere).await, Renewed::NotHeld);
    assert_eq!(scene.release(&elsewhere).await, Released::NotHeld { count: 0 });
    assert!(scene.is_held(&asked).await);
}
