//! The rules of the operations guide name what is used, and nothing else. That they suffice is shown by `acceptance.rs`.

use std::{collections::BTreeSet, fs, path::Path};

use crate::support::acl;

/// The commands that the scripts in a folder call.
fn called(folder: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/redis/wire/lua").join(folder);
    let files =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let mut called = BTreeSet::new();
    for script in files.map(|file| fs::read_to_string(file).unwrap()) {
        for (place, _) in script.match_indices("call('") {
            let command = script[place + 6..].split('\'').next().unwrap();
            called.insert(command.to_lowercase());
        }
    }
    called
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
    assert_eq!(allowed("locker"), full);
    assert_eq!(allowed("replicated-locker"), with(full, &["wait"]));
    assert_eq!(allowed("plain-locker"), with(called("plain"), &always));
}
