//! A tick and its time, as the work gets it, and the history of runs, as callers see it and as the register keeps it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::core::{Fence, InvalidValue, cut, ensure, exact};

/// A time in milliseconds since 1970, by the clock of the store.
pub(super) type Millis = u64;

/// The latest time that a schedule knows: the end of the year 9999. Nobody can show a later one.
pub(super) const LATEST: Millis = 253_402_300_799_999;

/// The time from one tick to the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Gap {
    /// Its first moment, that of a tick. `None`: no tick was before.
    pub(super) last: Option<Millis>,
    /// The moment after it, that of the next tick. `None`: no tick comes any more.
    pub(super) next: Option<Millis>,
}

pub(super) fn millis(time: Duration) -> Millis {
    u64::try_from(time.as_millis()).unwrap_or(Millis::MAX)
}

/// Returns a time in milliseconds, of which it has to be made.
pub(super) fn whole_millis(field: &str, time: Duration) -> Result<Millis, InvalidValue> {
    ensure(time.subsec_nanos().is_multiple_of(1_000_000), field, exact(time), "whole milliseconds")?;
    Ok(millis(time))
}

pub(super) fn check_time(field: &str, time: Millis) -> Result<(), String> {
    if time <= LATEST { Ok(()) } else { Err(format!("{field} is {time}, after the year 9999")) }
}

/// Returns a time that was checked: no later than [`LATEST`].
pub(super) fn time_of(millis: Millis) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

/// A tick that this process has claimed, and nobody else runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tick {
    /// The number of the run in this schedule: 1, 2, and so on in the whole fleet, as long as the store remembers.
    pub number: u64,
    /// The time for which the plan has it, by the clock of the store. For a run that was asked for, the time of that.
    pub scheduled_for: SystemTime,
    /// The fence of the lease under which it runs, if the store issues one. It is larger for each later runner, and the same
    /// for all ticks of one.
    pub fence: Option<Fence>,
    /// True if the plan does not have it: it was [asked for](super::Control::run_now).
    pub asked: bool,
    /// The number of the attempt: 1, and more if the runs before it [did not end](super::Recover). All attempts have the same
    /// `scheduled_for`, and each has a `number` of its own.
    pub attempt: u32,
}

/// A run of the past, or one that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Run {
    /// The tick.
    pub tick: Tick,
    /// The time of its claim, by the clock of the store.
    pub started_at: SystemTime,
    /// The time that the work took, and what became of it. `None` while it goes on, and if its process ended before it could say.
    pub ended: Option<(Duration, Outcome)>,
}

/// The status of a schedule in the whole fleet. Times are those of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The time of the store.
    pub now: SystemTime,
    /// True if the schedule is paused.
    pub paused: bool,
    /// The time at which a run was asked for that has not begun yet.
    pub asked: Option<SystemTime>,
    /// The time of the last tick of the plan that was claimed. Before the first one, and after a pause, the time of the start,
    /// or of the end of the pause.
    pub last: SystemTime,
    /// The number of runs since the schedule was begun.
    pub runs: u64,
    /// The latest runs, the latest first.
    pub history: Vec<Run>,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The work was done.
    Done,
    /// The work returned this error, cut after 200 characters.
    Failed(String),
    /// The work panicked with this message, cut after 200 characters.
    Panicked(String),
    /// The work was stopped after [`at_most`](super::Schedule::at_most).
    TimedOut,
    /// The work was stopped because the lease was lost, or because it did not finish in time when the process was stopped.
    Stopped,
    /// A later version of this library has written an outcome that this one does not know.
    #[serde(skip)]
    Unknown,
}

/// The number of characters of an error, or of the message of a panic, that the history keeps.
const MOST_TOLD: usize = 200;

impl Outcome {
    pub(super) fn failed(error: &str) -> Self {
        Self::Failed(cut(error, MOST_TOLD))
    }

    /// Returns true if the work is to blame.
    pub(super) const fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Panicked(_) | Self::TimedOut)
    }

    pub(super) fn panicked(message: &str) -> Self {
        Self::Panicked(cut(message, MOST_TOLD))
    }
}

/// Returns true if the register need not keep a number, because it is the default.
pub(super) fn is_zero<Number: Default + PartialEq>(number: &Number) -> bool {
    *number == Number::default()
}

/// A run, as the register keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    pub(super) number: u64,
    pub(super) scheduled_for: Millis,
    pub(super) fence: Option<u64>,
    pub(super) asked: bool,
    /// The number of attempts before this one.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) repeats: u32,
    pub(super) started: Millis,
    /// The milliseconds that it took, and its outcome, which a later version may have written.
    pub(super) ended: Option<(u64, Value)>,
    /// The fields of a later version, which are left as they are.
    #[serde(flatten)]
    pub(super) later: Map<String, Value>,
}

impl Entry {
    pub(super) fn tick(&self) -> Tick {
        Tick {
            number: self.number,
            scheduled_for: time_of(self.scheduled_for),
            fence: self.fence.map(Fence::new),
            asked: self.asked,
            attempt: self.repeats.saturating_add(1),
        }
    }

    /// Returns what became of it. `None` if it has no end yet.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        let (_, outcome) = self.ended.as_ref()?;
        Some(Outcome::deserialize(outcome).unwrap_or(Outcome::Unknown))
    }

    pub(super) fn run(&self) -> Run {
        let took = self.ended.as_ref().map(|(took, _)| Duration::from_millis(*took));
        let ended = took.zip(self.outcome());
        Run { tick: self.tick(), started_at: time_of(self.started), ended }
    }
}
