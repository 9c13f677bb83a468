//! Faults that a test injects into a store.

use std::{collections::VecDeque, iter, time::Duration};

use crate::store::StoreError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The verb is not executed.
    Fail,
    /// The verb is executed, but its answer gets lost.
    LoseReply,
    /// The verb is executed after this pause.
    Stall(Duration),
}

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
    StoreError::unavailable("a scripted fault")
}

pub(super) fn lost() -> StoreError {
    StoreError::reply_lost("a scripted fault")
}
