//! The numbers of permits: who has which, and for how long.

use super::*;

/// Longer than a fact takes on the busiest machine: whose time is over has no number any more.
pub(super) const LONG: Duration = secs(1_000);

impl Scene {
    pub(super) fn permit(&self, count: u32, of: u32) -> Acquisition {
        Acquisition { ttl: LONG, ..self.permits(count, of) }
    }

    async fn slot(&self, asked: &Acquisition) -> u32 {
        self.granted(asked).await.slot.expect("permits have a number")
    }

    /// Lets so many hold one permit each, which have the numbers from 0 on.
    async fn numbered(&self, count: u32, of: u32) -> Vec<Acquisition> {
        let all: Vec<_> = (0..count).map(|_| self.permit(1, of)).collect();
        for (number, asked) in (0..).zip(&all) {
            assert_eq!(self.slot(asked).await, number);
        }
        all
    }
}

pub async fn permits_have_the_lowest_number_that_is_free(scene: Scene) {
    let held = scene.numbered(4, 4).await;
    scene.refused(&scene.permit(1, 4)).await;
    for released in [2, 0] {
        assert_eq!(scene.release(&held[released]).await, Released::Freed);
    }
    let (lowest, next) = (scene.permit(1, 4), scene.permit(1, 4));
    assert_eq!((scene.slot(&lowest).await, scene.slot(&next).await), (0, 2));
    for held in [&held[1], &held[3], &lowest, &next] {
        assert_eq!(scene.release(held).await, Released::Freed);
    }
    assert_eq!(scene.slot(&scene.permit(1, 4)).await, 0);
}

pub async fn a_hold_of_several_permits_has_one_number(scene: Scene) {
    for (count, number) in [(2, 0), (1, 1), (3, 2)] {
        assert_eq!(scene.slot(&scene.permit(count, 6)).await, number);
    }
}

pub async fn other_modes_have_no_number(scene: Scene) {
    for asked in [scene.exclusive(), scene.shared(), scene.reentrant("a")] {
        let asked = elsewhere(asked);
        for _again in 0..2 {
            assert_eq!(scene.granted(&asked).await.slot, None);
        }
    }
}

pub async fn a_number_stays_with_its_hold(scene: Scene) {
    let held = scene.numbered(3, 3).await;
    assert_eq!(scene.release(&held[0]).await, Released::Freed);
    assert_eq!(scene.renew(&held[2]).await, Renewed::Extended);
    assert_eq!(scene.slot(&held[2]).await, 2);
    scene.pass(6 * LONG / 10).await;
    assert_eq!(scene.renew(&held[1]).await, Renewed::Extended);
    assert_eq!(scene.slot(&held[2]).await, 2);
    scene.pass(6 * LONG / 10).await;
    // Nobody has released, and the numbers of both are taken.
    assert_eq!(scene.slot(&scene.permit(1, 3)).await, 0);
    assert_eq!(scene.slot(&held[1]).await, 1);
}

pub async fn a_number_is_free_when_its_permits_are(scene: Scene) {
    let short = Acquisition { ttl: secs(100), ..scene.permit(1, 5) };
    let delayed = Acquisition { ttl: secs(100), lock_delay: secs(300), ..scene.permit(1, 5) };
    let cooled = scene.permit(1, 5);
    for (number, asked) in (0..).zip([&short, &delayed, &cooled]) {
        assert_eq!(scene.slot(asked).await, number);
    }
    assert_eq!(scene.release_closed_for(&cooled, secs(300)).await, Released::Freed);
    scene.pass(secs(200)).await;
    // Two of them keep a permit closed.
    assert_eq!(scene.slot(&scene.permit(1, 5)).await, 0);
    assert_eq!(scene.slot(&scene.permit(1, 5)).await, 3);
    scene.pass(secs(300)).await;
    assert_eq!(scene.slot(&scene.permit(1, 5)).await, 1);
    assert_eq!(scene.slot(&scene.permit(1, 5)).await, 2);
}

pub async fn a_hand_over_has_the_number_that_has_become_free(scene: Scene) {
    let held = scene.numbered(3, 3).await;
    let [first, second] = scene.line_up([scene.permit(1, 3), scene.permit(1, 3)]).await;
    for released in [1, 0] {
        assert_eq!(scene.release(&held[released]).await, Released::Freed);
    }
    // The numbers were given with the hand-overs, and are taken up in another order.
    assert_eq!(scene.slot(&second).await, 0);
    assert_eq!(scene.slot(&first).await, 1);
    assert_eq!(scene.slot(&held[2]).await, 2);
}

pub async fn permits_that_are_taken_together_have_numbers_and_those_taken_back_have_none(scene: Scene) {
    assert_eq!(scene.slot(&scene.permit(1, 2)).await, 0);
    let all = [Arc::new(scene.permit(1, 2)), Arc::new(elsewhere(scene.permit(1, 3)))];
    let granted = scene.store.acquire_all(&all).await.unwrap();
    let AcquiredAll::Granted(grants) = granted else { panic!("{granted:?}") };
    assert_eq!(grants.iter().map(|grant| grant.slot).collect::<Vec<_>>(), [Some(1), Some(0)]);
    assert_eq!(scene.release(&all[0]).await, Released::Freed);
    let mut kept_out = scene.exclusive();
    kept_out.hold.resource = all[1].hold.resource.clone();
    let refused = scene.store.acquire_all(&[Arc::new(scene.permit(1, 2)), Arc::new(kept_out)]).await.unwrap();
    assert!(matches!(refused, AcquiredAll::Refused { which: 1, .. }), "{refused:?}");
    assert_eq!(scene.slot(&scene.permit(1, 2)).await, 1);
}

pub async fn of_many_numbers_the_lowest_one_is_found(scene: Scene) {
    const MANY: u32 = 200;
    let held = scene.numbered(MANY, MANY).await;
    let freed = [150, 7, 199, 64, 8, 0, 127];
    for number in freed {
        assert_eq!(scene.release(&held[number]).await, Released::Freed);
    }
    let mut lowest_first = freed;
    lowest_first.sort_unstable();
    for number in lowest_first {
        assert_eq!(scene.slot(&scene.permit(1, MANY)).await as usize, number);
    }
}
