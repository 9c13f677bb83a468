//! The error of work under a lock: not begun, or stopped on its way.

use actix::MailboxError;

use crate::{core::readable_debug, lease::LeaseLostError, request::AcquireError};

/// The reason why work under a lock was not done.
///
/// `?` also turns the errors of `send`, of a request and of [`Lease::run`](crate::Lease::run) into it.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum WithLockError {
    /// The lock was not acquired. The work was not started, and the caller holds nothing that it could use.
    #[error(transparent)]
    NotAcquired(#[from] AcquireError),
    /// The lease was lost while the work ran. The work was stopped at an await, so that its outcome is unknown: all, some
    /// or none of it is done. Look before repeating it, or make it safe to repeat. If others must be kept from seeing a
    /// half-done state, give them the [`fence`](crate::Lease::fence).
    #[error("{0}; the work was stopped, and its outcome is unknown")]
    Lost(#[from] LeaseLostError),
    /// The lock manager is gone: it was shut down, or its actix system has ended. The work was not started. What the
    /// manager may have been granted was released by the shutdown, or ends with its TTL.
    #[error("the lock manager is gone; the work was not started")]
    ManagerGone,
    /// It was called outside of a tokio runtime, whose timer stops the work when the lease is lost without a word. Nothing
    /// was asked for, and the work was not started. In a thread of its own, use `block_on` of a tokio runtime with timers: one that was built without them
    /// (`enable_time`) panics, before anything is asked for.
    #[error(
        "with_lock was called outside of a tokio runtime, whose timer it needs; nothing was asked for, and the work was not started"
    )]
    NoRuntime,
}

impl WithLockError {
    /// Returns a short name for counters and logs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::NotAcquired(error) => error.kind(),
            Self::Lost(_) => "lost",
            Self::ManagerGone => "manager_gone",
            Self::NoRuntime => "no_runtime",
        }
    }
}

/// An answer that never came: the mailbox of the manager is closed.
impl From<MailboxError> for WithLockError {
    fn from(_: MailboxError) -> Self {
        Self::ManagerGone
    }
}

readable_debug!(WithLockError);
