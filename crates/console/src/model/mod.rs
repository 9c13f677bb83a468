//! The views of the console as plain values: the bodies of the API, and what the pages show.
//!
//! Spans are counted back from the answer, so that no clock of another machine is shown, in milliseconds, and in JSON in
//! seconds. The names of fields, and their units, are those of the command line. What is not known is `null`.

mod party;
mod schedules;
mod shown;
mod timeline;

use std::{collections::BTreeMap, time::Duration};

use serde::{Serialize, Serializer};

pub(crate) use self::{
    party::{HolderView, ModeView, WaiterView, kind, role, short_name},
    schedules::{RunView, ScheduleView, SchedulesView, UnknownView, stamp},
    shown::shown,
    timeline::{HoldView, QueueView, SpanView, TimelineView, WaitView},
};
use leasehold::{
    Holder, HolderState, InspectError, Inspection, OwnLeases, ResourceName, Statistics, Tuning,
    text::one_line,
};
use leasehold_tuning::tuner::TunerEvent;

use crate::{recommendation::RecommendationView, seconds};

/// Returns a span in milliseconds.
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Writes what is there once at most as a list.
fn listed<S: Serializer>(one: &Option<HolderView>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(one)
}

/// Writes a text that is a number as one.
fn as_number<S: Serializer>(text: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    text.as_ref().and_then(|text| text.parse::<u64>().ok()).serialize(to)
}

/// A page of resources.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Page {
    pub(crate) resources: Vec<Row>,
    /// The name behind which the next page begins; `None` if there is none.
    pub(crate) next: Option<String>,
    /// True if these are all. If not, and `next` is none, any names may be missing.
    pub(crate) complete: bool,
    /// True if the time for the walk was over before its end: then a page behind this one would miss names.
    pub(crate) cut_short: bool,
    /// The number of keys that the walk looked at.
    pub(crate) walked: u64,
    pub(crate) console: Watch,
}

/// A resource in a list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    #[serde(rename = "resource")]
    pub(crate) name: String,
    /// False if it is free or only kept closed; `None` if the store does not tell.
    pub(crate) held: Option<bool>,
    /// `None` if the store does not tell.
    #[serde(rename = "total")]
    pub(crate) holders: Option<u64>,
    /// `None` where the store keeps no queues, and if it does not tell.
    pub(crate) waiting: Option<u64>,
    /// The holder that ends first.
    #[serde(rename = "holders", serialize_with = "listed")]
    pub(crate) holder: Option<HolderView>,
    /// The longest wait of the waiters that the store told.
    #[serde(rename = "longest_wait_seconds", serialize_with = "seconds::of_known_millis")]
    pub(crate) longest_wait_ms: Option<u64>,
    /// The reason why nothing is known of it, if so.
    pub(crate) trouble: Option<String>,
}

impl Row {
    pub(crate) fn of(name: &ResourceName, inspection: &Inspection) -> Self {
        Self {
            name: name.encoded(),
            held: Some(is_held(inspection)),
            holders: Some(inspection.total),
            waiting: waiting(inspection),
            holder: inspection.holders.first().map(HolderView::of),
            longest_wait_ms: inspection.waiters.iter().filter_map(|waiter| waiter.waited).max().map(millis),
            trouble: None,
        }
    }

    /// Returns the row of a resource about which the store says nothing.
    pub(crate) fn unknown(name: &ResourceName, error: &InspectError) -> Self {
        Self {
            name: name.encoded(),
            held: None,
            holders: None,
            waiting: None,
            holder: None,
            longest_wait_ms: None,
            trouble: Some(one_line(error)),
        }
    }
}

/// Returns true if a resource shows that its store keeps no queues: such a store has no fences either.
pub(crate) fn keeps_no_queue(inspection: &Inspection) -> bool {
    let without = |holder: &Holder| is_holding(holder) && holder.fence.is_none();
    inspection.waiting == 0 && inspection.holders.iter().any(without)
}

/// Returns true if somebody holds a resource.
pub(crate) fn is_held(inspection: &Inspection) -> bool {
    inspection.total > inspection.holders.len() as u64 || inspection.holders.iter().any(is_holding)
}

/// Returns true for a holder that does not only keep its resource closed.
pub(crate) fn is_holding(holder: &Holder) -> bool {
    holder.state == HolderState::Holding
}

/// Returns the number of waiters, if the store knows it.
pub(crate) fn waiting(inspection: &Inspection) -> Option<u64> {
    (!keeps_no_queue(inspection)).then_some(inspection.waiting)
}

/// One resource.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ResourceView {
    #[serde(rename = "resource")]
    pub(crate) name: String,
    /// False if it is free or only kept closed.
    pub(crate) held: bool,
    /// The number of all holders, and of all waiters: `None` where the store keeps no queues.
    pub(crate) total: u64,
    pub(crate) waiting: Option<u64>,
    pub(crate) holders: Vec<HolderView>,
    pub(crate) waiters: Vec<WaiterView>,
    pub(crate) timeline: TimelineView,
    /// The latest changes to it from this console, the latest first.
    pub(crate) changes: Vec<ChangeView>,
}

