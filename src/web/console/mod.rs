//! The console: pages for the browser, an API in JSON and a stream of events about the locks of a store.
//!
//! # Layout
//! [`observe`] is the actor that looks at the store once a second, with a history of bounded size. [`model`] has the views as
//! plain values, which are also the bodies of the API, and [`read`] fills them. [`pages`] shows them as HTML, [`api`] as JSON,
//! and [`events`] tells that something has changed. [`guard`] says who may read and change, [`changes`] makes changes and
//! writes the audit. [`shared`] is what the workers of a server share. **Invariant:** nothing changes anything without a
//! `Change`, which only the guard makes.

mod api;
mod changes;
mod events;
#[cfg(feature = "doctor")]
mod examine;
mod failure;
mod guard;
mod model;
mod observe;
mod pages;
mod read;
mod shared;

use std::{fmt, time::Duration};

use actix::{Addr, Recipient};
use actix_web::{
    Error, HttpRequest, Scope,
    body::{BoxBody, MessageBody},
    dev::{AppService, HttpServiceFactory, ServiceRequest, ServiceResponse},
    http::header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    },
    middleware::{Next, from_fn},
    web::{Data, FormConfig, JsonConfig, QueryConfig},
};

use self::{failure::Failure, guard::Guard, shared::Shared};
#[cfg(feature = "doctor")]
use crate::config::Config;
use crate::{
    core::{InvalidValue, ResourceName},
    manager::LockManager,
    tuner::TunerEvent,
};

/// The largest body of a request.
const LARGEST: usize = 8 * 1024;

/// Returns the builder of a console for the store of this manager. docs/console.md has what it shows, and how it is kept.
///
/// ```no_run
/// use actix_web::{App, HttpServer, web::scope};
/// use leasehold::{Config, web::{console, serve}};
///
/// #[actix_web::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let locks = Config::load()?.start()?;
///     // Once, and outside of the closure: all workers share it.
///     let console = console(locks.clone()).start()?;
///     let server = HttpServer::new(move || App::new().service(scope("/locks").service(console.clone())));
///     serve(server.bind("127.0.0.1:8080")?, locks).await?;
///     Ok(())
/// }
/// ```
pub fn console(locks: Addr<LockManager>) -> ConsoleBuilder {
    ConsoleBuilder {
        locks,
        token: None,
        reading_needs_token: false,
        hosts: Vec::new(),
        elections: Vec::new(),
        schedules: Vec::new(),
        #[cfg(feature = "doctor")]
        doctor: None,
    }
}

/// The builder of a [`Console`].
#[must_use = "a console does nothing until it is started"]
pub struct ConsoleBuilder {
    locks: Addr<LockManager>,
    token: Option<String>,
    reading_needs_token: bool,
    hosts: Vec<String>,
    elections: Vec<Vec<u8>>,
    schedules: Vec<Vec<u8>>,
    #[cfg(feature = "doctor")]
    doctor: Option<Config>,
}

impl ConsoleBuilder {
    /// Sets the token that whoever changes something has to show: 16 to 256 printable ASCII characters. Default: none, and
    /// nothing can be changed.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Asks for the token also from whoever only reads. Default: everybody who reaches the server may read.
    pub const fn reading_needs_token(mut self) -> Self {
        self.reading_needs_token = true;
        self
    }

    /// Adds a name of the server, without port, by which browsers may reach the console. `localhost` and addresses in digits
    /// are known; other names are refused, because anybody can let a name of their own point to this machine.
    pub fn host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// Adds an election that is always shown. Others are shown while somebody waits for them.
    pub fn election(mut self, name: impl AsRef<[u8]>) -> Self {
        self.elections.push(name.as_ref().to_vec());
        self
    }

    /// Adds a schedule that is always shown. The store tells the others by itself, as far as one walk over its names reaches.
    pub fn schedule(mut self, name: impl AsRef<[u8]>) -> Self {
        self.schedules.push(name.as_ref().to_vec());
        self
    }

    /// Sets the configuration whose deployment the doctor of the console examines. Default: none, and there is no doctor.
    #[cfg(feature = "doctor")]
    pub fn doctor(mut self, config: Config) -> Self {
        self.doctor = Some(config);
        self
    }

