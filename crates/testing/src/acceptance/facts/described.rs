//! Metadata that a renewal replaces.

use super::*;

/// Renews for the TTL of the acquisition, with this metadata.
async fn describe(scene: &Scene, asked: &Acquisition, metadata: &BTreeMap<String, String>) -> Renewed {
    let metadata = Some(Arc::new(metadata.clone()));
    let renewals = [Renewal { metadata, ..Renewal::new(&asked.hold, asked.ttl) }];
    scene.store.renew_each(&renewals).await.remove(0).unwrap()
}

fn step(number: usize) -> BTreeMap<String, String> {
    BTreeMap::from([("step".to_owned(), number.to_string())])
}

/// Returns the metadata of each holder, by its token.
async fn metadata(scene: &Scene) -> BTreeMap<TokenPrefix, BTreeMap<String, String>> {
    scene.inspect().await.holders.into_iter().map(|holder| (holder.token, holder.metadata)).collect()
}

pub async fn a_renewal_replaces_the_metadata_and_nothing_else(scene: Scene) {
    let ugly = "a b\"c\\d\0e\nf\r\tg%41{h}*%d é☃ \u{1f512} 9 x 1 0/1 ";
    let ugly = BTreeMap::from([(ugly.to_owned(), ugly.to_owned())]);
    let lock_delay = secs(2);
    for asked in [
        scene.exclusive(),
        Acquisition { lock_delay, ..scene.exclusive() },
        scene.reentrant("wor ker"),
        owned("reader", scene.shared()),
        Acquisition { lock_delay, ..scene.permits(2, 3) },
    ] {
        let asked = Acquisition { metadata: step(0).into(), ..asked };
        scene.granted(&asked).await;
        let before = scene.inspect().await.holders.remove(0);
        for metadata in [&ugly, &step(7), &BTreeMap::new(), &step(8)] {
            assert_eq!(describe(&scene, &asked, metadata).await, Renewed::Extended);
            let holder = scene.inspect().await.holders.remove(0);
            assert_eq!(&holder.metadata, metadata, "{:?}", asked.mode);
            let rest = |holder: &Holder| (holder.token, holder.mode, holder.state, holder.owner.clone());
            assert_eq!(rest(&holder), rest(&before));
            assert!(before.fence.is_none() || holder.fence == before.fence, "{holder:?} after {before:?}");
            assert_about(holder.remaining, TTL);
        }
        assert_eq!(scene.renew(&asked).await, Renewed::Extended);
        assert_eq!(scene.granted(&asked).await.holds, 1);
        assert_eq!(
            scene.inspect().await.holders[0].metadata,
            step(8),
            "who tells nothing new changes nothing"
        );
        assert_eq!(scene.release(&asked).await, Released::Freed);
    }
}

pub async fn each_of_several_holders_is_described_alone(scene: Scene) {
    for asked in [
        [scene.reentrant("worker"), scene.reentrant("worker"), scene.reentrant("worker")],
        [scene.shared(), scene.shared(), scene.shared()],
        [scene.permits(1, 3), scene.permits(1, 3), scene.permits(1, 3)],
    ] {
        for asked in &asked {
            scene.granted(asked).await;
        }
        let told = [(0, Some(1)), (1, None), (2, Some(2)), (2, Some(3)), (2, None)];
        let renewals = told.map(|(which, told): (usize, Option<usize>)| Renewal {
            metadata: told.map(|number| Arc::new(step(number))),
            ..Renewal::new(&asked[which].hold, TTL)
        });
        let renewed = scene.store.renew_each(&renewals).await;
        assert!(renewed.iter().all(|it| matches!(it, Ok(Renewed::Extended))), "{renewed:?}");
        let expected = [step(1), BTreeMap::clone(&asked[1].metadata), step(3)];
        let tokens = asked.iter().map(|asked| asked.hold.token.prefix());
        assert_eq!(metadata(&scene).await, tokens.zip(expected).collect());
        for asked in &asked {
            assert!(!matches!(scene.release(asked).await, Released::NotHeld { .. }));
        }
    }
}

pub async fn who_does_not_hold_describes_nobody(scene: Scene) {
    let holder = Acquisition { metadata: step(0).into(), ..scene.exclusive() };
    scene.granted(&holder).await;
    assert_eq!(describe(&scene, &scene.exclusive(), &step(1)).await, Renewed::NotHeld);
    assert_eq!(scene.inspect().await.holders[0].metadata, step(0));
    assert_eq!(scene.release(&holder).await, Released::Freed);
    assert_eq!(describe(&scene, &holder, &step(1)).await, Renewed::NotHeld);
    assert_eq!(scene.inspect().await.total, 0);
    for asked in [scene.exclusive(), scene.shared(), scene.permits(2, 2)] {
        let asked = Acquisition { metadata: step(0).into(), ..asked };
        scene.granted(&asked).await;
        assert_eq!(scene.release_closed_for(&asked, secs(5)).await, Released::Freed);
        assert_eq!(describe(&scene, &asked, &step(1)).await, Renewed::NotHeld);
        assert_eq!(scene.inspect().await.holders[0].metadata, step(0));
        scene.pass(secs(6)).await;
    }
}

pub async fn a_described_holder_is_waited_for_as_before(scene: Scene) {
    for holder in [scene.exclusive(), scene.shared(), scene.reentrant("worker")] {
        scene.granted(&holder).await;
        let [first, second] = scene.line_up([scene.exclusive(), scene.exclusive()]).await;
        for number in 1..=2 {
            assert_eq!(describe(&scene, &holder, &step(number)).await, Renewed::Extended);
            assert_eq!(scene.inspect().await.holders[0].metadata, step(number));
        }
        assert_eq!(scene.queued(&second).await, 1);
        assert_eq!(scene.release(&holder).await, Released::Freed);
        for waiter in [first, second] {
            scene.granted(&waiter).await;
            assert_eq!(describe(&scene, &waiter, &step(3)).await, Renewed::Extended);
            assert_eq!(scene.inspect().await.holders[0].metadata, step(3));
            assert_eq!(scene.release(&waiter).await, Released::Freed);
        }
    }
}