/// The state of the console's own observation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Watch {
    /// Grows with every change that was seen, from a number of this process.
    pub(crate) revision: u64,
    #[serde(rename = "observed_seconds", serialize_with = "seconds::of_millis")]
    pub(crate) observed_for_ms: u64,
    /// The resources that somebody waits for, and the waiters for those that were looked at. `None` before the first look, and
    /// while the store does not answer.
    pub(crate) contended: Option<u64>,
    pub(crate) waiting: Option<u64>,
    /// False if there were more resources than one look reaches.
    pub(crate) complete: bool,
    /// True if the store keeps no queues, as in the plain layout: nobody knows who waits.
    pub(crate) without_queues: bool,
    /// The reason why the last look failed.
    pub(crate) trouble: Option<String>,
}

/// The managers as far as the console knows them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ManagersView {
    pub(crate) statistics: Statistics,
    pub(crate) held: Vec<OwnLeaseView>,
    pub(crate) held_in_all: usize,
    pub(crate) waiting_in_all: usize,
    /// The processes among the holders and waiters of the resources that were looked at last.
    pub(crate) processes: Vec<ProcessView>,
}

/// A lease of this process.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OwnLeaseView {
    pub(crate) resource: String,
    pub(crate) token: String,
    #[serde(flatten)]
    pub(crate) mode: ModeView,
    pub(crate) fence: Option<u64>,
    #[serde(rename = "age_seconds", serialize_with = "seconds::of_millis")]
    pub(crate) held_for_ms: u64,
    #[serde(rename = "valid_seconds", serialize_with = "seconds::of_millis")]
    pub(crate) valid_for_ms: u64,
}

impl OwnLeaseView {
    pub(crate) fn all(leases: &OwnLeases) -> Vec<Self> {
        let view = |lease: &leasehold::OwnLease| Self {
            resource: lease.resource.encoded(),
            token: lease.token.to_string(),
            mode: ModeView(lease.mode),
            fence: lease.fence.map(leasehold::Fence::get),
            held_for_ms: millis(lease.held_for),
            valid_for_ms: millis(lease.valid_for),
        };
        leases.held.iter().map(view).collect()
    }
}

/// A process, by what its holders and waiters tell of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ProcessView {
    pub(crate) host: Option<String>,
    #[serde(serialize_with = "as_number")]
    pub(crate) pid: Option<String>,
    pub(crate) holds: u64,
    pub(crate) waits: u64,
}

/// An election.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ElectionView {
    #[serde(rename = "resource")]
    pub(crate) name: String,
    /// `election` or `schedule`; `None` if nobody who is there says it.
    pub(crate) role: Option<String>,
    pub(crate) leader: Option<HolderView>,
    pub(crate) waiting: Option<u64>,
    pub(crate) candidates: Vec<WaiterView>,
    /// The reason why nothing is known of it, if so.
    pub(crate) trouble: Option<String>,
}

impl ElectionView {
    /// Returns the view of an election about which the store says nothing.
    pub(crate) fn unknown(name: &ResourceName, error: &InspectError) -> Self {
        let trouble = Some(one_line(error));
        Self {
            name: name.encoded(),
            role: None,
            leader: None,
            waiting: None,
            candidates: Vec::new(),
            trouble,
        }
    }
}

/// The settings of this manager that may change while it runs, and what a tuner said.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TuningView {
    pub(crate) settings: SettingsView,
    pub(crate) last_minute: leasehold::Summary,
    pub(crate) last_hour: leasehold::Summary,
    /// The latest changes of a tuner, the latest first.
    pub(crate) tuner: Vec<TunerView>,
    /// What is recommended; `None` if the console was told of no file.
    pub(crate) recommendation: Option<RecommendationView>,
}

/// The settings that may change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SettingsView {
    pub(crate) backoff: String,
    #[serde(rename = "wait_seconds", serialize_with = "seconds::of_millis")]
    pub(crate) wait_ms: u64,
    pub(crate) max_waiters: u32,
}

impl SettingsView {
    pub(crate) fn of(tuning: &Tuning) -> Self {
        let Tuning { backoff, wait, max_waiters, .. } = *tuning;
        let attempts = backoff.max_attempts().map_or_else(
            || "any number of attempts".to_owned(),
            |attempts| leasehold::text::counted(attempts.into(), "attempt"),
        );
        let (initial, max) =
            (leasehold::text::exact(backoff.initial()), leasehold::text::exact(backoff.max()));
        let backoff = format!("{initial} to {max}, times {}, {attempts}", backoff.factor());
        Self { backoff, wait_ms: millis(wait), max_waiters }
    }
}

/// A change of a tuner.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TunerView {
    #[serde(rename = "seconds_ago", serialize_with = "seconds::of_millis")]
    pub(crate) ms_ago: u64,
    pub(crate) rule: String,
    pub(crate) reason: String,
    pub(crate) from: SettingsView,
    pub(crate) to: SettingsView,
    pub(crate) dry_run: bool,
}

impl TunerView {
    pub(crate) fn of(event: &TunerEvent, ago: Duration) -> Self {
        Self {
            ms_ago: millis(ago),
            rule: event.rule.to_string(),
            reason: shown(&event.reason, 400),
            from: SettingsView::of(&event.from),
            to: SettingsView::of(&event.to),
            dry_run: event.dry_run,
        }
    }
}

/// A change that was made from this console.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ChangeView {
    pub(crate) what: String,
    pub(crate) who: String,
    #[serde(rename = "seconds_ago", serialize_with = "seconds::of_millis")]
    pub(crate) ms_ago: u64,
    /// `None` while it goes on.
    pub(crate) outcome: Option<String>,
}

/// What was found, by name.
pub(crate) type Metadata = BTreeMap<String, String>;
