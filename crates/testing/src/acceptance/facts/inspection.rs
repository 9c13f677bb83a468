//! The view from outside, and the release by force.

use super::*;

pub async fn a_free_resource_has_no_holders(scene: Scene) {
    assert_eq!(scene.inspect().await, Inspection::default());
    assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 0);
}

pub async fn holders_are_shown_in_order_of_their_end(scene: Scene) {
    for ttl in [30, 10, 40, 20] {
        scene.granted(&Acquisition { ttl: secs(ttl), ..scene.permits(1, 4) }).await;
    }
    let all = scene.inspect().await;
    assert_eq!(all.total, 4);
    for (holder, ttl) in all.holders.iter().zip([10, 20, 30, 40]) {
        assert_about(holder.remaining, secs(ttl));
        assert_eq!(holder.mode, scene.permits(1, 4).mode);
    }
    let some = scene.store.inspect(&scene.name, 2).await.unwrap();
    assert_eq!(some.total, 4);
    assert_eq!(some.holders.len(), 2);
    assert_about(some.holders[1].remaining, secs(20));
    let none = scene.store.inspect(&scene.name, 0).await.unwrap();
    assert_eq!((none.holders.len(), none.total), (0, 4));
}

pub async fn owner_and_metadata_read_back_whatever_their_bytes(scene: Scene) {
    let ugly = "a b\"c\\d\0e\nf\r\tg%41{h}*é☃ \u{1f512}";
    let metadata = BTreeMap::from([
        (String::new(), String::new()),
        (ugly.to_owned(), ugly.to_owned()),
        ("long".to_owned(), "x".repeat(10_000)),
        ("number".to_owned(), "-1 s 2 x".to_owned()),
    ]);
    for asked in [scene.exclusive(), scene.shared(), scene.permits(2, 3)] {
        let asked = Acquisition { metadata: metadata.clone().into(), ..owned(ugly, asked) };
        let fence = scene.fence(&asked).await;
        let holder = &scene.inspect().await.holders[0];
        assert_eq!(holder.owner, asked.hold.owner);
        assert_eq!(holder.metadata, metadata);
        assert_eq!(holder.fence, Some(fence));
        assert_eq!(holder.mode, asked.mode);
        assert_eq!(holder.state, HolderState::Holding);
        assert_eq!(scene.release(&asked).await, Released::Freed);
    }
}

pub async fn a_forced_release_takes_from_all_and_opens(scene: Scene) {
    let readers = [scene.shared(), scene.shared(), scene.shared()];
    for reader in &readers {
        scene.granted(reader).await;
    }
    assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 3);
    for reader in &readers {
        assert!(!scene.is_held(reader).await);
        assert_eq!(scene.renew(reader).await, Renewed::NotHeld);
    }
    let next = scene.reentrant("worker");
    scene.granted(&next).await;
    assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 1);
    assert_eq!(scene.release(&next).await, Released::NotHeld { count: 0 });
    assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 0);
}

pub async fn a_forced_release_opens_what_is_closed(scene: Scene) {
    for asked in [scene.exclusive(), scene.shared(), scene.permits(2, 2)] {
        scene.granted(&asked).await;
        assert_eq!(scene.release_closed_for(&asked, secs(60)).await, Released::Freed);
        assert_eq!(scene.store.force_release(&scene.name).await.unwrap(), 1);
        assert_eq!(scene.inspect().await.total, 0);
    }
}

pub async fn a_list_has_what_is_not_free_in_order_of_name(scene: Scene) {
    let beginning = unique("list/");
    let named = |asked: Acquisition, name: &str| at(&beginning, name, asked);
    let closed = named(scene.exclusive(), "c");
    let freed = named(scene.exclusive(), "e");
    for asked in [
        named(scene.permits(1, 2), "d"),
        named(scene.exclusive(), "a"),
        named(scene.shared(), "b"),
        closed.clone(),
        freed.clone(),
    ] {
        scene.granted(&asked).await;
    }
    assert_eq!(scene.release_closed_for(&closed, secs(60)).await, Released::Freed);
    assert_eq!(scene.release(&freed).await, Released::Freed);

    let listing = scene.store.list(&Walk::new(beginning.as_bytes(), 100)).await.unwrap();
    let names: Vec<_> = ["a", "b", "c", "d"].map(|name| named(scene.exclusive(), name).hold.resource).into();
    assert_eq!(listing.resources, names);
    assert!(listing.complete);
}

pub async fn a_list_is_bounded_and_says_so(scene: Scene) {
    let beginning = unique("list/");
    for name in ["a", "b", "c"] {
        scene.granted(&at(&beginning, name, scene.exclusive())).await;
    }
    let some = scene.store.list(&Walk::new(beginning.as_bytes(), 2)).await.unwrap();
    assert_eq!(some.resources.len(), 2);
    assert!(!some.complete);
    let all = scene.store.list(&Walk::new(beginning.as_bytes(), 3)).await.unwrap();
    assert_eq!(all.resources.len(), 3);
    assert!(all.complete);
}

pub async fn a_list_goes_on_behind_a_name(scene: Scene) {
    let beginning = unique("list/");
    let names = ["a", "a\0", "b", "b/1", "c"];
    for name in names {
        scene.granted(&at(&beginning, name, scene.exclusive())).await;
    }
    let (mut walk, mut found) = (Walk::new(&beginning, 2), Vec::new());
    for (page, complete) in [(2, false), (2, false), (1, true)] {
        let listing = scene.store.list(&walk).await.unwrap();
        assert_eq!((listing.resources.len(), listing.complete), (page, complete));
        assert!(listing.walked >= names.len() as u64, "{listing:?}");
        walk.after = listing.resources[page - 1].as_bytes().to_vec();
        found.extend(listing.resources);
    }
    let expected = names.map(|name| at(&beginning, name, scene.exclusive()).hold.resource);
    assert_eq!(found, expected);
    let listing = scene.store.list(&walk).await.unwrap();
    assert_eq!((listing.resources.len(), listing.complete), (0, true), "nothing is behind the last");
}

pub async fn a_list_forgets_what_ended(scene: Scene) {
    let beginning = unique("list/");
    for (name, asked) in [("a", scene.exclusive()), ("b", scene.shared()), ("c", scene.permits(1, 2))] {
        scene.granted(&at(&beginning, name, asked)).await;
    }
    scene.pass(TTL + secs(1)).await;
    let listing = scene.store.list(&Walk::new(beginning.as_bytes(), 100)).await.unwrap();
    assert_eq!((listing.resources.len(), listing.complete), (0, true));
}

pub(super) fn at(beginning: &str, name: &str, mut asked: Acquisition) -> Acquisition {
    asked.hold.resource = ResourceName::new(format!("{beginning}{name}")).unwrap();
    asked
}
