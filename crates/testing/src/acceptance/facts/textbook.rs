//! The textbook string as a lock: exclusive, without owner, fence and queue.

use leasehold::store::AcquiredAll;

use super::*;

const GRANT: Grant = Grant { fence: None, holds: 1, slot: None };

pub async fn a_textbook_lock_excludes_ends_and_opens(scene: Scene) {
    let (first, second) = (scene.exclusive(), scene.exclusive());
    assert_eq!(scene.granted(&first).await, GRANT);
    scene.pass(secs(4)).await;
    let refusal = scene.refused(&second).await;
    assert_eq!((refusal.by.token, refusal.by.fence), (first.hold.token.prefix(), None));
    assert_eq!((refusal.by.mode, refusal.by.state), (Mode::Exclusive, HolderState::Holding));
    assert_about(refusal.by.remaining, secs(6));
    assert_about(refusal.remaining, secs(6));

    scene.pass(secs(7)).await;
    assert!(!scene.is_held(&first).await);
    assert_eq!(scene.renew(&first).await, Renewed::NotHeld);
    assert_eq!(scene.release(&first).await, Released::NotHeld { count: 0 });
    assert_eq!(scene.granted(&second).await, GRANT);
    assert_eq!(scene.release(&second).await, Released::Freed);
    assert_eq!(scene.inspect().await, Inspection::default());
}

pub async fn a_textbook_lock_is_taken_again_by_its_own_token_alone(scene: Scene) {
    let (holder, stranger) = (scene.exclusive(), scene.exclusive());
    scene.granted(&holder).await;
    assert_eq!(scene.renew(&stranger).await, Renewed::NotHeld);
    assert_eq!(scene.release(&stranger).await, Released::NotHeld { count: 0 });
    scene.pass(secs(6)).await;
    assert_eq!(scene.granted(&holder).await, GRANT);
    scene.pass(secs(6)).await;
    assert!(scene.is_held(&holder).await);
    assert_eq!(scene.release(&holder).await, Released::Freed);
    scene.granted(&stranger).await;
    assert_eq!(scene.release(&holder).await, Released::NotHeld { count: 0 });
    assert!(scene.is_held(&stranger).await);
}

pub async fn a_textbook_lock_has_neither_fence_nor_queue(scene: Scene) {
    assert_eq!(scene.granted(&scene.waiting(scene.exclusive())).await, GRANT);
    scene.refused(&scene.waiting(scene.exclusive())).await;
    let inspection = scene.inspect().await;
    assert_eq!((inspection.waiting, inspection.holders[0].fence), (0, None));
}

pub async fn a_textbook_lock_is_renewed_from_now(scene: Scene) {
    let asked = scene.exclusive();
    scene.granted(&asked).await;
    for ttl in [10, 3] {
        scene.pass(secs(2)).await;
        let asked = Acquisition { ttl: secs(ttl), ..asked.clone() };
        assert_eq!(scene.renew(&asked).await, Renewed::Extended);
        assert_about(scene.inspect().await.holders[0].remaining, secs(ttl));
    }
    scene.pass(secs(4)).await;
    assert!(!scene.is_held(&asked).await);
}

pub async fn a_textbook_lock_may_open_later(scene: Scene) {
    let asked = scene.exclusive();
    scene.granted(&asked).await;
    assert_eq!(scene.release_closed_for(&asked, secs(20)).await, Released::Freed);
    assert!(!scene.is_held(&asked).await);
    assert_eq!(scene.renew(&asked).await, Renewed::NotHeld);
    assert_eq!(scene.release(&asked).await, Released::NotHeld { count: 0 });
    let refusal = scene.refused(&asked).await;
    assert_eq!((refusal.by.state, refusal.by.token), (HolderState::Closed, asked.hold.token.prefix()));
    assert_about(refusal.remaining, secs(20));
    scene.pass(secs(21)).await;
    scene.granted(&scene.exclusive()).await;
}

