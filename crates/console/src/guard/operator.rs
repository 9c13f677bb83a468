//! Whoever changes something, and the audit of what they did.

use std::{
    fmt,
    future::{Ready, ready},
};

use actix_web::{FromRequest, HttpRequest, dev::Payload, web::Data};
use leasehold::TokenPrefix;

use super::Guard;
use crate::{failure::Failure, model::shown};

/// The header by which a program says who it acts for.
const NAME_HEADER: &str = "leasehold-operator";

/// Somebody who has shown the token.
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    /// The number of the session; `None` for a program with the token.
    session: Option<TokenPrefix>,
    /// The name that they gave themselves. Nobody has checked it.
    pub(crate) name: Option<String>,
}

impl Operator {
    pub(super) fn of_program(request: &HttpRequest) -> Self {
        let name = request.headers().get(NAME_HEADER).and_then(|value| value.to_str().ok());
        Self { session: None, name: named(name.unwrap_or_default()) }
    }

    pub(super) fn of_session(number: TokenPrefix, name: &str) -> Self {
        Self { session: Some(number), name: named(name) }
    }
}

/// Writes the name that they gave themselves, and how they have shown the token.
impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_deref().unwrap_or("somebody");
        match self.session {
            Some(session) => write!(f, "{name} (session {session})"),
            None => write!(f, "{name} (bearer)"),
        }
    }
}

fn named(name: &str) -> Option<String> {
    let name = name.trim();
    (!name.is_empty()).then(|| shown(name, 60))
}

/// The right to change something. A handler that takes it as an argument is not run for anybody else.
pub(crate) struct Change {
    pub(crate) who: Operator,
    pub(crate) from: String,
}

impl FromRequest for Change {
    type Error = Failure;
    type Future = Ready<Result<Self, Failure>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let from = peer(request);
        let guard = request.app_data::<Data<Guard>>();
        let allowed = match guard {
            Some(guard) if guard.allows_changes() => {
                guard.operator(request).ok_or_else(Failure::unauthenticated)
            }
            Some(_) | None => Err(Failure::read_only()),
        };
        let allowed = allowed.inspect_err(|failure| refused(request, failure));
        ready(allowed.map(|who| Self { who, from }))
    }
}

/// Returns where a request comes from: the address of the connection, which a client cannot choose.
fn peer(request: &HttpRequest) -> String {
    request.peer_addr().map_or_else(|| "unknown".to_owned(), |address| address.to_string())
}

/// Writes to the audit that somebody has asked for something that takes a while and changes nothing in the store.
pub(crate) fn asked_for(request: &HttpRequest, who: &str, action: &str) {
    let from = peer(request);
    tracing::info!(target: "leasehold::audit", who, from, action, "asked for");
}

/// Writes to the audit what somebody has done that changes nothing in the store.
pub(crate) fn audited(request: &HttpRequest, who: &str, action: &str, outcome: &str) {
    let from = peer(request);
    tracing::info!(target: "leasehold::audit", who, from, action, outcome, "over");
}

/// Writes to the audit that somebody was refused.
pub(crate) fn refused(request: &HttpRequest, failure: &Failure) {
    let (from, action) = (peer(request), shown(request.path(), 200));
    tracing::warn!(target: "leasehold::audit", from, action, outcome = %failure, "refused");
}
