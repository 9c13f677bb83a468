//! The guard of the console: from which hosts and sites a request may come, and who may read and change.
//!
//! * **Host.** A name that an attacker owns can be made to point to this machine (DNS rebinding). Then the browser takes the
//!   console for a part of the attacker's site, but still sends the attacker's name as `Host`. So names are refused unless
//!   they are known. An address in digits was not looked up, and cannot be rebound.
//! * **Site.** A browser sends a form of any site anywhere. Cookies know no ports, and `SameSite` takes all ports of a host
//!   for one site. So each unsafe request has to come from the very origin of the console, and says so by `Sec-Fetch-Site`
//!   and `Origin`, which no page can forge.
//! * **Token.** Programs send it as a bearer, people once to get a session.

mod operator;
mod session;
mod site;

use std::{
    collections::BTreeSet,
    future::{Ready, ready},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use actix_web::{
    FromRequest, HttpRequest,
    dev::Payload,
    http::header::{AUTHORIZATION, COOKIE, HeaderMap},
    web::Data,
};
use leasehold::InvalidValue;
use subtle::ConstantTimeEq;
use tokio::time::Instant;

use self::{operator::peer, session::Sessions};
pub(crate) use self::{
    operator::{Operator, asked_for, audited, refused},
    session::LIFETIME,
};
use crate::failure::Failure;

/// The rules for requests to one console.
pub(crate) struct Guard {
    /// The secret that allows changes. `None`: nobody may change anything.
    token: Option<String>,
    reading_needs_token: bool,
    hosts: BTreeSet<String>,
    sessions: Sessions,
    /// The moment of the last line of the audit about another host.
    told_of_host: Mutex<Option<Instant>>,
}

/// The time between two lines of the audit about another host. Any page can send as many of these requests as it likes.
const OTHER_HOST_EVERY: Duration = Duration::from_secs(60);

impl Guard {
    /// Creates a guard.
    ///
    /// # Errors
    /// [`InvalidValue`] for a token that is too short or cannot be sent, and for reading that needs a token without one. The
    /// token is not told.
    pub(crate) fn new(
        token: Option<String>,
        reading_needs_token: bool,
        hosts: impl IntoIterator<Item = String>,
    ) -> Result<Self, InvalidValue> {
        const ALLOWED: &str = "16 to 256 printable ASCII characters without blanks";
        if let Some(token) = &token
            && !((16..=256).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            let length = format!("one of {} bytes", token.len());
            return Err(InvalidValue::new("console token", length, ALLOWED));
        }
        if token.is_none() && reading_needs_token {
            return Err(InvalidValue::new("console token", "none, where reading needs one", ALLOWED));
        }
        let hosts = hosts.into_iter().map(|host| site::normal(&host)).collect();
        Ok(Self {
            token,
            reading_needs_token,
            hosts,
            sessions: Sessions::default(),
            told_of_host: Mutex::default(),
        })
    }

    /// Returns true if somebody can change something.
    pub(crate) const fn allows_changes(&self) -> bool {
        self.token.is_some()
    }

    /// Refuses a request for another host. The audit has one line a minute of that.
    pub(crate) fn check_host(&self, request: &HttpRequest) -> Result<(), Failure> {
        site::check_host(request, &self.hosts).inspect_err(|failure| {
            if self.may_tell_of_host() {
                refused(request, failure);
            }
        })
    }

    fn may_tell_of_host(&self) -> bool {
        // Nothing panics while it is locked.
        let mut told = self.told_of_host.lock().unwrap_or_else(PoisonError::into_inner);
        let may = told.is_none_or(|at| at.elapsed() >= OTHER_HOST_EVERY);
        if may {
            *told = Some(Instant::now());
        }
        may
    }

    /// Refuses an unsafe request that does not certainly come from the console itself or from a program with the token, and
    /// one of another site's page that would only make the store work.
    pub(crate) fn check_site(&self, request: &HttpRequest) -> Result<(), Failure> {
        if request.method().is_safe() {
            return site::check_reading(request);
        }
        site::check_origin(request, bearer(request.headers()).is_some())
    }

    /// Refuses a request that may not even read.
    pub(crate) fn check_reader(&self, request: &HttpRequest) -> Result<(), Failure> {
        if self.reading_needs_token && self.operator(request).is_none() {
            return Err(Failure::unauthenticated());
        }
        Ok(())
    }

    /// Returns who sends a request, if it has the token or a session.
    pub(crate) fn operator(&self, request: &HttpRequest) -> Option<Operator> {
        let headers = request.headers();
        match bearer(headers) {
            // A wrong token is not made good by a session.
            Some(token) => self.is_token(token).then(|| Operator::of_program(request)),
            None => session_ids(headers).find_map(|id| self.sessions.operator(id)),
        }
    }

    /// Compares with the token, in a time that tells nothing of its characters.
    pub(crate) fn is_token(&self, given: &str) -> bool {
        let Some(token) = &self.token else { return false };
        token.as_bytes().ct_eq(given.as_bytes()).into()
    }

    /// Begins a session, and returns its secret and whose it is.
    pub(crate) fn begin_session(&self, name: &str) -> (String, Operator) {
        self.sessions.begin(name)
    }

    /// Ends the session of a request.
    pub(crate) fn end_session(&self, request: &HttpRequest) {
        session_ids(request.headers()).for_each(|id| self.sessions.end(id));
    }
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

/// The cookie that carries the secret of a session.
pub(crate) const SESSION_COOKIE: &str = "leasehold_console";

/// Returns the token that a program sends. Another scheme is that of a proxy.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

/// Returns true if a request shows a token or a session, whether or not it is a good one.
pub(crate) fn has_credentials(request: &HttpRequest) -> bool {
    bearer(request.headers()).is_some() || session_ids(request.headers()).next().is_some()
}

fn session_ids(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let cookies = headers.get_all(COOKIE).filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| *name == SESSION_COOKIE).map(|(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_and_printable_and_its_error_does_not_tell_it() {
        for wrong in ["", "short-secret", "with a blank in its middle", "ümläut-ümläut-ümläut"] {
            let error = Guard::new(Some(wrong.to_owned()), false, []).err().unwrap().to_string();
            assert!(
                error.starts_with("invalid console token") && (wrong.is_empty() || !error.contains(wrong))
            );
        }
        assert!(Guard::new(None, true, []).is_err());
        let guard = Guard::new(Some("0123456789abcdef".to_owned()), true, []).unwrap();
        assert!(guard.is_token("0123456789abcdef"));
        for wrong in ["", "0123456789abcdeF", "0123456789abcdef0", "0123456789abcde"] {
            assert!(!guard.is_token(wrong), "{wrong}");
        }
        assert!(!Guard::new(None, false, []).unwrap().is_token(""));
    }
}
