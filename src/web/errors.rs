//! The errors of locks as responses: the problem that each of them is.

use std::error::Error;

use actix_web::{HttpResponse, ResponseError, http::StatusCode};

use super::problem::Problem;
use crate::{
    core::InvalidValue,
    fenced::{FencedWriteError, HEADER, OpenError, StaleFenceError},
    lease::{LeaseLostError, NotHeldError, ReleaseError, ReleaseSetError, RenewError},
    manager::with_lock::WithLockError,
    request::{AcquireError, InspectError, RevokeError},
    store::{Certainty, StoreError},
};

/// An error that a client can be told about. It is implemented for all errors of this library, to be called.
pub trait AsProblem {
    /// Returns what the client is told.
    fn problem(&self) -> Problem;
}

impl AsProblem for AcquireError {
    fn problem(&self) -> Problem {
        match self.cause() {
            Self::Invalid(invalid) => invalid.problem(),
            Self::Held { remaining, expected_wait, .. } => Problem::held(expected_wait.unwrap_or(*remaining)),
            Self::QueueFull { .. } | Self::Busy { .. } => Problem::BUSY,
            Self::Store(error) => error.problem(),
            Self::ShuttingDown => Problem::SHUTTING_DOWN,
            Self::TooLate { .. } | Self::Restarted => Problem::UNAVAILABLE,
            // `cause` returns none.
            Self::OneOfSet { .. } => Problem::INTERNAL,
        }
    }
}

impl AsProblem for StoreError {
    fn problem(&self) -> Problem {
        if self.is_transient() { Problem::UNAVAILABLE } else { Problem::INTERNAL }
    }
}

impl AsProblem for InvalidValue {
    fn problem(&self) -> Problem {
        // The names of what is locked, of who locks it, the tokens and the fences come from clients more often than not.
        let of_clients = ["resource", "resources", "owner", "token", "token prefix", HEADER];
        if of_clients.contains(&self.field.as_str()) { Problem::INVALID } else { Problem::INTERNAL }
    }
}

impl AsProblem for WithLockError {
    fn problem(&self) -> Problem {
        match self {
            Self::NotAcquired(error) => error.problem(),
            Self::Lost(lost) => lost.problem(),
            Self::ManagerGone => Problem::SHUTTING_DOWN,
            Self::NoRuntime => Problem::INTERNAL,
        }
    }
}

impl AsProblem for LeaseLostError {
    fn problem(&self) -> Problem {
        Problem::OUTCOME_UNKNOWN
    }
}

impl AsProblem for NotHeldError {
    fn problem(&self) -> Problem {
        match self {
            Self::NotHere { .. } => Problem::INTERNAL,
            Self::Lost(lost) => lost.problem(),
        }
    }
}

impl AsProblem for ReleaseError {
    fn problem(&self) -> Problem {
        match self {
            Self::Invalid(invalid) => invalid.problem(),
            Self::NotHolder => Problem::NOT_HOLDER,
            Self::Lost { .. } => Problem::OUTCOME_UNKNOWN,
            Self::Store(error) => error.problem(),
        }
    }
}

impl AsProblem for ReleaseSetError {
    fn problem(&self) -> Problem {
        let mut problems = self.failed.iter().map(|(_, error)| error.problem());
        let first = problems.next().unwrap_or(Problem::INTERNAL);
        // A part that was lost says most: something may have been done beside another holder.
        problems.find(|problem| *problem == Problem::OUTCOME_UNKNOWN).unwrap_or(first)
    }
}

impl AsProblem for RenewError {
    fn problem(&self) -> Problem {
        match self {
            Self::Invalid(invalid) => invalid.problem(),
            Self::Lost { .. } => Problem::OUTCOME_UNKNOWN,
            Self::NotFound => Problem::NOT_HOLDER,
            Self::Store(error) => error.problem(),
        }
    }
}

impl AsProblem for InspectError {
    fn problem(&self) -> Problem {
        match self {
            Self::Invalid(invalid) => invalid.problem(),
            Self::Busy { .. } => Problem::BUSY,
            Self::Store(error) => error.problem(),
        }
    }
}

impl AsProblem for RevokeError {
    fn problem(&self) -> Problem {
        match self {
            Self::Invalid(invalid) => invalid.problem(),
            // Repeating one without grace could take the resource from somebody who got it since.
            Self::Store(error) if error.certainty() == Certainty::Unknown => Problem::OUTCOME_UNKNOWN,
            Self::Store(error) => error.problem(),
            Self::Busy { .. } => Problem::BUSY,
            Self::ShuttingDown => Problem::SHUTTING_DOWN,
        }
    }
}

impl AsProblem for StaleFenceError {
    fn problem(&self) -> Problem {
        Problem::STALE_FENCE
    }
}

impl AsProblem for OpenError {
    fn problem(&self) -> Problem {
        match self {
            Self::NotValid { .. } => Problem::OUTCOME_UNKNOWN,
            Self::OtherResource { .. } | Self::NotAlone { .. } | Self::NoFence { .. } => Problem::INTERNAL,
        }
    }
}

impl<Cause: Error + 'static> AsProblem for FencedWriteError<Cause> {
    fn problem(&self) -> Problem {
        match self {
            Self::Stale(stale) => stale.problem(),
            Self::Failed(_) => Problem::OUTCOME_UNKNOWN,
        }
    }
}

macro_rules! response_errors {
    ($($error:ty $([$cause:ident])?),+ $(,)?) => {$(
        /// The response is described in [`web`](crate::web#errors-as-responses).
        impl$(<$cause: Error + 'static>)? ResponseError for $error {
            fn status_code(&self) -> StatusCode {
                self.problem().status
            }

            fn error_response(&self) -> HttpResponse {
                self.problem().response(self)
            }
        }
    )+};
}

response_errors!(
    AcquireError,
    FencedWriteError<Cause> [Cause],
    InspectError,
    InvalidValue,
    LeaseLostError,
    NotHeldError,
    OpenError,
    ReleaseError,
    ReleaseSetError,
    RenewError,
    RevokeError,
    StaleFenceError,
    StoreError,
    WithLockError,
);
