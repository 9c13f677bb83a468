//! Several verbs at once: each is one of its own, and they are executed in their order.

use super::*;

pub async fn the_answers_of_a_batch_are_in_its_order(scene: Scene) {
    let asked = [(); 6].map(|()| elsewhere(scene.exclusive()));
    let mut held = [scene.exclusive(), scene.exclusive()];
    for (held, at) in held.iter_mut().zip([1, 4]) {
        held.hold.resource = asked[at].hold.resource.clone();
        scene.granted(held).await;
    }
    for (at, (asked, answer)) in asked.iter().zip(acquire_each(&scene, &asked).await).enumerate() {
        let kept_out_by = [1, 4].iter().position(|&held| held == at).map(|which| &held[which]);
        match (answer.unwrap(), kept_out_by) {
            (Acquired::Granted(_), None) => assert!(scene.is_held(asked).await),
            (Acquired::Refused(refusal), Some(by)) => {
                assert_eq!(refusal.by.token, by.hold.token.prefix());
                assert!(!scene.is_held(asked).await);
            }
            (other, _) => panic!("number {at}: {other:?}"),
        }
    }
}

pub async fn waiters_of_a_batch_stand_in_its_order(scene: Scene) {
    let asked = [(); 4].map(|()| scene.waiting(scene.exclusive()));
    let answers = acquire_each(&scene, &asked).await;
    assert!(matches!(answers[0], Ok(Acquired::Granted(_))), "{answers:?}");
    for (answer, expected) in answers[1..].iter().zip(0..) {
        let Ok(Acquired::Queued { refusal, ahead }) = answer else { panic!("{answer:?}") };
        assert_eq!((*ahead, refusal.by.token), (expected, asked[0].hold.token.prefix()));
    }
    for (holding, next) in asked.iter().zip(&asked[1..]) {
        assert_eq!(scene.release(holding).await, Released::Freed);
        assert!(scene.is_held(next).await);
    }
}

pub async fn a_resource_may_be_named_twice_in_one_batch(scene: Scene) {
    let [first, second, third] = [scene.exclusive(), scene.exclusive(), scene.waiting(scene.exclusive())];
    let other = elsewhere(scene.exclusive());
    let asked = [&first, &second, &third, &other, &first].map(Acquisition::clone);
    let answers: Vec<_> = acquire_each(&scene, &asked).await.into_iter().map(Result::unwrap).collect();
    let [Acquired::Granted(granted), Acquired::Refused(refusal), Acquired::Queued { ahead: 0, .. }, _, again] =
        answers.as_slice()
    else {
        panic!("{answers:?}")
    };
    assert_eq!(refusal.by.token, first.hold.token.prefix());
    assert!(matches!(again, Acquired::Granted(again) if again.fence >= granted.fence), "{again:?}");

    let released = release_each(&scene, &[&first, &third, &second, &other, &first]).await;
    let nothing = Released::NotHeld { count: 0 };
    // What the first of them released was handed over to the second.
    assert_eq!(released, [Released::Freed, Released::Freed, nothing, Released::Freed, nothing]);
    assert_eq!(scene.inspect().await, Inspection::default());
}

