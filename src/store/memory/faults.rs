//! Faults that a test tells a store to have.

use std::{collections::VecDeque, iter, time::Duration};

use crate::store::StoreError;

/// What happens to one verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not executed.
    Fail,
    /// It is executed, but the answer gets lost.
    LoseReply,
    /// It is executed after this pause.
    Stall(Duration),
}

/// The faults to come, one a verb.
#[derive(Debug, Default)]
pub(super) struct Faults(VecDeque<Fault>);

impl Faults {
    pub(super) fn script(&mut self, fault: Fault, times: usize) {
        self.0.extend(iter::repeat_n(fault, times));
    }

    pub(super) fn next(&mut self) -> Option<Fault> {
        self.0.pop_front()
    }
}

pub(super) fn unavailable() -> StoreError {
    StoreError::Unavailable { reason: "a scripted fault".into(), source: None }
}

pub(super) fn lost() -> StoreError {
    StoreError::Lost { doing: "a scripted fault".into(), source: None }
}
