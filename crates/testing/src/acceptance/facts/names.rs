//! Names of any bytes.

use super::*;

/// Names that would break out of a key, match as a pattern, or run into each other, if they were used as they are.
fn strange_names() -> Vec<ResourceName> {
    let own = unique("");
    let mut names: Vec<Vec<u8>> = [
        "", "{}", "}{", "{a}", "*", "?", "[a-z]", "\\*", "%7B", "{", ":h", ":d", " ", "\n", "\0", "\u{2603}",
    ]
    .iter()
    .map(|tail| format!("{own}{tail}").into_bytes())
    .collect();
    names.push([own.as_bytes(), &[0xff, 0xfe, 0x00, 0x80]].concat());
    names.push(format!("{{{own}").into_bytes());
    names.push(format!("}}{own}").into_bytes());
    for filler in *b"x{\0\xff" {
        let mut long = own.clone().into_bytes();
        long.resize(512, filler);
        names.push(long);
    }
    names.into_iter().map(|name| ResourceName::new(name).unwrap()).collect()
}

pub async fn strange_names_are_locks_of_their_own(scene: Scene) {
    let mut holders = Vec::new();
    for resource in strange_names() {
        let mut asked = scene.exclusive();
        asked.hold.resource = resource;
        scene.granted(&asked).await;
        holders.push(asked);
    }
    for asked in &holders {
        assert!(scene.is_held(asked).await);
        assert_eq!(scene.store.inspect(&asked.hold.resource, 10).await.unwrap().total, 1);
    }
    for asked in &holders {
        assert_eq!(scene.release(asked).await, Released::Freed, "{}", asked.hold.resource);
    }
}

pub async fn strange_names_work_with_every_verb_and_mode(scene: Scene) {
    for resource in strange_names() {
        let at = |mut asked: Acquisition| {
            asked.hold.resource = resource.clone();
            asked
        };
        for (first, second) in [
            (scene.reentrant("{w}"), scene.reentrant("{w}")),
            (scene.shared(), scene.shared()),
            (scene.permits(1, 2), scene.permits(1, 2)),
        ] {
            let (first, second) = (at(first), at(second));
            scene.granted(&first).await;
            scene.granted(&second).await;
            assert_eq!(scene.renew(&first).await, Renewed::Extended);
            assert!(scene.is_held(&second).await);
            let listing = scene.store.list(&Walk::new(resource.as_bytes(), 100)).await.unwrap();
            assert_eq!(listing.resources, std::slice::from_ref(&resource));
            assert_eq!(scene.store.force_release(&resource).await.unwrap(), 2);
        }
    }
}

pub async fn a_prefix_is_no_pattern(scene: Scene) {
    let beginning = unique("");
    for name in ["a*b", "axb", "a{b", "[x]"] {
        let mut asked = scene.exclusive();
        asked.hold.resource = ResourceName::new(format!("{beginning}{name}")).unwrap();
        scene.granted(&asked).await;
    }
    for (prefix, found) in [("a", 3), ("a*", 1), ("a?", 0), ("a{", 1), ("[x]", 1), ("[a]", 0), ("", 4)] {
        let prefix = format!("{beginning}{prefix}");
        let listing = scene.store.list(&Walk::new(prefix.as_bytes(), 100)).await.unwrap();
        assert_eq!((listing.resources.len(), listing.complete), (found, true), "{prefix}");
    }
}
