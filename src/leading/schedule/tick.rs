//! A tick, as the work gets it, and the history of runs.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::core::{Fence, cut};

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
}

/// A run of the past, or one that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Run {
    /// The tick.
    pub tick: Tick,
    /// The time of its claim, by the clock of the store.
    pub started_at: SystemTime,
    /// The time that the work took, and what became of it. `None` while it goes on, and if its process ended before it could
    /// say.
    pub ended: Option<(Duration, Outcome)>,
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

    pub(super) fn panicked(message: &str) -> Self {
        Self::Panicked(cut(message, MOST_TOLD))
    }
}
