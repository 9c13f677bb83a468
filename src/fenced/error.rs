//! The errors of fenced writes: overtaken, or not done.

use std::error::Error;

use crate::core::{Fence, Mode, ResourceName, readable, readable_debug};

/// The refusal of a fence, because a larger one is known: somebody else has been granted the lock since. Nothing was written.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("fence {fence} is stale: {} is known", larger(.known))]
#[non_exhaustive]
pub struct StaleFenceError {
    /// The fence that was refused.
    pub fence: Fence,
    /// The largest fence that is known, if the check tells it.
    pub known: Option<Fence>,
}

impl StaleFenceError {
    /// Creates the refusal of a fence, with the larger one that is known.
    pub const fn new(fence: Fence, known: Option<Fence>) -> Self {
        Self { fence, known }
    }
}

fn larger(known: &Option<Fence>) -> String {
    known.map_or_else(|| "a larger one".to_owned(), |known| known.to_string())
}

/// The reason why a fenced write was not done, or may not have been done.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum FencedWriteError<Cause: Error + 'static> {
    /// The fence is stale. Nothing was written.
    #[error(transparent)]
    Stale(#[from] StaleFenceError),
    /// The write failed. It is unknown whether it was done. It may be repeated with the same fence, unless another write has
    /// been sent since.
    #[error("a fenced write failed; its outcome is unknown")]
    Failed(#[source] Cause),
}

impl<Cause: Error + 'static> std::fmt::Debug for FencedWriteError<Cause> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        readable(f, "FencedWriteError", self)
    }
}

/// The reason why a lease does not open a [`Fenced`](super::Fenced) value.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The lease is one of another resource.
    #[error("a lease of {held} does not open what {needed} protects")]
    OtherResource {
        /// The resource that protects the value.
        needed: ResourceName,
        /// The resource of the lease.
        held: ResourceName,
    },
    /// The lease may not hold any more.
    #[error("the lease of {resource} may not hold any more")]
    NotValid {
        /// The resource of the lease.
        resource: ResourceName,
    },
    /// Others may hold the resource at the same time, so that the value cannot be changed.
    #[error(
        "a lease of {resource} in the mode {mode} is not alone; changing the value needs an exclusive lease"
    )]
    NotAlone {
        /// The resource of the lease.
        resource: ResourceName,
        /// The mode of the lease.
        mode: Mode,
    },
    /// The store gives no fences: [`Layout::Plain`](crate::Layout::Plain).
    #[error("the lease of {resource} has no fence, because its store gives none")]
    NoFence {
        /// The resource of the lease.
        resource: ResourceName,
    },
}

readable_debug!(StaleFenceError, OpenError);
