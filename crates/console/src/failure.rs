//! The failures of requests to the console, as problem documents and as pages.

use std::{error::Error, fmt};

use actix_web::{
    HttpResponse, ResponseError,
    http::{StatusCode, header::WWW_AUTHENTICATE},
};
use leasehold::{InvalidValue, text::one_line, web::AsProblem};
use serde::Serialize;
use utoipa::ToSchema;

/// A failure. Its text is for operators: unlike the [errors of an application](leasehold::web#errors-as-responses) it tells what
/// the store said.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    kind: &'static str,
    pub(crate) detail: String,
}

impl Failure {
    fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        Self { status, kind, detail: detail.into() }
    }

    /// A request for a host of another name, or for what is no name.
    pub(crate) fn other_host(name: Option<&String>) -> Self {
        let detail = name.map_or("the request is not for a host with a name or an address".to_owned(), |name| {
            format!("this console is not called {name}; name it with `--host`, or `ConsoleBuilder::host`, if it is")
        });
        Self::new(StatusCode::MISDIRECTED_REQUEST, "other_host", detail)
    }

    pub(crate) fn cross_site() -> Self {
        let detail = "the request does not come from a page of this console, and has no bearer token";
        Self::new(StatusCode::FORBIDDEN, "cross_site", detail)
    }

    pub(crate) fn unauthenticated() -> Self {
        let detail = "this takes the token of the console, as a bearer or by a session";
        Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", detail)
    }

    pub(crate) fn read_only() -> Self {
        let detail = "nothing can be changed from here: the console was started without a token";
        Self::new(StatusCode::FORBIDDEN, "read_only", detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    pub(crate) fn busy(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "busy", detail)
    }

    /// The lock manager, or what the console runs beside it, is gone.
    pub(crate) fn gone() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", "the lock manager is gone")
    }

    /// Input that the console itself does not understand.
    pub(crate) fn invalid(error: &dyn Error) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", one_line(error))
    }
}

/// An invalid value comes from the client here, whatever it is.
impl From<InvalidValue> for Failure {
    fn from(error: InvalidValue) -> Self {
        Self::invalid(&error)
    }
}

impl Failure {
    /// Returns the failure of a question to the lock manager.
    pub(crate) fn of<E: AsProblem + Error>(error: &E) -> Self {
        let problem = error.problem();
        Self::new(problem.status(), problem.kind(), one_line(error))
    }
}

/// A problem document (RFC 9457).
#[derive(Serialize, ToSchema)]
pub(crate) struct Problem<'a> {
    title: &'a str,
    status: u16,
    detail: &'a str,
    kind: &'a str,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.detail)
    }
}

impl Error for Failure {}

impl ResponseError for Failure {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let Self { status, kind, detail } = self;
        let title = status.canonical_reason().unwrap_or("Error");
        let body = Problem { title, status: status.as_u16(), detail, kind };
        let mut response = HttpResponse::build(*status);
        if *status == StatusCode::UNAUTHORIZED {
            response.insert_header((WWW_AUTHENTICATE, "Bearer"));
        }
        response.content_type("application/problem+json").json(body)
    }
}