pub async fn a_textbook_lock_is_shown_and_taken_by_force(scene: Scene) {
    let asked = scene.exclusive();
    scene.granted(&asked).await;
    let Inspection { holders, total: 1, waiting: 0, .. } = scene.inspect().await else {
        panic!("not one holder")
    };
    assert_eq!((holders[0].token, &holders[0].owner), (asked.hold.token.prefix(), &None));
    assert!(holders[0].metadata.is_empty());
    let none = scene.store.inspect(&scene.name, 0).await.unwrap();
    assert_eq!((none.holders.len(), none.total), (0, 1));
    assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 1);
    assert!(!scene.is_held(&asked).await);
    assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 0);
}

pub async fn what_a_textbook_lock_has_not_is_refused_and_harms_no_neighbour(scene: Scene) {
    let lacking = [
        scene.shared(),
        scene.permits(1, 2),
        scene.reentrant("worker"),
        owned("worker", scene.exclusive()),
        Acquisition { lock_delay: secs(1), ..scene.exclusive() },
    ];
    for asked in &lacking {
        let error = scene.failed(asked).await;
        assert!(matches!(error, StoreError::Unsupported { .. }), "{error}");
        assert!(!error.is_transient() && error.to_string().contains("plain"), "{error}");
    }
    assert_eq!(scene.inspect().await.total, 0);

    let mut batch: Vec<_> = lacking.into_iter().map(|asked| Arc::new(elsewhere(asked))).collect();
    for at in [0, 3, 7] {
        batch.insert(at, Arc::new(elsewhere(scene.exclusive())));
    }
    for (at, (asked, answer)) in batch.iter().zip(scene.store.acquire_each(&batch).await).enumerate() {
        match answer {
            Ok(Acquired::Granted(GRANT)) if [0, 3, 7].contains(&at) => assert!(scene.is_held(asked).await),
            Err(StoreError::Unsupported { .. }) if ![0, 3, 7].contains(&at) => {}
            other => panic!("number {at}: {other:?}"),
        }
    }
}

pub async fn a_textbook_lock_is_passed_on(scene: Scene) {
    let [first, second, third] = [(); 3].map(|()| scene.exclusive());
    scene.granted(&first).await;
    let HandedOff { released, acquired, .. } = scene.passed(&first, &second, true).await;
    assert_eq!((released, acquired.unwrap()), (Released::Freed, Acquired::Granted(GRANT)));
    let HandedOff { released, acquired, .. } = scene.passed(&first, &third, true).await;
    assert_eq!(released, Released::NotHeld { count: 0 });
    assert!(matches!(acquired, Ok(Acquired::Refused(_))), "{acquired:?}");
    assert!(scene.is_held(&second).await);
}

pub async fn several_textbook_locks_are_all_granted_or_none(scene: Scene) {
    let all = [(); 3].map(|()| Arc::new(elsewhere(scene.exclusive())));
    let mut holder = scene.exclusive();
    holder.hold.resource = all[1].hold.resource.clone();
    scene.granted(&holder).await;
    match scene.store.acquire_all(&all).await.unwrap() {
        AcquiredAll::Refused { which: 1, refusal } => {
            assert_eq!(refusal.by.token, holder.hold.token.prefix())
        }
        other => panic!("{other:?}"),
    }
    assert!(!scene.is_held(&all[0]).await && !scene.is_held(&all[2]).await);
    assert_eq!(scene.release(&holder).await, Released::Freed);
    match scene.store.acquire_all(&all).await.unwrap() {
        AcquiredAll::Granted(grants) => assert_eq!(grants, [GRANT; 3]),
        other => panic!("{other:?}"),
    }
}

pub async fn textbook_locks_of_any_name_are_listed(scene: Scene) {
    let beginning = unique("");
    let names = ["", "*", "[x]", "\0\n", "{b}", "☃"].map(|tail| format!("{beginning}{tail}"));
    let mut expected: Vec<_> = names.map(|name| ResourceName::new(name).unwrap()).into();
    expected.sort();
    for name in &expected {
        let mut asked = scene.exclusive();
        asked.hold.resource = name.clone();
        scene.granted(&asked).await;
    }
    let listing = scene.store.list(&Walk::new(beginning.as_bytes(), 100)).await.unwrap();
    assert_eq!((listing.resources, listing.complete), (expected, true));
}