    /// Starts the observer of the console, in the arbiter of the caller.
    ///
    /// # Errors
    /// [`InvalidValue`] for a token that is too short, reading that needs a token where there is none, and a name of an
    /// election or of a schedule that is none.
    ///
    /// # Panics
    /// When it is called outside of a tokio `LocalSet`. Every actix arbiter is one.
    pub fn start(self) -> Result<Console, InvalidValue> {
        let guard = Guard::new(self.token, self.reading_needs_token, self.hosts)?;
        let names =
            |names: Vec<Vec<u8>>| -> Result<Vec<_>, _> { names.into_iter().map(ResourceName::new).collect() };
        let (elections, schedules) = (names(self.elections)?, names(self.schedules)?);
        let mut shared = Shared::new(self.locks);
        (shared.elections, shared.schedules) = (elections, schedules);
        #[cfg(feature = "doctor")]
        if let Some(config) = self.doctor {
            shared.doctor = examine::Doctor::new(config);
        }
        Ok(Console { guard: Data::new(guard), shared: Data::new(shared) })
    }
}

impl fmt::Debug for ConsoleBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsoleBuilder").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

/// A console, to be mounted in an actix-web application, at any scope.
///
/// It takes all requests below its scope. At the root of an application mount it last. Its clones are the same console.
#[derive(Clone)]
pub struct Console {
    guard: Data<Guard>,
    shared: Data<Shared>,
}

/// The contention of a store, as a [`Console`] has seen it last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contention {
    /// The number of resources that somebody waits for; `None` if the last look failed, or none was made yet.
    pub resources: Option<u64>,
    /// The number of waiters for them.
    pub waiters: Option<u64>,
    /// False if there were more resources than one look reaches.
    pub complete: bool,
    /// The time for which the console has looked.
    pub observed_for: Duration,
}

impl Console {
    /// Returns what the console has seen last.
    pub fn contention(&self) -> Contention {
        let seen = self.shared.watch();
        Contention {
            resources: seen.contended,
            waiters: seen.waiting,
            complete: seen.complete,
            observed_for: Duration::from_millis(seen.observed_for_ms),
        }
    }

    /// Checks a request for something beside the console, metrics for instance: its host, and the token if reading needs it.
    ///
    /// # Errors
    /// The answer for whoever may not read.
    pub fn check(&self, request: &HttpRequest) -> Result<(), Error> {
        self.guard.check_host(request)?;
        Ok(self.guard.check_reader(request)?)
    }

    /// Returns the recipient for a [`Tuner`](crate::tuner::Tuner), so that the console shows what it changes:
    /// `Tuner::builder(&locks).tell(console.tuner_events())`.
    pub fn tuner_events(&self) -> Recipient<TunerEvent> {
        self.shared.observer.clone().recipient()
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console").field("contention", &self.contention()).finish_non_exhaustive()
    }
}

impl HttpServiceFactory for Console {
    fn register(self, config: &mut AppService) {
        // What is wrong with a body or a query is a problem document too.
        let json =
            JsonConfig::default().limit(LARGEST).error_handler(|error, _| Failure::invalid(&error).into());
        let form =
            FormConfig::default().limit(LARGEST).error_handler(|error, _| Failure::invalid(&error).into());
        let query = QueryConfig::default().error_handler(|error, _| Failure::invalid(&error).into());
        let Self { guard, shared } = self;
        let scope =
            Scope::new("").app_data(guard).app_data(shared).app_data(json).app_data(form).app_data(query);
        scope.configure(api::configure).configure(pages::configure).wrap(from_fn(keep)).register(config);
    }
}

/// Lets a request in if the guard does, and tells the browser what the answer may do: nothing but to show itself.
async fn keep(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let mut response = match admitted(&request) {
        Ok(()) => next.call(request).await?.map_into_boxed_body(),
        Err(failure) => {
            let answer = pages::refused(request.request(), failure);
            request.into_response(answer)
        }
    };
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
        connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With `no-referrer` a browser would send a form with the origin `null`.
        (REFERRER_POLICY, "same-origin"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

fn admitted(request: &ServiceRequest) -> Result<(), Failure> {
    let Some(guard) = request.app_data::<Data<Guard>>() else { return Err(Failure::gone()) };
    let request = request.request();
    guard.check_host(request)?;
    if !request.method().is_safe() {
        guard.check_site(request).inspect_err(|failure| guard::refused(request, failure))?;
    }
    if pages::is_open(request) { Ok(()) } else { guard.check_reader(request) }
}
