//! A holder and a waiter, with what they tell of themselves.

use std::{collections::BTreeMap, fmt};

use leasehold::{Holder, HolderState, Inspection, Mode, Owner, TokenPrefix, Waiter};
use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::{Metadata, millis, shown};
use crate::seconds;

/// The longest key and value of metadata that are shown.
const LONGEST: usize = 200;
/// The largest number of entries of metadata that are shown.
const ENTRIES: usize = 32;

/// A mode: `mode`, and of permits `permits` and `capacity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModeView(pub(crate) Mode);

impl Serialize for ModeView {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (permits, capacity) = match self.0 {
            Mode::Permits { count, of } => (Some(count), Some(of)),
            _ => (None, None),
        };
        let mut fields = to.serialize_struct("Mode", 3)?;
        fields.serialize_field("mode", kind(self.0))?;
        fields.serialize_field("permits", &permits)?;
        fields.serialize_field("capacity", &capacity)?;
        fields.end()
    }
}

impl fmt::Display for ModeView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The entries of metadata that have a meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Told {
    host: Option<String>,
    pid: Option<u64>,
    purpose: Option<String>,
    /// The id of its trace.
    trace: Option<String>,
}

impl Told {
    fn of(metadata: &BTreeMap<String, String>) -> Self {
        let known = |key: &str| metadata.get(key);
        let text = |key: &str| known(key).map(|value| shown(value, LONGEST));
        Self {
            host: text("host"),
            pid: known("pid").and_then(|pid| pid.parse().ok()),
            purpose: text("purpose"),
            trace: known("traceparent").and_then(|it| trace_id(it)).map(str::to_owned),
        }
    }
}

/// Returns the id of a trace from the header of the W3C: `00-<trace>-<span>-<flags>`.
fn trace_id(traceparent: &str) -> Option<&str> {
    let id = traceparent.split('-').nth(1)?;
    (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

/// Returns the role that the holders and waiters of an election tell.
pub(crate) fn role(seen: &Inspection) -> Option<String> {
    let holders = seen.holders.iter().map(|holder| &holder.metadata);
    let mut all = holders.chain(seen.waiters.iter().map(|waiter| &waiter.metadata));
    all.find_map(|metadata| metadata.get("role")).map(|role| shown(role, LONGEST))
}

/// A holder of a resource.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HolderView {
    #[serde(flatten)]
    pub(crate) mode: ModeView,
    pub(crate) token: String,
    /// `holding`, or `closed` if it only keeps the resource closed.
    pub(crate) state: &'static str,
    pub(crate) owner: Option<String>,
    #[serde(flatten)]
    pub(crate) told: Told,
    pub(crate) fence: Option<u64>,
    #[serde(rename = "age_seconds", serialize_with = "seconds::of_known_millis")]
    pub(crate) held_for_ms: Option<u64>,
    #[serde(rename = "left_seconds", serialize_with = "seconds::of_millis")]
    pub(crate) remaining_ms: u64,
    pub(crate) metadata: Metadata,
}

impl HolderView {
    pub(crate) fn of(holder: &Holder) -> Self {
        Self {
            token: holder.token.to_string(),
            mode: ModeView(holder.mode),
            state: match holder.state {
                HolderState::Holding => "holding",
                HolderState::Closed => "closed",
            },
            owner: owner(holder.owner.as_ref()),
            told: Told::of(&holder.metadata),
            fence: holder.fence.map(leasehold::Fence::get),
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
    #[serde(flatten)]
    pub(crate) mode: ModeView,
    pub(crate) token: String,
    pub(crate) owner: Option<String>,
    #[serde(flatten)]
    pub(crate) told: Told,
    #[serde(rename = "waited_seconds", serialize_with = "seconds::of_known_millis")]
    pub(crate) waited_ms: Option<u64>,
    pub(crate) metadata: Metadata,
}

impl WaiterView {
    /// Returns the waiters in the order of the queue.
    pub(crate) fn all(waiters: &[Waiter]) -> Vec<Self> {
        let view = |(at, waiter): (usize, &Waiter)| Self {
            position: at + 1,
            token: waiter.token.to_string(),
            mode: ModeView(waiter.mode),
            owner: owner(waiter.owner.as_ref()),
            told: Told::of(&waiter.metadata),
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
        _ => "unknown",
    }
}
