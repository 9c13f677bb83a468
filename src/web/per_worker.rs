//! A lock manager in each worker of a server.

use std::{
    cmp::Reverse,
    error, fmt, io,
    sync::Arc,
    thread::{self, ThreadId},
    time::Duration,
};

use actix::{Addr, Handler, Message};
use actix_http::{Request, Response};
use actix_service::{IntoServiceFactory, Service, ServiceFactory};
use actix_web::{Error, HttpServer, body::MessageBody, dev::AppConfig};
use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::time::timeout;

use crate::{
    listeners::statistics::{Counts, Statistics},
    manager::LockManager,
    request::{Drained, InspectError, Leases, OwnLeases, Shutdown, queries::AskCounts},
    web::serve::until_stopped,
};

/// The time beyond the drain in which a manager answers its [`Shutdown`]. One that does not has a thread that is blocked.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// The managers, each by the thread that it runs on.
type Started = Vec<(ThreadId, Addr<LockManager>)>;

/// A lock manager in each worker of a server, so that a request changes no thread on its way to the store and back.
///
/// Choose it for short locks of many requests. Choose one manager for the process ([`Config::start`](crate::Config::start), [`serve`](super::serve)) if
/// handlers block their thread, and for locks that are held for longer than a request. A worker that stands still for longer than
/// two thirds of a TTL loses its leases, and their holders are told.
///
/// The managers exclude each other as those of several processes do, and each has its own connections. Metrics of the facade
/// `metrics` are those of the process; [`statistics`](Self::statistics) and [`leases`](Self::leases) add up what the managers know.
///
/// ```no_run
/// use std::future::ready;
///
/// use actix_web::{App, HttpServer};
/// use leasehold::{Config, web::{Locks, PerWorker}};
///
/// # #[allow(dead_code)]
/// async fn run() -> Result<(), Box<dyn std::error::Error>> {
///     let config = Config::load()?;
///     config.check()?;
///     let locks = PerWorker::new(move || config.start_here());
///     let here = locks.clone();
///     let server = HttpServer::new(move || {
///         let here = here.clone();
///         App::new().data_factory(move || ready(here.here())).wrap(Locks::new())
///     });
///     let drained = locks.serve(server.bind("127.0.0.1:8080")?).await?;
///     println!("stopped; locks taken away: {}", drained.revoked);
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct PerWorker {
    /// Starts a manager on the thread of the caller.
    start: Arc<dyn Fn() -> io::Result<Addr<LockManager>> + Send + Sync>,
    drain: Duration,
    started: Arc<Mutex<Started>>,
}

impl fmt::Debug for PerWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerWorker")
            .field("drain", &self.drain)
            .field("started", &self.started)
            .finish_non_exhaustive()
    }
}

