//! Acquisitions whose fences begin at the caller's proposal, as a quorum requests them of its nodes.

use crate::{
    core::Fence,
    store::{Acquired, Recovered, StoreError},
};

/// The result of [`Store::acquire_each_from`](crate::store::Store::acquire_each_from).
#[derive(Clone, Debug)]
pub struct AcquiredFrom {
    /// The answer to each acquisition, in their order.
    pub answers: Vec<Result<Acquired, StoreError>>,
    /// The store's own time in µs when it answered: the smallest fence that it could have given. `None` if the store does
    /// not report its time.
    pub clock: Option<Fence>,
    /// The record of recovery that the store had when it answered: see [`Store::teach`](crate::store::Store::teach).
    pub recovered: Option<Recovered>,
}

impl AcquiredFrom {
    /// Returns the answers of a store that issues fences by its own time alone and does not report that time.
    pub const fn without_clock(answers: Vec<Result<Acquired, StoreError>>) -> Self {
        Self { answers, clock: None, recovered: None }
    }
}
