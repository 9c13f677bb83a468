//! The scripts that clients have loaded on this thread, whose words say what they may answer.

use std::cell::RefCell;

use redis::Script;

thread_local! {
    /// Each with the hash by which it is called, which takes long to compute.
    static LOADED: RefCell<Vec<(String, String)>> = RefCell::default();
}

/// Loads a script.
pub(super) fn load(script: &[u8]) {
    let script = String::from_utf8_lossy(script);
    LOADED.with_borrow_mut(|loaded| {
        if !loaded.iter().any(|(_, known)| *known == script) {
            loaded.push((Script::new(&script).get_hash().to_owned(), script.into_owned()));
        }
    });
}

/// Returns the script with this hash; nothing if there is none.
pub(super) fn of_hash(hash: &[u8]) -> String {
    LOADED.with_borrow(|loaded| {
        let script = loaded.iter().find(|(its, _)| its.as_bytes() == hash);
        script.map(|(_, script)| script.clone()).unwrap_or_default()
    })
}
