//! Faults that a test injects into a store.

use std::time::Duration;

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

pub(super) fn unavailable() -> StoreError {
    StoreError::unavailable("a scripted fault")
}
