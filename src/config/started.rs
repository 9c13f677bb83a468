//! The managers that configurations have started in this process: a second one for the same store is a mistake more often than not.

use std::collections::BTreeMap;

use actix::{Addr, WeakAddr};
use parking_lot::Mutex;

use crate::{config::StoreConfig, manager::LockManager};

/// The URL of a store, and its prefix.
type StorePlace = (String, String);

static STARTED: Mutex<BTreeMap<StorePlace, Vec<WeakAddr<LockManager>>>> = Mutex::new(BTreeMap::new());

/// Notes a manager that was started. Logs a warning if it is the second of its store that runs.
pub(super) fn note(store: &StoreConfig, manager: &Addr<LockManager>) {
    let place = (store.url.0.clone(), store.prefix.clone());
    let mut started = STARTED.lock();
    let managers = started.entry(place).or_default();
    managers.retain(|manager| manager.upgrade().is_some_and(|manager| manager.connected()));
    managers.push(manager.downgrade());
    // Once: a server with many workers would say it many times.
    if managers.len() == 2 {
        tracing::warn!(
            store = %store.url,
            "a second lock manager of this store starts in this process; start one, outside of the closure of \
             `HttpServer::new` for instance, and share its address"
        );
    }
}
