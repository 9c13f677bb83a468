//! A run of a schedule.

use std::time::{Duration, SystemTime};

use leasehold::{
    Fence,
    schedule::{Outcome, Run},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::time::{seconds_if_known, stamp};

/// A run of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Run)]
pub struct RunView {
    /// Its number.
    pub number: u64,
    /// The tick that it is for.
    #[schema(format = DateTime)]
    pub scheduled_for: String,
    /// The moment at which it began, by the clock of the store.
    #[schema(format = DateTime)]
    pub started_at: String,
    /// The same moment, to count from.
    #[serde(skip)]
    pub started: SystemTime,
    /// The time that it took; `None` while it goes on, and if its process ended before it could say.
    #[serde(rename = "took_seconds", serialize_with = "seconds_if_known")]
    #[schema(value_type = Option<f64>)]
    pub took: Option<Duration>,
    /// The outcome: `done`, `failed`, `panicked`, `timed_out`, `stopped`, `unknown`, or `None` if it has no end yet.
    pub outcome: Option<&'static str>,
    /// The error of a run that failed, or the message of its panic.
    pub message: Option<String>,
    /// The fence.
    pub fence: Option<u64>,
    /// True if an operator asked for it.
    pub asked: bool,
    /// The number of the attempt: more than 1 if the runs of this tick before it did not end.
    pub attempt: u32,
}

impl From<&Run> for RunView {
    fn from(run: &Run) -> Self {
        let (outcome, message) = match run.ended.as_ref().map(|(_, outcome)| outcome) {
            None => (None, None),
            Some(Outcome::Done) => (Some("done"), None),
            Some(Outcome::Failed(error)) => (Some("failed"), Some(error.clone())),
            Some(Outcome::Panicked(message)) => (Some("panicked"), Some(message.clone())),
            Some(Outcome::TimedOut) => (Some("timed_out"), None),
            Some(Outcome::Stopped) => (Some("stopped"), None),
            Some(_) => (Some("unknown"), None),
        };
        Self {
            number: run.tick.number,
            scheduled_for: stamp(run.tick.scheduled_for),
            started_at: stamp(run.started_at),
            started: run.started_at,
            took: run.ended.as_ref().map(|(took, _)| *took),
            outcome,
            message,
            fence: run.tick.fence.map(Fence::get),
            asked: run.tick.asked,
            attempt: run.tick.attempt,
        }
    }
}
