//! The console: pages for the browser, an API in JSON and a stream of events about the locks of a store.
//!
//! # Layout
//! `observe` is the actor that looks at the store once a second, with a history of bounded size. `model` has the views as
//! plain values, which are also the bodies of the API, and `read` fills them, that of a `recommendation` from a file; `recent` keeps the walks of many pages few. `pages` shows them as HTML, `api` as JSON,
//! and `events` tells that something has changed. `admission` is the way in, `guard` says who may read and change, and
//! `changes` makes changes and writes the audit. `shared` is what the workers of a server share. **Invariant:** nothing is
//! changed without a `Change`, which only the guard makes.
#![doc(test(attr(deny(warnings))))]

mod admission;
mod api;
mod builder;
mod changes;
mod events;
mod examine;
mod failure;
mod guard;
mod model;
mod observe;
mod pages;
mod read;
mod recent;
mod recommendation;
mod seconds;
mod shared;

use std::{fmt, time::Duration};

use actix::{Addr, Recipient};
use actix_web::{
    Error, HttpRequest, Scope,
    dev::{AppService, HttpServiceFactory},
    middleware::from_fn,
    web::{Data, FormConfig, JsonConfig, QueryConfig},
};

pub use self::builder::ConsoleBuilder;
use leasehold::LockManager;
use leasehold_tuning::tuner::TunerEvent;

use self::{failure::Failure, guard::Guard, shared::Shared};

/// The largest body of a request.
const LARGEST: usize = 8 * 1024;

/// Returns the builder of a console for the store of this manager. docs/console.md has what it shows, and how it is kept.
///
/// ```no_run
/// use actix_web::{App, HttpServer, web::scope};
/// use leasehold::{Config, web::serve};
/// use leasehold_console::console;
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
    ConsoleBuilder::new(locks)
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
    /// True if the store has answered the last look, and false if not, or if it denied all of it; `None` before the first one, and after the end of the lock
    /// manager.
    pub store_up: Option<bool>,
    /// The number of resources that somebody waits for; `None` if the last look failed, none was made yet or is made any
    /// more, or the store keeps no queues.
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
        let has_looked = seen.trouble.is_some() || seen.contended.is_some() || seen.without_queues;
        Contention {
            store_up: (has_looked && !self.shared.is_blind()).then_some(seen.trouble.is_none()),
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
        let read = self.guard.check_reader(request);
        Ok(read.inspect_err(|failure| guard::refused(request, failure))?)
    }

    /// Returns the recipient for a [`Tuner`](leasehold_tuning::tuner::Tuner), so that the console shows what it changes:
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
        scope
            .configure(api::configure)
            .configure(pages::configure)
            .wrap(from_fn(admission::admit))
            .register(config);
    }
}
