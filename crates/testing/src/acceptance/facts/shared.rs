//! Readers.

use super::*;

pub async fn readers_hold_together_and_a_writer_waits_for_the_last(scene: Scene) {
    let readers = [scene.shared(), scene.shared(), scene.shared()];
    let long = Acquisition { ttl: secs(20), ..scene.shared() };
    scene.granted(&long).await;
    for reader in &readers {
        scene.granted(reader).await;
    }
    let refusal = scene.refused(&scene.exclusive()).await;
    assert_eq!(refusal.by.token, long.hold.token.prefix());
    assert_eq!(refusal.by.mode, Mode::Shared);
    assert_about(refusal.remaining, secs(20));

    assert_eq!(scene.release(&long).await, Released::Freed);
    for reader in &readers {
        assert_about(scene.refused(&scene.exclusive()).await.remaining, TTL);
        assert_eq!(scene.release(reader).await, Released::Freed);
    }
    scene.granted(&scene.exclusive()).await;
}

pub async fn a_writer_waits_for_the_lock_delay_of_the_last_reader(scene: Scene) {
    scene.granted(&Acquisition { lock_delay: secs(30), ..scene.shared() }).await;
    scene.granted(&Acquisition { ttl: secs(20), ..scene.shared() }).await;
    let refusal = scene.refused(&scene.exclusive()).await;
    assert_about(refusal.by.remaining, TTL);
    assert_about(refusal.remaining, TTL + secs(30));
}

pub async fn each_reader_has_its_own_fence(scene: Scene) {
    let first = scene.fence(&scene.shared()).await;
    let second = scene.fence(&scene.shared()).await;
    assert!(second > first);
}

pub async fn a_reader_that_died_ages_out_alone(scene: Scene) {
    let (alive, dead) = (scene.shared(), Acquisition { ttl: secs(4), ..scene.shared() });
    scene.granted(&alive).await;
    scene.granted(&dead).await;
    scene.pass(secs(5)).await;
    assert!(scene.is_held(&alive).await);
    assert!(!scene.is_held(&dead).await);
    assert_eq!(scene.renew(&dead).await, Renewed::NotHeld);
    assert_eq!(scene.release(&dead).await, Released::NotHeld { count: 0 });
    assert_eq!(scene.inspect().await.total, 1);
    assert_eq!(scene.release(&alive).await, Released::Freed);
    scene.granted(&scene.exclusive()).await;
}

pub async fn a_repeated_reader_is_one_reader(scene: Scene) {
    let reader = scene.shared();
    let grant = scene.granted(&reader).await;
    assert_eq!(scene.granted(&reader).await, grant);
    assert_eq!(scene.release(&reader).await, Released::Freed);
    assert_eq!(scene.release(&reader).await, Released::NotHeld { count: 0 });
    scene.granted(&scene.exclusive()).await;
}

pub async fn an_owner_may_read_twice(scene: Scene) {
    let (first, second) = (owned("worker", scene.shared()), owned("worker", scene.shared()));
    assert_eq!(scene.granted(&first).await.holds, 1);
    assert_eq!(scene.granted(&second).await.holds, 2);
    assert_eq!(scene.granted(&owned("another", scene.shared())).await.holds, 1);
    assert_eq!(scene.release(&first).await, Released::StillHeld { count: 1 });
    assert_eq!(scene.release(&first).await, Released::NotHeld { count: 1 });
    assert_eq!(scene.release(&second).await, Released::Freed);
}

pub async fn readers_and_permits_do_not_mix(scene: Scene) {
    for (holder, other) in [(scene.shared(), scene.permits(1, 2)), (scene.permits(1, 2), scene.shared())] {
        scene.granted(&holder).await;
        let StoreError::ModeMismatch { asked, used } = scene.failed(&other).await else {
            panic!("not a mismatch")
        };
        assert_eq!((asked, used), (other.mode, holder.mode));
        assert_eq!(scene.release(&holder).await, Released::Freed);
    }
}

pub async fn a_thousand_readers_hold_at_once(scene: Scene) {
    let ttl = secs(60);
    let readers: Vec<_> = (0..1_000).map(|_| Acquisition { ttl, ..scene.shared() }).collect();
    for reader in &readers {
        scene.granted(reader).await;
    }
    let some = scene.store.inspect(&scene.name, 10).await.unwrap();
    assert_eq!((some.holders.len(), some.total), (10, 1_000));
    scene.refused(&scene.exclusive()).await;
    for reader in &readers {
        assert_eq!(scene.renew(reader).await, Renewed::Extended);
    }
    for reader in &readers {
        assert_eq!(scene.release(reader).await, Released::Freed);
    }
    assert_eq!(scene.inspect().await.total, 0);
    scene.granted(&scene.exclusive()).await;
}
