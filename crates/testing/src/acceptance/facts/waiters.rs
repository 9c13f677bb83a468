//! The waiters as an inspection tells them, and the resources that somebody waits for.

use super::{inspection::at, *};
use leasehold::store::TOLD_AT_MOST;

fn prefixes<'a>(asked: impl IntoIterator<Item = &'a Acquisition>) -> Vec<TokenPrefix> {
    asked.into_iter().map(|asked| asked.hold.token.prefix()).collect()
}

async fn told(scene: &Scene) -> Vec<TokenPrefix> {
    scene.inspect().await.waiters.iter().map(|waiter| waiter.token).collect()
}

pub async fn waiters_are_told_in_the_order_of_the_queue(scene: Scene) {
    scene.granted(&scene.exclusive()).await;
    let asked = [owned("a b", scene.exclusive()), scene.shared(), scene.permits(2, 3), scene.exclusive()];
    let waiting = scene.line_up(asked).await;
    let told = scene.inspect().await.waiters;
    assert_eq!(told.iter().map(|waiter| waiter.token).collect::<Vec<_>>(), prefixes(&waiting));
    for (told, asked) in told.iter().zip(&waiting) {
        assert_eq!((told.mode, &told.owner), (asked.mode, &asked.hold.owner));
        assert_eq!(told.metadata, *asked.metadata);
    }
    let some = scene.store.inspect(&scene.name, 2).await.unwrap();
    assert_eq!((some.waiters.len(), some.waiting), (2, 4));
    assert_eq!(some.waiters[1].token, waiting[1].hold.token.prefix());
    assert_eq!(scene.store.inspect(&scene.name, 0).await.unwrap().waiters, []);
}

pub async fn who_does_not_wait_any_more_is_not_told(scene: Scene) {
    let holder = Acquisition { ttl: 10 * TICKET_TTL, ..scene.exclusive() };
    scene.granted(&holder).await;
    let [leaves, dies, stays, is_last] = scene.line_up([(); 4].map(|()| scene.exclusive())).await;
    assert_eq!(scene.release(&leaves).await, Released::NotHeld { count: 0 });
    assert_eq!(told(&scene).await, prefixes([&dies, &stays, &is_last]));
    scene.pass(TICKET_TTL / 2).await;
    scene.queued(&stays).await;
    scene.queued(&is_last).await;
    scene.pass(TICKET_TTL / 2 + secs(1)).await;
    assert_eq!(told(&scene).await, prefixes([&stays, &is_last]), "the ticket of one has expired");
    assert_eq!(scene.waiters().await, 2);
    assert_eq!(scene.release(&holder).await, Released::Freed);
    assert_eq!(told(&scene).await, prefixes([&is_last]), "the head was handed over what it waits for");
}

pub async fn of_many_waiters_the_first_are_told(scene: Scene) {
    scene.granted(&scene.exclusive()).await;
    let mut first = Vec::new();
    for number in 0..TOLD_AT_MOST + 20 {
        let asked = scene.waiting(scene.exclusive());
        scene.queued(&asked).await;
        if number < TOLD_AT_MOST {
            first.push(asked);
        }
    }
    let all = scene.store.inspect(&scene.name, usize::MAX).await.unwrap();
    assert_eq!(all.waiters.iter().map(|waiter| waiter.token).collect::<Vec<_>>(), prefixes(&first));
    assert_eq!(all.waiting as usize, TOLD_AT_MOST + 20);
}

pub async fn what_somebody_waits_for_is_listed(scene: Scene) {
    let beginning = unique("waited/");
    for (name, waits) in [("a", true), ("b", false), ("c", true)] {
        scene.granted(&at(&beginning, name, scene.exclusive())).await;
        if waits {
            scene.queued(&scene.waiting(at(&beginning, name, scene.shared()))).await;
        }
    }
    let mut waited_for = Walk::new(&beginning, 100);
    waited_for.names = Names::WaitedFor;
    let names = |names: &[&str]| -> Vec<ResourceName> {
        names.iter().map(|name| at(&beginning, name, scene.exclusive()).hold.resource).collect()
    };
    let listing = scene.store.list(&waited_for).await.unwrap();
    assert_eq!((listing.resources, listing.complete), (names(&["a", "c"]), true));
    let mut behind = waited_for.clone();
    behind.after = format!("{beginning}a").into_bytes();
    assert_eq!(scene.store.list(&behind).await.unwrap().resources, names(&["c"]));
    waited_for.limit = 1;
    let first = scene.store.list(&waited_for).await.unwrap();
    assert_eq!((first.resources, first.complete), (names(&["a"]), false));
}
