//! The stores in the memory of this process: one for each name, shared by all who open it.

use std::{collections::BTreeMap, env};

use parking_lot::Mutex;

use crate::{
    config::StoreUrl,
    core::{InvalidValue, ensure},
    store::MemoryStore,
};

const SCHEME: &str = "memory://";
const LONGEST_NAME: usize = 64;

/// The stores, by name and prefix. A store lives as long as the process, as a server would. What is held in it stays
/// held until its end, even when the manager that took it is gone.
static STORES: Mutex<BTreeMap<(String, String), MemoryStore>> = Mutex::new(BTreeMap::new());

/// Returns the warning about a store of this name, also for whoever has set the variable of other programs.
pub(super) fn warning(name: &str) -> String {
    let near = match env::var_os("REDIS_URL") {
        Some(url) if !url.is_empty() => {
            "; REDIS_URL is set, and is not read: the variable for it is LEASEHOLD_STORE_URL"
        }
        _ => "",
    };
    format!("store.url is {SCHEME}{name}, so locks exclude nobody outside of this process{near}")
}

/// Returns the store of this name. Another prefix is another store, because on a server it would see none of the same keys.
pub(super) fn shared(name: &str, prefix: &str) -> MemoryStore {
    let mut stores = STORES.lock();
    let store = stores.entry((name.to_owned(), prefix.to_owned())).or_insert_with(|| {
        tracing::warn!("{}", warning(name));
        MemoryStore::default()
    });
    store.clone()
}

impl StoreUrl {
    /// Returns true if locks live in this process only.
    pub fn is_memory(&self) -> bool {
        self.0.starts_with(SCHEME)
    }

    /// Returns the warning about a store in memory; `None` if locks live elsewhere.
    pub fn memory_warning(&self) -> Option<String> {
        self.0.strip_prefix(SCHEME).map(warning)
    }

    /// Returns the name of a store in memory, empty for `memory://`. `None` if locks live elsewhere.
    pub(super) fn memory_name(&self) -> Result<Option<&str>, InvalidValue> {
        let Some(name) = self.0.strip_prefix(SCHEME) else { return Ok(None) };
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        let allowed = format!("memory:// or memory://name, with up to {LONGEST_NAME} of A-Z a-z 0-9 _ . -");
        let is_name = name.len() <= LONGEST_NAME && name.bytes().all(known);
        ensure(is_name, "store.url", "memory://…", allowed).map(|()| Some(name))
    }
}