impl PerWorker {
    /// Creates it without managers. Each is started by this function on the thread of its worker, such as
    /// [`Config::start_here`](crate::Config::start_here) or [`start_here`](crate::LockManagerBuilder::start_here) of a builder. Check
    /// the settings before: a worker whose manager does not start does not serve.
    pub fn new<E>(start: impl Fn() -> Result<Addr<LockManager>, E> + Send + Sync + 'static) -> Self
    where
        E: error::Error + Send + Sync + 'static,
    {
        let start = Arc::new(move || start().map_err(io::Error::other));
        Self { start, drain: Duration::from_secs(30), started: Arc::default() }
    }

    /// Sets the time that holders have to finish after a SIGTERM; then their locks are revoked. Default: 30 s. Let it be longer than the
    /// longest handler that holds a lock. `HttpServer::shutdown_timeout` begins after it.
    pub const fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// Returns the manager of this worker, which starts with the first call on its thread. It is not started again after a
    /// [`Shutdown`] of its own.
    ///
    /// # Errors
    /// The error of the function that starts it.
    pub fn here(&self) -> io::Result<Addr<LockManager>> {
        let (thread, mut started) = (thread::current().id(), self.started.lock());
        if let Some((_, manager)) = started.iter().find(|(of, _)| *of == thread) {
            return Ok(manager.clone());
        }
        let manager = (self.start)()?;
        started.push((thread, manager.clone()));
        Ok(manager)
    }

    /// Returns the managers that run: to ask each for its [`Stats`](crate::Stats) or [`Leases`], or to show each on a console.
    pub fn managers(&self) -> Vec<Addr<LockManager>> {
        let mut started = self.started.lock();
        // The manager of a worker that died went with it.
        started.retain(|(_, manager)| manager.connected());
        started.iter().map(|(_, manager)| manager.clone()).collect()
    }

    /// Returns the counters of all managers that run, added up. Those of a worker that died are gone with it, and one whose thread is
    /// blocked is waited for.
    pub async fn statistics(&self) -> Statistics {
        let mut sum = Counts::default();
        self.ask_each(|| AskCounts).await.iter().for_each(|counts| sum.add(counts));
        sum.snapshot()
    }

    /// Returns the leases and the waiting requests of all managers that run, longest held and longest waiting first.
    ///
    /// # Errors
    /// [`InspectError::Invalid`] if the limit is not allowed.
    pub async fn leases(&self, leases: Leases) -> Result<OwnLeases, InspectError> {
        let mut all = OwnLeases::default();
        for own in self.ask_each(|| leases).await {
            let own = own?;
            all.held.extend(own.held);
            all.waiting.extend(own.waiting);
            all.held_in_all += own.held_in_all;
            all.waiting_in_all += own.waiting_in_all;
        }
        all.held.sort_by_key(|lease| Reverse(lease.held_for));
        all.held.truncate(leases.limit);
        all.waiting.sort_by_key(|waiter| Reverse(waiter.waited));
        all.waiting.truncate(leases.limit);
        Ok(all)
    }

    /// Asks all managers at the same time. Those that died with their workers are left out.
    async fn ask_each<M>(&self, message: impl Fn() -> M) -> Vec<M::Result>
    where
        M: Message<Result: Send> + Send + 'static,
        LockManager: Handler<M>,
    {
        let asked = self.managers().into_iter().map(|manager| manager.send(message()));
        join_all(asked).await.into_iter().flatten().collect()
    }

    /// Runs a server until it is asked to stop, and shuts the managers down before its workers end. The signals are those of
    /// [`serve`](super::serve), and so is what it asks of the server.
    ///
    /// After SIGTERM no connections are accepted any more. Requests that wait for a lock, or ask for one from now on, get a 503, also
    /// those that hold another one: with one manager ([`serve`](super::serve)) they finish. Holders have the time of
    /// [`drain`](Self::drain), and then the other handlers have `HttpServer::shutdown_timeout`. Until then new connections
    /// wait in the backlog of the system, and open ones are not told to close: take the process out of the load balancer first.
    /// After SIGINT (Ctrl-C) and SIGQUIT nobody is waited for. A worker whose thread is blocked delays the end by 5 s.
    ///
    /// # Errors
    /// The error of the server or of the signals. A server that ends by itself takes its workers with it, and their managers: what is
    /// held then ends with its TTL.
    ///
    /// # Cancel safety
    /// Not cancel safe: a server whose future is dropped stops, and its managers with it.
    pub async fn serve<F, I, S, B>(self, server: HttpServer<F, I, S, B>) -> io::Result<Drained>
    where
        F: Fn() -> I + Send + Clone + 'static,
        I: IntoServiceFactory<S, Request>,
        S: ServiceFactory<Request, Config = AppConfig> + 'static,
        S::Error: Into<Error> + 'static,
        S::InitError: fmt::Debug,
        S::Response: Into<Response<B>> + 'static,
        S::Service: 'static,
        <S::Service as Service<Request>>::Future: 'static,
        B: MessageBody + 'static,
    {
        let mut drained = Drained { finished: 0, revoked: 0, unconfirmed: 0 };
        until_stopped(server.disable_signals().run(), async |gracefully| {
            drained = self.shut_down(if gracefully { self.drain } else { Duration::ZERO }).await;
        })
        .await?;
        Ok(drained)
    }

    /// Shuts all managers down at the same time. Returns the sum of what they did.
    async fn shut_down(&self, drain: Duration) -> Drained {
        let ended = self.managers().into_iter().map(async |manager| {
            timeout(drain.saturating_add(ANSWER_WITHIN), manager.send(Shutdown { drain })).await
        });
        let mut sum = Drained { finished: 0, revoked: 0, unconfirmed: 0 };
        for ended in join_all(ended).await {
            match ended {
                Ok(Ok(drained)) => {
                    sum.finished += drained.finished;
                    sum.revoked += drained.revoked;
                    sum.unconfirmed += drained.unconfirmed;
                }
                // It died with its worker.
                Ok(Err(_)) => {}
                Err(_) => {
                    tracing::warn!("a worker is blocked: the locks of its manager end with their TTL");
                }
            }
        }
        sum
    }
}