pub async fn one_that_is_kept_out_of_a_batch_harms_no_neighbour(scene: Scene) {
    let permits = owned("worker", elsewhere(scene.permits(1, 3)));
    let full = elsewhere(scene.exclusive());
    for held in [&permits, &full] {
        scene.granted(held).await;
    }
    let on = |held: &Acquisition, mut asked: Acquisition| {
        asked.hold.resource = held.hold.resource.clone();
        asked
    };
    let mut cannot_wait = scene.waiting(scene.exclusive());
    cannot_wait.ticket.as_mut().unwrap().max_waiters = 0;
    let asked = [
        elsewhere(scene.exclusive()),
        on(&permits, scene.shared()),
        elsewhere(scene.shared()),
        on(&permits, owned("worker", scene.exclusive())),
        on(&permits, scene.permits(2, 3)),
        on(&full, scene.exclusive()),
        on(&full, cannot_wait),
        elsewhere(scene.exclusive()),
    ];
    let told = acquire_each(&scene, &asked).await;
    let told: Vec<_> = told
        .iter()
        .map(|answer| match answer {
            Ok(Acquired::Granted(_)) => "granted",
            Ok(Acquired::Refused(_)) => "refused",
            Ok(Acquired::Full { .. }) => "full",
            Err(StoreError::ModeMismatch { .. }) => "mismatch",
            Err(StoreError::Deadlock { .. }) => "deadlock",
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told, ["granted", "mismatch", "granted", "deadlock", "granted", "refused", "full", "granted"]);
    for (asked, told) in asked.iter().zip(told) {
        assert_eq!(scene.is_held(asked).await, told == "granted");
    }
}

pub async fn a_batch_may_mix_modes(scene: Scene) {
    let names = [(); 3].map(|()| elsewhere(scene.exclusive()).hold.resource);
    let on = |name: usize, mut asked: Acquisition| {
        asked.hold.resource = names[name].clone();
        asked
    };
    let asked = [
        on(0, scene.shared()),
        on(1, scene.permits(2, 3)),
        on(2, scene.reentrant("worker")),
        on(0, scene.shared()),
        on(2, scene.reentrant("worker")),
        on(1, scene.permits(1, 3)),
        on(1, scene.permits(1, 3)),
        on(0, scene.exclusive()),
    ];
    let mut answers = acquire_each(&scene, &asked).await.into_iter().map(Result::unwrap).collect::<Vec<_>>();
    for kept_out in answers.split_off(6) {
        assert!(matches!(kept_out, Acquired::Refused(_)), "{kept_out:?}");
    }
    let holds = answers.iter().map(|answer| match answer {
        Acquired::Granted(grant) => grant.holds,
        other => panic!("{other:?}"),
    });
    assert_eq!(holds.collect::<Vec<_>>(), [1, 1, 1, 1, 2, 1]);
    let granted: Vec<_> = asked[..6].iter().collect();
    let left = Released::StillHeld { count: 1 };
    let freed = Released::Freed;
    assert_eq!(release_each(&scene, &granted).await, [freed, freed, left, freed, freed, freed]);
}

pub async fn each_of_a_batch_is_renewed_for_its_own_ttl(scene: Scene) {
    let asked = [scene.exclusive(), scene.shared(), scene.exclusive(), scene.permits(1, 2)].map(elsewhere);
    let [long, lost, short, permits] = &asked;
    acquire_each(&scene, &asked).await;
    assert_eq!(scene.release(lost).await, Released::Freed);
    let ttls = [3 * TTL, TTL, secs(3), 3 * TTL];
    let renewals = asked.iter().zip(ttls).map(|(asked, ttl)| Renewal::new(&asked.hold, ttl));
    let renewals: Vec<_> = renewals.collect();
    let renewed = scene.store.renew_each(&renewals).await.into_iter().map(Result::unwrap);
    let extended = Renewed::Extended;
    assert_eq!(renewed.collect::<Vec<_>>(), [extended, Renewed::NotHeld, extended, extended]);
    scene.pass(secs(5)).await;
    for (asked, held) in [(long, true), (lost, false), (short, false), (permits, true)] {
        assert_eq!(scene.is_held(asked).await, held);
    }
    scene.pass(TTL).await;
    assert!(scene.is_held(long).await && scene.is_held(permits).await);
}

pub async fn each_of_a_batch_is_released_and_hands_over(scene: Scene) {
    let mut notifications = scene.listen().await;
    let [here, there, closed] = [(); 3].map(|()| elsewhere(scene.exclusive()));
    let mut waiters = Vec::new();
    for holder in [&here, &there, &closed] {
        scene.granted(holder).await;
        let mut waiter = scene.waiting(scene.exclusive());
        waiter.hold.resource = holder.hold.resource.clone();
        scene.queued(&waiter).await;
        waiters.push(waiter);
    }
    let zero = Duration::ZERO;
    let releases =
        [(&there.hold, zero), (&closed.hold, secs(5)), (&scene.exclusive().hold, zero), (&here.hold, zero)];
    let released = scene.store.release_each(&releases).await.into_iter().map(Result::unwrap);
    let (freed, nothing) = (Released::Freed, Released::NotHeld { count: 0 });
    assert_eq!(released.collect::<Vec<_>>(), [freed, freed, nothing, freed]);
    // Two resources may be on two servers.
    let (mut told, mut expected) = (scene.told(&mut notifications).await, tokens([&waiters[1], &waiters[0]]));
    told.sort();
    expected.sort();
    assert_eq!(told, expected);
    assert_eq!(scene.queued(&waiters[2]).await, 0);
    scene.pass(secs(6)).await;
    scene.granted(&waiters[2]).await;
}

pub async fn a_batch_of_nothing_is_answered(scene: Scene) {
    assert!(scene.store.acquire_each(&[]).await.is_empty());
    assert!(scene.store.renew_each(&[]).await.is_empty());
    assert!(scene.store.release_each(&[]).await.is_empty());
}

pub async fn a_batch_may_be_large(scene: Scene) {
    const MANY: usize = 1_000;
    // A quorum has a twentieth of the TTL to come to a decision.
    let ttl = secs(600);
    let one = || elsewhere(Acquisition { ttl, ..scene.exclusive() });
    let mut asked: Vec<_> = (0..MANY).map(|_| one()).collect();
    // The last asks for what the first has.
    asked[MANY - 1].hold.resource = asked[0].hold.resource.clone();
    let answers = acquire_each(&scene, &asked).await;
    assert_eq!(answers.len(), MANY);
    for (at, answer) in answers.into_iter().enumerate() {
        match answer.unwrap() {
            Acquired::Granted(_) => assert!(at < MANY - 1),
            other => assert_eq!(at, MANY - 1, "{other:?}"),
        }
    }
    let renewals: Vec<_> = asked.iter().map(|asked| Renewal::new(&asked.hold, 2 * ttl)).collect();
    for (at, renewed) in scene.store.renew_each(&renewals).await.into_iter().enumerate() {
        let expected = if at < MANY - 1 { Renewed::Extended } else { Renewed::NotHeld };
        assert_eq!(renewed.unwrap(), expected);
    }
    let released = release_each(&scene, &asked.iter().collect::<Vec<_>>()).await;
    assert_eq!(released.iter().filter(|&&released| released == Released::Freed).count(), MANY - 1);
    assert!(!scene.is_held(&asked[0]).await);
}

async fn acquire_each(scene: &Scene, asked: &[Acquisition]) -> Vec<Result<Acquired, StoreError>> {
    let asked: Vec<_> = asked.iter().cloned().map(Arc::new).collect();
    scene.store.acquire_each(&asked).await
}

async fn release_each(scene: &Scene, asked: &[&Acquisition]) -> Vec<Released> {
    let releases: Vec<_> = asked.iter().map(|asked| (&asked.hold, Duration::ZERO)).collect();
    scene.store.release_each(&releases).await.into_iter().map(Result::unwrap).collect()
}
