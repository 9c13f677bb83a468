//! The layers of the crate, and the folders in them: each imports only those before it.
//!
//! `core ◀ listeners · runtime ◀ store ◀ lease ◀ request ◀ manager · fenced ◀ leading · config ◀ web`

pub(crate) mod circles;
pub(crate) mod drawing;
pub(crate) mod paths;
pub(crate) mod rules;
pub(crate) mod surface;

use std::{
    fs,
    path::{Path, PathBuf},
};

use self::{
    circles::file_circles,
    drawing::Drawing,
    rules::{File, badly_kept, broken_rules, dependencies},
    surface::{Surface, surface, twice},
};

/// Every Rust file below a folder of the project, with its path from the root and its text.
fn rust_files(folder: &str) -> Vec<File> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let (mut folders, mut files) = (vec![root.join(folder)], Vec::<PathBuf>::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                // What `tests/long fuzz` has compiled.
                true if path.ends_with("tests/fuzz/targets/target") => {}
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    let relative = |path: &Path| path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
    files.iter().map(|path| (relative(path), fs::read_to_string(path).unwrap())).collect()
}

/// The packages with layers of files: the library, and those over it. Each with its files, whose paths are those inside of it.
fn packages() -> Vec<(String, Vec<File>)> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().file_name());
    let crates = crates.map(|name| format!("crates/{}/src", name.to_string_lossy()));
    let sources = std::iter::once("src".to_owned()).chain(crates);
    let with_files = |sources: String| {
        let package = sources.trim_end_matches("src").to_owned();
        let inside = |(path, text): File| (path[package.len()..].to_owned(), text);
        let files = rust_files(&sources).into_iter().map(inside).collect();
        (package, files)
    };
    sources.map(with_files).collect()
}

