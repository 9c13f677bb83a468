//! The layers of the crate, checked in its text: each imports only those left of it.
//!
//! `protocol ◀ world ◀ store ◀ actor ◀ config · web · election ◀ doctor ◀ bin`

mod layers {
    pub(crate) mod rules;
    pub(crate) mod text;
}

use std::{
    fs,
    path::{Path, PathBuf},
};

use layers::rules::{broken_rules, dependencies};

/// Every Rust file below a folder of the project, with its path from the root and its text.
fn rust_files(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut folders, mut files) = (vec![root.join(folder)], Vec::<PathBuf>::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
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

#[test]
fn the_sources_keep_every_rule() {
    let files = rust_files("src");
    assert!(files.len() > 10, "only {} files were found", files.len());
    let broken: Vec<String> = files.iter().flat_map(|(path, text)| broken_rules(path, text)).collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
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

/// What is found in a made-up file, without the path in front of it.
fn found(path: &str, code: &str) -> Vec<String> {
    let broken = broken_rules(path, &format!("//! A made-up file.\n{code}"));
    broken.into_iter().map(|line| line.strip_prefix(&format!("{path}: ")).unwrap().to_owned()).collect()
}

#[test]
fn what_is_allowed_is_not_reported() {
    let allowed = [
        ("src/protocol/name.rs", "use std::fmt; use super::InvalidValue; use crate::protocol::Moment;"),
        ("src/protocol/name.rs", "mod tests { use super::*; use super::super::InvalidValue; }"),
        (
            "src/store/mod.rs",
            "mod redis; pub use self::{error::E, redis::RedisStore}; use crate::protocol::Mode;",
        ),
        (
            "src/store/redis/keys.rs",
            "use redis::Client; use super::super::Store; use crate::{protocol::A, world::B};",
        ),
        ("src/actor/manager.rs", "use actix::Actor; use crate::{store::{Store, StoreError}, world::Clock};"),
        ("src/config/mod.rs", "use crate::{actor::Settings, store::redis::RedisOptions}; /* crate::web */"),
        ("src/lib.rs", "pub use crate::config::Config; pub use self::actor::Lease;"),
        (
            "src/store/memory.rs",
            "// crate::actor is not imported\nconst A: &str = \"crate::actor \\\" dbg!()\";",
        ),
        (
            "src/store/memory.rs",
            "fn f<'a>(c: char) -> &'a str { match c { '\"' => \"use actix::A\", _ => r#\"\"dbg!(\"# } }",
        ),
    ];
    for (path, code) in allowed {
        assert_eq!(found(path, code), Vec::<String>::new(), "{path}: {code}");
    }
}

#[test]
fn what_is_forbidden_is_reported() {
    let forbidden = [
        ("src/protocol/name.rs", "use crate::world::Clock;", "protocol imports crate::world"),
        (
            "src/protocol/name.rs",
            "use super::super::store::Store;",
            "super::super::store::Store leaves its layer",
        ),
        ("src/protocol/mod.rs", "use super::store::Store;", "super::store::Store leaves its layer"),
        ("src/protocol/name.rs", "use tokio::time;", "protocol uses the crate tokio"),
        (
            "src/protocol/name.rs",
            "fn f() { serde_json::to_string(&1) }",
            "protocol uses the crate serde_json",
        ),
        ("src/world.rs", "use crate::{protocol::Moment, store::Store};", "world imports crate::store"),
        ("src/store/memory.rs", "use {crate::actor::Lease};", "store imports crate::actor"),
        ("src/store/memory.rs", "fn f() { let _: crate::config::Config; }", "store imports crate::config"),
        ("src/store/memory.rs", "use actix_rt::spawn;", "store uses the crate actix_rt"),
        ("src/store/memory.rs", "use crate::Lease;", "crate::Lease does not name its layer"),
        ("src/store/memory.rs", "use crate::*;", "crate::* does not name its layer"),
        ("src/store/quorum.rs", "use ::redis::Client;", "store uses the crate redis"),
        ("src/actor/manager.rs", "use redis as r;", "actor uses the crate redis"),
        ("src/actor/manager.rs", "use crate::{world::{A, B}, web::C};", "actor imports crate::web"),
        ("src/config/mod.rs", "use crate::election::Singleton;", "config imports crate::election"),
        ("src/config/mod.rs", "use crate::doctor::Finding;", "config imports crate::doctor"),
        ("src/bin/leasehold/main.rs", "use crate::store::Store; fn f() { dbg!(1) }", "dbg! is left in it"),
        ("src/web/mod.rs", "fn f() { todo!() }", "todo! is left in it"),
        ("src/web/mod.rs", "fn f() { std::unimplemented!() }", "unimplemented! is left in it"),
        ("src/odd.rs", "", "odd is not a known layer"),
    ];
    for (path, code, expected) in forbidden {
        assert_eq!(found(path, code), [expected], "{path}: {code}");
    }
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
        let broken = broken_rules("src/world.rs", text);
        assert_eq!(broken, ["src/world.rs: its first line is not one sentence after //!"], "{text}");
    }
    let long = format!("//! Long, e.g. `std::fmt` by heart.\n{}", "\n".repeat(350));
    assert_eq!(broken_rules("src/world.rs", &long), ["src/world.rs: it has 351 lines, more than 350"]);
}
