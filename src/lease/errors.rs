//! The errors of a lease: its loss, and the reasons why it was not renewed or released.

use crate::{
    core::{InvalidValue, LossReason, ResourceName, readable_debug},
    store::StoreError,
};

/// The reason why a lease could not be released.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ReleaseError {
    /// A value of the request is invalid. Nothing was sent.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// The token holds nothing: it was released before, it expired, it never held, or its ticket was adopted again. Nothing was changed.
    #[error("not the holder: this token holds nothing (it was released, or it expired)")]
    NotHolder,
    /// The lease had been lost before it was released. Work done since may have run beside that of another holder.
    /// Whatever the store still held for it has been released.
    #[error("the lease was lost before it was released: {reason}")]
    Lost {
        /// The reason of the loss.
        reason: LossReason,
    },
    /// The store gave no certain answer. The lease is over for this process. The library retries the release until
    /// the end of the lease, at which it is over in any case.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why a lease was not renewed, or not described.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RenewError {
    /// The description is too long. Nothing was changed, and nothing is sent.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// The lease is over. Nothing was sent, or the store said that it is not held.
    #[error("the lease is lost: {reason}")]
    Lost {
        /// The reason of the loss.
        reason: LossReason,
    },
    /// This manager knows no lease with this token. Nothing was sent.
    #[error("this lock manager holds no lease of that token")]
    NotFound,
    /// The store gave no certain answer, or cannot do it. The lease is valid until the end that it had before.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The loss of a lease, or of one of several that are held together, and with it of the right to go on.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the lease of {resource} was lost: {reason}")]
#[non_exhaustive]
pub struct LeaseLostError {
    /// The resource of the lease that was lost. Of a set, the one that was first found lost.
    pub resource: ResourceName,
    /// The reason of the loss.
    pub reason: LossReason,
}

/// An incomplete release of a set. The set is over for this process all the same, and the library keeps releasing it.
#[derive(Clone, thiserror::Error)]
#[error("of the set {} could not be released as it should be; {}: {}", failed.len(), failed[0].0, failed[0].1)]
#[non_exhaustive]
pub struct ReleaseSetError {
    /// Each resource that was not released, with the reason, in the order of their names. At least one.
    pub failed: Vec<(ResourceName, ReleaseError)>,
}

readable_debug!(ReleaseError, RenewError, LeaseLostError, ReleaseSetError);
