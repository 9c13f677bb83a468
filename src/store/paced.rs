//! Acquisitions whose fences begin where the caller proposes: what a quorum asks of its nodes, and is answered.

use std::time::Duration;

use super::{Acquired, StoreError};
use crate::protocol::Fence;

/// How far past its own time a store lets itself be led by a proposed fence, at most.
pub const AHEAD_AT_MOST: Duration = Duration::from_secs(1);

/// The answers to [`Store::acquire_each_from`](super::Store::acquire_each_from).
#[derive(Clone, Debug)]
pub struct Paced {
    /// What each was answered, in their order.
    pub answers: Vec<Result<Acquired, StoreError>>,
    /// The store's own time in µs when it answered: the smallest fence that it could have given. `None` from one that does
    /// not tell.
    pub clock: Option<Fence>,
}

impl Paced {
    /// The answers of a store that goes by its own time alone, and does not tell it.
    pub const fn without_clock(answers: Vec<Result<Acquired, StoreError>>) -> Self {
        Self { answers, clock: None }
    }
}
