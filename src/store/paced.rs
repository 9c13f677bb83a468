//! Acquisitions whose fences begin where the caller proposes: what a quorum asks of its nodes, and is answered.

use super::{Acquired, Recovered, StoreError};
use crate::protocol::Fence;

/// The answers to [`Store::acquire_each_from`](super::Store::acquire_each_from).
#[derive(Clone, Debug)]
pub struct Paced {
    /// What each was answered, in their order.
    pub answers: Vec<Result<Acquired, StoreError>>,
    /// The store's own time in µs when it answered: the smallest fence that it could have given. `None` from one that does
    /// not tell.
    pub clock: Option<Fence>,
    /// What the store had written down when it answered: see [`Store::teach`](super::Store::teach).
    pub recovered: Option<Recovered>,
}

impl Paced {
    /// The answers of a store that goes by its own time alone, and does not tell it.
    pub const fn without_clock(answers: Vec<Result<Acquired, StoreError>>) -> Self {
        Self { answers, clock: None, recovered: None }
    }
}