#[test]
fn the_sources_keep_every_rule() {
    let files = rust_files("src");
    assert!(files.len() > 100, "only {} files were found", files.len());
    let broken = broken_rules(&files);
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn the_packages_over_the_library_are_kept_as_well_as_it() {
    let files = rust_files("crates");
    assert!(files.len() > 50, "only {} files were found", files.len());
    let broken = badly_kept(&files);
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn an_import_that_is_turned_around_is_reported() {
    for (path, import, expected) in [
        ("src/core/engine/cohort.rs", "use crate::store::Store;", "core/engine/cohort: it imports store"),
        ("src/store/error.rs", "use crate::lease::Lease;", "store/error: it imports lease"),
        ("src/lease/handle.rs", "use crate::manager::LockManager;", "lease/handle: it imports manager"),
        (
            "src/store/redis/net/urls.rs",
            "use crate::store::redis::wire::keys;",
            "store/redis/net: it knows a folder that knows it",
        ),
    ] {
        let mut files = rust_files("src");
        let text = &mut files.iter_mut().find(|(known, _)| known == path).unwrap().1;
        text.push_str(import);
        let broken = broken_rules(&files);
        assert!(broken.iter().any(|line| line == expected), "{expected:?} is not in {broken:#?}");
    }
}

/// The count of public types. It fails for each new one, which CHANGELOG.md then has to tell.
#[test]
fn the_public_types_are_counted_and_have_one_path_each() {
    let plain = surface("", &["tls"]);
    let rooms = [
        ("", 89),
        ("election", 10),
        ("env", 7),
        ("fenced", 6),
        ("fenced/sql", 2),
        ("partitions", 6),
        ("schedule", 10),
        ("store", 27),
        ("trace", 4),
    ];
    assert_eq!(counts(&plain), rooms, "{plain:#?}");
    let whole = surface("", &["tls", "actix-web"]);
    assert_eq!(counts(&whole), [&rooms[..], &[("web", 6)]].concat(), "{whole:#?}");
    assert_eq!(twice(&whole), Vec::<&String>::new());
}

/// The same of the packages over the library.
#[test]
fn the_public_types_of_the_packages_are_counted() {
    for (package, rooms) in [
        ("crates/console", &[("", 3), ("observe", 6), ("view", 8)][..]),
        ("crates/doctor", &[("", 3)]),
        (
            "crates/testing",
            &[
                ("acceptance", 1),
                ("decorated", 3),
                ("history", 3),
                ("history/lines", 3),
                ("process", 2),
                ("servers", 7),
            ],
        ),
        ("crates/tuning", &[("", 2), ("tuner", 7)]),
    ] {
        let surface = surface(package, &[]);
        assert_eq!(counts(&surface), rooms, "{package}: {surface:#?}");
        assert_eq!(twice(&surface), Vec::<&String>::new());
    }
}

#[test]
fn no_files_know_each_other_in_a_circle() {
    let circles = packages().into_iter().flat_map(|(package, files)| {
        file_circles(&files).into_iter().map(move |circle| format!("{package}src: {circle}"))
    });
    let circles: Vec<String> = circles.collect();
    assert!(circles.is_empty(), "circles of files:\n{circles:#?}");
}

/// `tests/run --test project layers::the_rooms -- --nocapture` shows them.
#[test]
fn the_rooms_stand_on_few_floors() {
    let drawing = Drawing::of(&rust_files("src"));
    println!("{drawing}");
    let floors = drawing.0.keys().map(|room| drawing.floor(room)).max();
    assert!(drawing.0.len() <= 12 && floors <= Some(7), "\n{drawing}");
}

#[test]
fn files_that_know_each_other_are_reported() {
    let circles = |parent: &str, one: &str, two: &str| {
        let files = [("src/room/mod.rs", parent), ("src/room/one.rs", one), ("src/room/two.rs", two)];
        file_circles(&files.map(|(path, text)| (path.to_owned(), text.to_owned())))
    };
    let passes_on = "mod one; mod two; pub use self::{one::One, two::Two};";
    assert!(circles(passes_on, "use super::Two;", "").is_empty());
    assert!(circles(passes_on, "use super::Two;", "mod tests { use super::super::One; }").is_empty());
    assert!(circles(passes_on, "use super::Two;", "#[cfg(doc)] use super::One;").is_empty());
    let both = std::collections::BTreeSet::from(["room/one · room/two".to_owned()]);
    assert_eq!(circles(passes_on, "use super::Two;", "use super::one::One;"), both);
    let child = circles("mod one; use self::one::One; pub struct Own(One);", "use super::Own;", "");
    assert_eq!(child, std::collections::BTreeSet::from(["room · room/one".to_owned()]));
}

fn counts(surface: &Surface) -> Vec<(&str, usize)> {
    surface.iter().map(|(room, types)| (room.as_str(), types.len())).collect()
}

#[test]
fn tests_and_examples_say_what_they_are() {
    let mut files = ["tests", "examples"].into_iter().flat_map(rust_files);
    let silent = files.find(|(_, text)| !text.starts_with("//! "));
    assert_eq!(silent.map(|(path, _)| path), None, "does not open with a line of //!");
}

#[test]
fn the_dependencies_are_read_from_the_manifest() {
    for known in ["actix", "redis", "tokio_util", "rustix"] {
        assert!(dependencies().iter().any(|name| name == known), "{known} is not in {:?}", dependencies());
    }
}

/// What is found in made-up files.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let file = |(path, code): &(&str, &str)| ((*path).to_owned(), format!("//! A made-up file.\n{code}"));
    broken_rules(&files.iter().map(file).collect::<Vec<_>>())
}

#[test]
fn what_is_allowed_is_not_reported() {
    let allowed = [
        ("src/core/name.rs", "use std::fmt; use super::Invalid; use crate::core::Moment;"),
        ("src/core/name.rs", "mod tests { use super::*; use super::super::Invalid; }"),
        (
            "src/store/mod.rs",
            "mod redis; pub use self::{error::E, redis::RedisStore}; use crate::core::Mode;",
        ),
        (
            "src/store/redis/keys.rs",
            "use redis::Client; use super::super::Store; use crate::{core::A, runtime::B};",
        ),
        ("src/manager/mod.rs", "use actix::Actor; use crate::{store::{Store, StoreError}, runtime::A};"),
        ("src/web/mod.rs", "use actix_web::Error; use crate::manager::with_lock::WithLock;"),
        ("src/config/mod.rs", "use crate::{request::Settings, store::RedisOptions}; /* crate::web */"),
        ("src/web/mod.rs", "macro_rules! m { () => { $crate::m! { $crate::web::f() } } }"),
        ("src/lib.rs", "mod config; mod lease; pub use crate::config::Config; pub use self::lease::Lease;"),
        (
            "src/store/memory.rs",
            "// crate::lease is not imported\nconst A: &str = \"crate::lease \\\" dbg!()\";",
        ),
    ];
    for file in allowed {
        assert_eq!(found(&[file]), Vec::<String>::new(), "{file:?}");
    }
}

#[test]
fn what_is_forbidden_is_reported() {
    let forbidden = [
        ("src/core/name.rs", "use crate::runtime::A;", "core/name: it imports runtime::A"),
        ("src/core/name.rs", "use super::super::store::Store;", "core/name: it imports store::Store"),
        ("src/core/mod.rs", "use super::store::Store;", "core: it imports store::Store"),
        ("src/core/name.rs", "use tokio::time;", "src/core/name.rs: it uses the crate tokio"),
        (
            "src/core/name.rs",
            "#[derive(thiserror::Error)] struct E;",
            "src/core/name.rs: it uses the crate thiserror",
        ),
        (
            "src/core/name.rs",
            "fn f() { println!(\"{}\", serde_json::to_string(&1)) }",
            "src/core/name.rs: it uses the crate serde_json",
        ),
        (
            "src/runtime/env.rs",
            "use crate::{core::Moment, store::Store};",
            "runtime/env: it imports store::Store",
        ),
        ("src/store/memory.rs", "use {crate::lease::Lease};", "store/memory: it imports lease::Lease"),
        (
            "src/store/memory.rs",
            "fn f() { let _: crate::config::Config; }",
            "store/memory: it imports config::Config",
        ),
        (
            "src/store/memory.rs",
            "fn f() { g!(crate::config::Config) }",
            "store/memory: it imports config::Config",
        ),
        ("src/store/memory.rs", "use actix_rt::spawn;", "src/store/memory.rs: it uses the crate actix_rt"),
        ("src/store/memory.rs", "use crate::Lease;", "store/memory: crate::Lease does not name its layer"),
        ("src/store/memory.rs", "use crate::*;", "store/memory: crate::* does not name its layer"),
        ("src/store/quorum.rs", "use ::redis::Client;", "src/store/quorum.rs: it uses the crate redis"),
        ("src/lease/shared.rs", "use metrics::Counter;", "src/lease/shared.rs: it uses the crate metrics"),
        ("src/manager/mod.rs", "use redis as r;", "src/manager/mod.rs: it uses the crate redis"),
        ("src/fenced/mod.rs", "use actix_web::Error;", "src/fenced/mod.rs: it uses the crate actix_web"),
        ("src/config/mod.rs", "use crate::web::Locks;", "config: it imports web::Locks"),
        (
            "src/leading/schedule/mod.rs",
            "use crate::web::health;",
            "leading/schedule: it imports web::health",
        ),
        ("src/leading/election/mod.rs", "use crate::web::Locks;", "leading/election: it imports web::Locks"),
        ("src/runtime/mod.rs", "use crate::listeners::A;", "runtime: it imports listeners::A"),
        ("src/store/memory.rs", "fn f() { dbg!(1); }", "src/store/memory.rs: dbg! is left in it"),
        (
            "src/config/mod.rs",
            "fn f() { std::unimplemented!() }",
            "src/config/mod.rs: unimplemented! is left in it",
        ),
        ("src/odd.rs", "use crate::core::A;", "odd is not a known layer"),
        ("src/core/name.rs", "use self::super::super::runtime::A;", "core/name: it imports runtime::A"),
        ("src/runtime/env.rs", "extern crate redis as r;", "src/runtime/env.rs: it uses the crate redis"),
        (
            "src/store/error.rs",
            "#[error(\"{}\", crate::lease::name(x))] struct E;",
            "store/error: it imports lease::name",
        ),
        (
            "src/core/name.rs",
            "#[cfg_attr(test, derive(thiserror::Error))] struct E;",
            "src/core/name.rs: it uses the crate thiserror",
        ),
        (
            "src/core/name.rs",
            "macro_rules! m { () => { use crate::{core::A, runtime::B}; } }",
            "core/name: it imports runtime::B",
        ),
        (
            "src/store/memory.rs",
            "macro_rules! m { () => { crate::lease::m!() } }",
            "store/memory: it imports lease::m",
        ),
        (
            "src/store/memory.rs",
            "macro_rules! m { () => { crate::LIMIT != 1 } }",
            "store/memory: crate::LIMIT does not name its layer",
        ),
        (
            "src/runtime/env.rs",
            "fn f() { tokio::select! { _ = f() => { dbg!(1); } } }",
            "src/runtime/env.rs: dbg! is left in it",
        ),
    ];
    for (path, code, expected) in forbidden {
        assert_eq!(found(&[(path, code)]), [expected], "{path}: {code}");
    }
}

#[test]
fn folders_that_know_each_other_are_reported() {
    let ring = |back: &'static str| {
        found(&[
            ("src/store/a/mod.rs", "use crate::store::b::inner::X;"),
            ("src/store/a/inner.rs", ""),
            ("src/store/b/inner.rs", "use crate::store::c::inner::X;"),
            ("src/store/c/inner.rs", back),
        ])
    };
    assert_eq!(ring(""), Vec::<String>::new());
    let circle = ["store/a", "store/b", "store/c"].map(|it| format!("{it}: it knows a folder that knows it"));
    assert_eq!(ring("use crate::store::a::inner::X;"), circle);
}

#[test]
fn a_file_that_is_long_or_does_not_say_what_it_is_is_reported() {
    let wrong = [
        "use std::fmt;",
        "",
        "//! no capital.",
        "//! No full stop",
        "//! Two sentences. In one line.",
        "// A comment.",
    ];
    for text in wrong {
        let broken = broken_rules(&[("src/runtime/env.rs".to_owned(), text.to_owned())]);
        assert_eq!(broken, ["src/runtime/env.rs: its first line is not one sentence after //!"], "{text}");
    }
    let long = format!("//! Long, e.g. `std::fmt` by heart.\n{}", "\n".repeat(350));
    assert_eq!(
        broken_rules(&[("src/runtime/env.rs".to_owned(), long)]),
        ["src/runtime/env.rs: it has 351 lines, more than 350"]
    );
}
