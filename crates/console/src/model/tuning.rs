//! The settings of this manager that may change while it runs, and what a tuner said.

use std::time::Duration;

use leasehold::{
    Summary, Tuning,
    text::{counted, exact},
};
use leasehold_tuning::tuner::TunerEvent;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    described,
    view::{seconds, shown},
};

/// The settings of this manager that may change while it runs, its load, and what a tuner said.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Tuning)]
pub(crate) struct TuningView {
    pub(crate) settings: SettingsView,
    #[schema(value_type = described::Summary)]
    pub(crate) last_minute: Summary,
    #[schema(value_type = described::Summary)]
    pub(crate) last_hour: Summary,
    /// The latest changes of a tuner, the latest first.
    pub(crate) tuner: Vec<TunerView>,
}

/// The settings that may change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Settings)]
pub(crate) struct SettingsView {
    pub(crate) backoff: String,
    #[serde(rename = "wait_seconds", serialize_with = "seconds")]
    #[schema(value_type = f64)]
    pub(crate) wait: Duration,
    pub(crate) max_waiters: u32,
}

impl SettingsView {
    pub(crate) fn of(tuning: &Tuning) -> Self {
        let Tuning { backoff, wait, max_waiters, .. } = *tuning;
        let attempts = backoff.max_attempts().map_or_else(
            || "any number of attempts".to_owned(),
            |attempts| counted(attempts.into(), "attempt"),
        );
        let (initial, max) = (exact(backoff.initial()), exact(backoff.max()));
        let backoff = format!("{initial} to {max}, times {}, {attempts}", backoff.factor());
        Self { backoff, wait, max_waiters }
    }
}

/// A change of a tuner.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct TunerView {
    #[serde(rename = "seconds_ago", serialize_with = "seconds")]
    #[schema(value_type = f64)]
    pub(crate) ago: Duration,
    pub(crate) rule: String,
    pub(crate) reason: String,
    pub(crate) from: SettingsView,
    pub(crate) to: SettingsView,
    pub(crate) dry_run: bool,
}

impl TunerView {
    pub(crate) fn of(event: &TunerEvent, ago: Duration) -> Self {
        Self {
            ago,
            rule: event.rule.to_string(),
            reason: shown(&event.reason, 400),
            from: SettingsView::of(&event.from),
            to: SettingsView::of(&event.to),
            dry_run: event.dry_run,
        }
    }
}
