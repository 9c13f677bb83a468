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

    const fn new(
        status: StatusCode,
        kind: &'static str,
        detail: &'static str,
        retry_after: Option<Duration>,
    ) -> Self {
        Self { status, kind, detail, retry_after }
    }

    /// Returns the problem of a lock that somebody else holds, and that may be had after this time.
    pub(crate) fn held(after: Duration) -> Self {
        let retry_after = Some(after.clamp(SOON, LATEST));
        Self::new(StatusCode::LOCKED, "held", "somebody else holds the lock", retry_after)
    }

    /// A lock, or a manager, that too many wait for.
    pub(crate) const BUSY: Self =
        Self::new(StatusCode::TOO_MANY_REQUESTS, "busy", "too many wait already", Some(SOON));

    /// Locks that cannot be had at the moment.
    pub(crate) const UNAVAILABLE: Self = Self::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "unavailable",
        "the locks are not available at the moment",
        Some(SOON),
    );

    /// A server that is being stopped.
    pub(crate) const SHUTTING_DOWN: Self = Self::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "shutting_down",
        "the server is shutting down",
        Some(SOON),
    );

    /// A lock that was lost while the request was served: nobody knows what is done.
    pub(crate) const OUTCOME_UNKNOWN: Self = Self::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "outcome_unknown",
        "the lock was lost on the way; the outcome is unknown: all, some or none of it may be done",
        None,
    );

    /// A token that holds nothing.
    pub(crate) const NOT_HOLDER: Self =
        Self::new(StatusCode::CONFLICT, "not_holder", "the lock is not held any more", None);

    /// A name that the client sent is not allowed.
    pub(crate) const INVALID: Self = Self::new(
        StatusCode::BAD_REQUEST,
        "invalid",
        "what is to be locked, or by whom, is not named as it has to be",
        None,
    );

    /// A fence that is smaller than one that has been here: nothing was done.
    pub(crate) const STALE_FENCE: Self = Self::new(
        StatusCode::PRECONDITION_FAILED,
        "stale_fence",
        "another holder of the lock has been here since; nothing was done",
        None,
    );

    /// A mistake of the program or of its configuration, which the log tells.
    pub(crate) const INTERNAL: Self = Self::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "the server made a mistake, which its log tells",
        None,
    );

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
            // Rounded up: whoever comes back after it does not come too early.
            response.insert_header((RETRY_AFTER, pause.as_secs() + u64::from(pause.subsec_nanos() > 0)));
        }
        let title = status.canonical_reason().unwrap_or("Error");
        let body = json!({ "title": title, "status": status.as_u16(), "detail": detail, "kind": kind });
        response.content_type("application/problem+json").body(body.to_string())
    }
}
