//! A holder and a waiter, with what they tell of themselves.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Metadata, millis, shown};
use crate::{
    core::{Mode, Owner, TokenPrefix},
    store::{Holder, HolderState, Waiter},
};

/// The longest key and value of metadata that are shown.
const LONGEST: usize = 200;
/// The largest number of entries of metadata that are shown.
const ENTRIES: usize = 32;

/// A holder of a resource.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HolderView {
    pub(crate) token: String,
    pub(crate) mode: String,
    /// `holding`, or `closed` if it only keeps the resource closed.
    pub(crate) state: &'static str,
    pub(crate) owner: Option<String>,
    pub(crate) fence: Option<u64>,
    pub(crate) held_for_ms: Option<u64>,
    pub(crate) remaining_ms: u64,
    pub(crate) metadata: Metadata,
}

impl HolderView {
    pub(crate) fn of(holder: &Holder) -> Self {
        Self {
            token: holder.token.to_string(),
            mode: holder.mode.to_string(),
            state: match holder.state {
                HolderState::Holding => "holding",
                HolderState::Closed => "closed",
            },
            owner: owner(holder.owner.as_ref()),
            fence: holder.fence.map(crate::core::Fence::get),
            held_for_ms: holder.held_for.map(millis),
            remaining_ms: millis(holder.remaining),
            metadata: metadata(&holder.metadata),
        }
    }

    /// Returns a short name for it.
    pub(crate) fn who(&self) -> String {
        who(&self.metadata, self.owner.as_deref(), &self.token)
    }
}

/// A waiter for a resource.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WaiterView {
    /// Its place: 1 is served next.
    pub(crate) position: usize,
    pub(crate) token: String,
    pub(crate) mode: String,
    pub(crate) owner: Option<String>,
    pub(crate) waited_ms: Option<u64>,
    pub(crate) metadata: Metadata,
}

impl WaiterView {
    /// Returns the waiters in the order of the queue.
    pub(crate) fn all(waiters: &[Waiter]) -> Vec<Self> {
        let view = |(at, waiter): (usize, &Waiter)| Self {
            position: at + 1,
            token: waiter.token.to_string(),
            mode: waiter.mode.to_string(),
            owner: owner(waiter.owner.as_ref()),
            waited_ms: waiter.waited.map(millis),
            metadata: metadata(&waiter.metadata),
        };
        waiters.iter().enumerate().map(view).collect()
    }

    /// Returns a short name for it.
    pub(crate) fn who(&self) -> String {
        who(&self.metadata, self.owner.as_deref(), &self.token)
    }
}

fn owner(owner: Option<&Owner>) -> Option<String> {
    owner.map(|owner| shown(owner.as_str(), LONGEST))
}

fn metadata(given: &BTreeMap<String, String>) -> Metadata {
    let entries = given.iter().take(ENTRIES);
    entries.map(|(key, value)| (shown(key, LONGEST), shown(value, LONGEST))).collect()
}

fn who(metadata: &Metadata, owner: Option<&str>, token: &str) -> String {
    let known = |key| metadata.get(key).map(String::as_str);
    match (known("host"), known("pid"), owner) {
        (Some(host), Some(pid), _) => format!("{host}:{pid}"),
        (Some(host), None, _) => host.to_owned(),
        (None, _, Some(owner)) => owner.to_owned(),
        (None, _, None) => token.to_owned(),
    }
}

/// Returns a short name for whoever has this metadata, which was not escaped yet.
pub(crate) fn short_name(
    given: &BTreeMap<String, String>,
    own: Option<&Owner>,
    token: TokenPrefix,
) -> String {
    let known = given.iter().filter(|(key, _)| ["host", "pid"].contains(&key.as_str()));
    let known = known.map(|(key, value)| (key.clone(), shown(value, 60))).collect();
    who(&known, owner(own).as_deref(), &token.to_string())
}

/// Returns the first word of a mode, as it is said of a span.
pub(crate) fn kind(mode: Mode) -> &'static str {
    match mode {
        Mode::Exclusive => "exclusive",
        Mode::Shared => "shared",
        Mode::Permits { .. } => "permits",
    }
}
