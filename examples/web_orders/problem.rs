//! Why a request was not served, and what the client is to do.

use std::fmt;

use actix::MailboxError;
use actix_web::{
    HttpResponse, ResponseError,
    http::{StatusCode, header::RETRY_AFTER},
};
use leasehold::{AcquireError, InspectError};
use serde_json::json;

/// Why a request was not served. After each of these the client may ask again, and does not pay twice by it.
#[derive(Debug)]
pub(crate) enum Problem {
    /// Somebody else works on the order. Nothing was paid by this request.
    Held { by: String, retry_after: u64 },
    /// The locks cannot be had at the moment. Nothing was paid by this request.
    Unavailable(String),
    /// The lock was lost on the way: the order may be paid, or not.
    Unknown(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held { by, .. } => write!(f, "the order is locked by somebody who {by}"),
            Self::Unavailable(why) => f.write_str(why),
            Self::Unknown(why) => write!(f, "the outcome is unknown: {why}"),
        }
    }
}

impl Problem {
    /// After how many seconds it is worth while to ask again.
    const fn retry_after(&self) -> u64 {
        match self {
            Self::Held { retry_after, .. } => *retry_after,
            Self::Unavailable(_) | Self::Unknown(_) => 1,
        }
    }

    const fn hint(&self) -> &'static str {
        match self {
            Self::Held { .. } | Self::Unavailable(_) => "nothing was paid by this request; ask again",
            Self::Unknown(_) => {
                "ask again: an order that was paid is answered with its receipt, and not paid twice"
            }
        }
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Held { .. } => StatusCode::LOCKED,
            Self::Unavailable(_) | Self::Unknown(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn error_response(&self) -> HttpResponse {
        HttpResponse::build(self.status_code())
            .insert_header((RETRY_AFTER, self.retry_after()))
            .json(json!({ "error": self.to_string(), "hint": self.hint() }))
    }
}

impl From<AcquireError> for Problem {
    fn from(error: AcquireError) -> Self {
        match error {
            AcquireError::Held { by, remaining, .. } => {
                let by = by.metadata.get("purpose").cloned().unwrap_or_else(|| by.token.to_string());
                // It may be free earlier; by then the holder has renewed, or is gone.
                Self::Held { by, retry_after: remaining.as_secs() + 1 }
            }
            other => Self::Unavailable(other.to_string()),
        }
    }
}

impl From<InspectError> for Problem {
    fn from(error: InspectError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<MailboxError> for Problem {
    fn from(_: MailboxError) -> Self {
        Self::Unavailable("the server is being stopped".to_owned())
    }
}
