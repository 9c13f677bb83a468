//! The schedules and their runs.

use std::time::{Duration, SystemTime};

use leasehold::{ResourceName, schedule::Status};
use serde::Serialize;
use utoipa::ToSchema;

use crate::view::{RunView, stamp};

/// The schedules that are known.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Schedules)]
pub(crate) struct SchedulesView {
    pub(crate) schedules: Vec<ScheduleView>,
    /// The reason why there may be others, if so.
    pub(crate) unlisted: Option<String>,
    /// The schedules about which nothing is known.
    pub(crate) unknown: Vec<UnknownView>,
}

/// Something about which nothing is known, and why.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Unknown)]
pub(crate) struct UnknownView {
    pub(crate) schedule: String,
    pub(crate) trouble: String,
}

/// A schedule.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Schedule)]
pub(crate) struct ScheduleView {
    pub(crate) schedule: String,
    pub(crate) paused: bool,
    /// The time at which a run was asked for that has not begun yet.
    #[schema(format = DateTime)]
    pub(crate) asked_at: Option<String>,
    pub(crate) runs: u64,
    /// The last tick of the plan that was claimed.
    #[schema(format = DateTime)]
    pub(crate) last_tick: String,
    pub(crate) history: Vec<RunView>,
    /// The moment of the answer and the last tick, by the clock of the store.
    #[serde(skip)]
    now: SystemTime,
    #[serde(skip)]
    last: SystemTime,
}

impl ScheduleView {
    pub(crate) fn of(name: &ResourceName, status: &Status) -> Self {
        Self {
            schedule: name.encoded(),
            paused: status.paused,
            asked_at: status.asked.map(stamp),
            runs: status.runs,
            last_tick: stamp(status.last),
            history: status.history.iter().map(RunView::from).collect(),
            now: status.now,
            last: status.last,
        }
    }

    /// Returns the time since the last tick; `None` if that is ahead.
    pub(crate) fn last_tick_ago(&self) -> Option<Duration> {
        self.now.duration_since(self.last).ok()
    }

    /// Returns the time since a run of it began.
    pub(crate) fn since(&self, run: &RunView) -> Option<Duration> {
        self.now.duration_since(run.started).ok()
    }
}
