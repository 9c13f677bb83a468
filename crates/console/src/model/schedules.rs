//! The schedules and their runs.

use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::seconds;

/// The schedules that are known.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SchedulesView {
    pub(crate) schedules: Vec<ScheduleView>,
    /// The reason why there may be others, if so.
    pub(crate) unlisted: Option<String>,
    /// The schedules about which nothing is known.
    pub(crate) unknown: Vec<UnknownView>,
}

/// Something about which nothing is known, and why.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct UnknownView {
    #[serde(rename = "schedule")]
    pub(crate) name: String,
    pub(crate) trouble: String,
}

/// A schedule.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ScheduleView {
    #[serde(rename = "schedule")]
    pub(crate) name: String,
    pub(crate) paused: bool,
    /// The time at which a run was asked for that has not begun yet.
    pub(crate) asked_at: Option<String>,
    pub(crate) runs: u64,
    /// The time since the last tick of the plan that was claimed, by the clock of the store. `None` if that is ahead.
    #[serde(skip)]
    pub(crate) last_tick_ms_ago: Option<u64>,
    pub(crate) last_tick: String,
    pub(crate) history: Vec<RunView>,
}

/// A run of a schedule.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RunView {
    pub(crate) number: u64,
    pub(crate) asked: bool,
    #[serde(skip)]
    pub(crate) started_ms_ago: Option<u64>,
    pub(crate) scheduled_for: String,
    pub(crate) started_at: String,
    #[serde(rename = "took_seconds", serialize_with = "seconds::of_known_millis")]
    pub(crate) took_ms: Option<u64>,
    /// `None` while it goes on, and if its process ended before it could say.
    pub(crate) outcome: Option<&'static str>,
    /// The error of a run that failed, or the message of its panic.
    pub(crate) message: Option<String>,
    pub(crate) fence: Option<u64>,
}

/// Returns a moment in the form of RFC 3339. The form has the years 1970 to 9999: a time before or after them is the nearest one.
pub(crate) fn stamp(time: SystemTime) -> String {
    const END: Duration = Duration::from_millis(253_402_300_799_999);
    let time = time.clamp(SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH + END);
    humantime_serde::re::humantime::format_rfc3339_millis(time).to_string()
}
