//! The console itself: a service of an actix-web application.

use std::{fmt, time::Duration};

use actix::Recipient;
use actix_web::{
    Error, HttpRequest, Scope,
    dev::{AppService, HttpServiceFactory},
    middleware::from_fn,
    web::{Data, FormConfig, JsonConfig, QueryConfig},
};
use leasehold_tuning::tuner::TunerEvent;

use super::{
    admission, api,
    failure::Failure,
    guard::{self, Guard},
    pages,
    shared::Shared,
};

/// The largest body of a request.
const LARGEST: usize = 8 * 1024;

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
    pub(crate) fn new(guard: Guard, shared: Shared) -> Self {
        Self { guard: Data::new(guard), shared: Data::new(shared) }
    }

    /// Returns what the console has seen last.
    pub fn contention(&self) -> Contention {
        let seen = self.shared.watch();
        let has_looked = seen.trouble.is_some() || seen.contended.is_some() || seen.without_queues;
        Contention {
            store_up: (has_looked && !self.shared.is_blind()).then_some(seen.trouble.is_none()),
            resources: seen.contended,
            waiters: seen.waiting,
            complete: seen.complete,
            observed_for: seen.observed_for,
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
