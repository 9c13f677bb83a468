//! The needs of a quorum: fences that can be raised, and a name for each life of a store.

use super::*;

fn raised_by(fence: Fence, by: u64) -> Fence {
    Fence::new(fence.get() + by)
}

async fn raise(scene: &Scene, raises: &[(&Acquisition, Fence)]) -> Vec<bool> {
    let raises: Vec<_> = raises.iter().map(|(asked, fence)| (&asked.hold, *fence)).collect();
    scene.node().raise_fences(&raises).await.into_iter().map(Result::unwrap).collect()
}

/// More than the clock of a store moves during a test.
const FAR: u64 = 3_600_000_000;

pub async fn a_raised_fence_is_that_of_its_hold_and_later_ones_are_larger(scene: Scene) {
    for asked in [scene.exclusive(), scene.shared(), scene.permits(2, 3), scene.reentrant("worker")] {
        let raised = raised_by(scene.fence(&asked).await, FAR);
        scene.pass(secs(4)).await;
        assert_eq!(raise(&scene, &[(&asked, raised)]).await, [true]);
        let holder = scene.inspect().await.holders.remove(0);
        assert_eq!(holder.fence, Some(raised));
        assert_about(holder.remaining, secs(6));
        assert_eq!(scene.fence(&asked).await, raised, "a repeat");
        assert_eq!(scene.renew(&asked).await, Renewed::Extended);
        assert_eq!(scene.release(&asked).await, Released::Freed);
        let next = scene.exclusive();
        assert!(scene.fence(&next).await > raised);
        assert_eq!(scene.release(&next).await, Released::Freed);
    }
}

pub async fn who_re_enters_has_the_raised_fence(scene: Scene) {
    let holds = [(); 3].map(|()| scene.reentrant("worker"));
    let mut raised = scene.fence(&holds[0]).await;
    for (holding, next) in holds.iter().zip(&holds[1..]) {
        raised = raised_by(raised, FAR);
        assert_eq!(raise(&scene, &[(holding, raised)]).await, [true]);
        assert_eq!(scene.fence(next).await, raised);
    }
}

pub async fn who_does_not_hold_raises_nothing(scene: Scene) {
    let (holder, closed) = (scene.exclusive(), elsewhere(scene.exclusive()));
    let fence = scene.fence(&holder).await;
    scene.granted(&closed).await;
    assert_eq!(scene.release_closed_for(&closed, secs(5)).await, Released::Freed);
    let stranger = scene.exclusive();
    let raised = raised_by(fence, FAR);
    assert_eq!(
        raise(&scene, &[(&stranger, raised), (&elsewhere(stranger.clone()), raised)]).await,
        [false, false]
    );
    assert_eq!(raise(&scene, &[(&closed, raised)]).await, [false]);
    let reader = elsewhere(scene.shared());
    scene.granted(&reader).await;
    scene.pass(TTL + secs(1)).await;
    assert_eq!(raise(&scene, &[(&holder, raised), (&reader, raised)]).await, [false, false]);
    assert!(scene.fence(&stranger).await < raised);
}

pub async fn each_of_a_batch_is_raised_to_its_own_fence(scene: Scene) {
    let asked = [scene.shared(), scene.shared(), elsewhere(scene.exclusive())];
    let mut raises = Vec::new();
    for (asked, by) in asked.iter().zip([3, 1, 2]) {
        raises.push((asked, raised_by(scene.fence(asked).await, by * FAR)));
    }
    let stranger = scene.shared();
    raises.insert(1, (&stranger, Fence::new(u64::from(u32::MAX))));
    assert_eq!(raise(&scene, &raises).await, [true, false, true, true]);
    raises.remove(1);
    for (asked, raised) in &raises {
        assert_eq!(scene.fence(asked).await, *raised);
    }
    assert!(scene.fence(&scene.shared()).await > raises[0].1);
    assert!(raise(&scene, &[]).await.is_empty());
}

pub async fn a_life_keeps_its_name(scene: Scene) {
    let first = scene.node().incarnation().await.unwrap();
    assert!(!first.id.is_empty() && !first.durable, "{first:?}");
    scene.granted(&scene.exclusive()).await;
    let later = scene.node().incarnation().await.unwrap();
    assert!(later.id == first.id && later.age >= first.age, "{first:?} {later:?}");
}
