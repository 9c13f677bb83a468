//! Whoever changes something, and the audit of what they did.

use std::fmt;

use actix_web::HttpRequest;
use leasehold::TokenPrefix;

use crate::{failure::Failure, view::shown};

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

/// Returns where a request comes from: the address of the connection, which a client cannot choose.
pub(super) fn peer(request: &HttpRequest) -> String {
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
