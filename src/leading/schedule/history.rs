//! The history of a schedule: its runs, as the register keeps them.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    tick::{Outcome, Run, Tick},
    time::{Millis, check_time, time_of},
};
use crate::core::Fence;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    pub(super) number: u64,
    pub(super) scheduled_for: Millis,
    pub(super) fence: Option<u64>,
    pub(super) asked: bool,
    pub(super) started: Millis,
    pub(super) ended: Option<(u64, Written)>,
    /// The fields of a later version, which are left as they are.
    #[serde(flatten)]
    pub(super) later: Map<String, Value>,
}

/// An outcome as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Written {
    Known(Outcome),
    /// One that a later version has written.
    Later(Value),
}

impl Entry {
    pub(super) fn tick(&self) -> Tick {
        Tick {
            number: self.number,
            scheduled_for: time_of(self.scheduled_for),
            fence: self.fence.map(Fence::new),
            asked: self.asked,
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        check_time("runs.scheduled_for", self.scheduled_for)?;
        check_time("runs.started", self.started)
    }

    pub(super) fn run(&self) -> Run {
        let ended = self.ended.as_ref().map(|(took, outcome)| {
            let outcome = match outcome {
                Written::Known(outcome) => outcome.clone(),
                Written::Later(_) => Outcome::Unknown,
            };
            (Duration::from_millis(*took), outcome)
        });
        Run { tick: self.tick(), started_at: time_of(self.started), ended }
    }
}
