//! A problem document: what a client is told about an error, and nothing else (RFC 9457).

use std::{error::Error, time::Duration};

use actix_web::{
    HttpResponse,
    http::{StatusCode, header::RETRY_AFTER},
};
use serde_json::json;

use crate::core::one_line;

/// The pause after which a client may try again when nothing better is known.
const SOON: Duration = Duration::from_secs(1);

/// The longest pause that a client is told. A holder may release much earlier than its end, or than is expected.
const LATEST: Duration = Duration::from_secs(60);

/// A problem, without anything that a client must not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) kind: &'static str,
    detail: &'static str,
    retry_after: Option<Duration>,
}

impl Problem {
    /// Returns the status of the response.
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the kind, such as `held`: the third column of the [table](crate::web#errors-as-responses).
    pub const fn kind(&self) -> &'static str {
        self.kind
    }

    /// Returns the problem of a lock that somebody else holds, and that may be had after this time.
    pub(crate) fn held(after: Duration) -> Self {
        let retry_after = Some(after.clamp(SOON, LATEST));
        let detail = "somebody else holds the lock";
        Self { status: StatusCode::LOCKED, kind: "held", detail, retry_after }
    }

    /// A lock, or a manager, that too many wait for.
    pub(crate) const BUSY: Self = Self {
        status: StatusCode::TOO_MANY_REQUESTS,
        kind: "busy",
        detail: "too many wait already",
        retry_after: Some(SOON),
    };

    /// Locks that cannot be had at the moment.
    pub(crate) const UNAVAILABLE: Self = Self {
        status: StatusCode::SERVICE_UNAVAILABLE,
        kind: "unavailable",
        detail: "the locks are not available at the moment",
        retry_after: Some(SOON),
    };

    /// A server that is being stopped.
    pub(crate) const SHUTTING_DOWN: Self = Self {
        status: StatusCode::SERVICE_UNAVAILABLE,
        kind: "shutting_down",
        detail: "the server is shutting down",
        retry_after: Some(SOON),
    };

    /// A lock that was lost while the request was served: nobody knows what is done.
    pub(crate) const OUTCOME_UNKNOWN: Self = Self {
        status: StatusCode::SERVICE_UNAVAILABLE,
        kind: "outcome_unknown",
        detail: "the lock was lost on the way; the outcome is unknown: all, some or none of it may be done",
        retry_after: None,
    };

    /// A token that holds nothing.
    pub(crate) const NOT_HOLDER: Self = Self {
        status: StatusCode::CONFLICT,
        kind: "not_holder",
        detail: "the lock is not held any more",
        retry_after: None,
    };

    /// A name that the client sent is not allowed.
    pub(crate) const INVALID: Self = Self {
        status: StatusCode::BAD_REQUEST,
        kind: "invalid",
        detail: "what is to be locked, or by whom, is not named as it has to be",
        retry_after: None,
    };

    /// A fence that is smaller than one that has been here: nothing was done.
    pub(crate) const STALE_FENCE: Self = Self {
        status: StatusCode::PRECONDITION_FAILED,
        kind: "stale_fence",
        detail: "another holder of the lock has been here since; nothing was done",
        retry_after: None,
    };

    /// A mistake of the program or of its configuration, which the log tells.
    pub(crate) const INTERNAL: Self = Self {
        status: StatusCode::INTERNAL_SERVER_ERROR,
        kind: "internal",
        detail: "the server made a mistake, which its log tells",
        retry_after: None,
    };

    /// Returns the same problem in a health check, whose answer is always 503.
    pub(crate) fn of_health(self) -> Self {
        // Rights that are missing, for instance: the server is not broken, and not of use either.
        let problem = if self == Self::INTERNAL { Self::UNAVAILABLE } else { self };
        Self { status: StatusCode::SERVICE_UNAVAILABLE, ..problem }
    }

    /// Returns the response to a client. A mistake of the server is logged.
    pub(crate) fn response(self, error: &dyn Error) -> HttpResponse {
        let Self { status, kind, detail, retry_after } = self;
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            tracing::error!(error = one_line(error), "a request failed");
        }
        let mut response = HttpResponse::build(status);
        if let Some(pause) = retry_after {
            response.insert_header((RETRY_AFTER, whole_seconds(pause)));
        }
        let title = status.canonical_reason().unwrap_or("Error");
        let body = json!({ "title": title, "status": status.as_u16(), "detail": detail, "kind": kind });
        response.content_type("application/problem+json").body(body.to_string())
    }
}

/// Returns the time in whole seconds, rounded up: whoever comes back after it does not come too early.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}
