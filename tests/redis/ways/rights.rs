//! The rules of the operations guide name what is used, and nothing else. That they suffice is shown by `acceptance.rs`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use support::acl;

/// The commands that the scripts in a folder call.
fn called(folder: &str) -> BTreeSet<String> {
    let folder = scripts().join(folder);
    let files =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    files.flat_map(|file| called_by(&file)).collect()
}

/// The commands that a script calls.
fn called_by(file: &Path) -> BTreeSet<String> {
    let script = fs::read_to_string(file).unwrap();
    let places = script.match_indices("call('");
    places.map(|(place, _)| script[place + 6..].split('\'').next().unwrap().to_lowercase()).collect()
}

fn scripts() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("src/store/redis/wire/lua")
}

/// The commands that a rule of the guide allows.
fn allowed(user: &str) -> BTreeSet<String> {
    acl::rule(user).into_iter().filter_map(|word| word.strip_prefix('+')).map(str::to_owned).collect()
}

fn with(mut called: BTreeSet<String>, more: &[&str]) -> BTreeSet<String> {
    called.extend(more.iter().map(ToString::to_string));
    called
}

#[test]
fn a_rule_allows_what_is_called_and_nothing_else() {
    let always = ["evalsha", "script|load", "scan"];
    let full = with(with(called("."), &always), &["subscribe", "ping"]);
    assert_eq!(allowed("locker"), with(full.clone(), &["incrby"]));
    assert_eq!(allowed("replicated-locker"), with(full, &["wait"]));
    // Registers are the same in both layouts.
    let registers = ["register.lua", "time.lua"].map(|script| called_by(&scripts().join(script)));
    let plain = registers.into_iter().fold(called("plain"), |all, more| &all | &more);
    assert_eq!(allowed("plain-locker"), with(with(plain, &always), &["ping"]));
}
