//! The builder of a lock manager, which runs supervised in an arbiter of its own.

use std::{
    rc::Rc,
    sync::{Arc, Weak},
    time::Duration,
};

use actix::{Addr, AsyncContext, Context, System, dev::channel};
use actix_rt::Arbiter;
use tokio_util::task::AbortOnDropHandle;

use crate::{
    core::{Doubling, Engine, Pauses, Rules},
    lease::{ManagerLink, Renewers},
    listeners::{About, Listeners, LockEvent},
    manager::{
        Adoptions, Calls, Dispatch, Draining, FarEnd, LeaseMonitor, LockManager, Policy, Records, Sets,
        SingleCalls, Sources, Turn,
    },
    request::{Settings, StartError},
    runtime::{
        env::{Clock, Draw, Random, SystemClock, SystemRandom},
        supervisor::{Death, supervise},
    },
    store::{Inbox, Metadata, Store},
};

/// The capacity of the mailbox, at which `send` waits. It does not bound `do_send` and fresh addresses.
const MAILBOX: usize = 1024;

/// The time that a manager has to live for its next death not to count as one in a row.
const LIVED_WELL: Duration = Duration::from_secs(60);

/// The builder of a [`LockManager`].
#[derive(Debug)]
#[must_use = "nothing happens before it is started"]
pub struct LockManagerBuilder {
    store: Arc<dyn Store>,
    settings: Settings,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    own_pauses: Option<Pauses>,
    listens: bool,
    configuration: Option<String>,
}

impl LockManager {
    /// Returns the builder of a manager of the locks in this store. Many managers, in many processes, share one store.
    pub fn builder(store: Arc<dyn Store>) -> LockManagerBuilder {
        LockManagerBuilder {
            store,
            settings: Settings::default(),
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            own_pauses: None,
            listens: true,
            configuration: None,
        }
    }
}

impl LockManagerBuilder {
    /// Sets the defaults and limits for requests. Default: [`Settings::default`].
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the pauses between attempts by a function, for requests that have none of their own. It has the arguments and the
    /// bounds of [`Request::backoff_by`](crate::Request::backoff_by), and does not change how long a request waits. As with
    /// the built-in pauses, a waiter that is notified of its turn attempts now and then only, and one that stands behind
    /// another of the same manager not at all. [`SetTuning`](crate::SetTuning) with other pauses takes its place for good. Default: the
    /// [`Backoff`](crate::Backoff) of the settings.
    pub fn backoff_by(
        mut self,
        pause: impl Fn(u32, f64) -> Option<Duration> + Send + Sync + 'static,
    ) -> Self {
        self.own_pauses = Some(Pauses::of_all_by(pause));
        self
    }

    /// Opens no connection for notifications: for a manager that asks about locks and takes none, as an operator's tool does.
    /// One that acquires works all the same, but its waiters attempt as often as their backoff says, and its holders learn of
    /// a [`Revoke`](crate::Revoke) of others at their next renewal.
    pub const fn without_notifications(mut self) -> Self {
        self.listens = false;
        self
    }

    /// Sets the sources of the settings, which the log tells.
    pub(crate) fn configured_by(mut self, sources: String) -> Self {
        self.configuration = Some(sources);
        self
    }

    /// Sets the clock that measures validity. Default: the system's. Tests in virtual time use
    /// [`RuntimeClock`](crate::env::RuntimeClock) and [`start_here`](Self::start_here).
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the source of tokens and jitter. Default: the system's.
    pub fn random(mut self, random: Arc<dyn Random>) -> Self {
        self.random = random;
        self
    }

    /// Starts the manager in an arbiter of its own, so that leases are renewed whatever the application's threads do.
    /// The manager lives until it receives [`Shutdown`](crate::Shutdown), even when no address of it is left.
    ///
    /// # Errors
    /// [`StartError`] when a setting is invalid, when no actix system runs on this thread (then use
    /// [`start_anywhere`](crate::start_anywhere)), or when the thread cannot be started. Starting does not need the store.
    pub fn start(self) -> Result<Addr<LockManager>, StartError> {
        self.settings.check()?;
        if System::try_current().is_none() {
            return Err(StartError::NoSystem);
        }
        let arbiter = Arbiter::try_new().map_err(StartError::Arbiter)?;
        let (sender, receiver) = channel::channel(MAILBOX);
        arbiter.spawn_fn(move || {
            let running = self.run(Context::with_receiver(receiver));
            actix_rt::spawn(async move {
                running.await;
                Arbiter::current().stop();
            });
        });
        Ok(Addr::new(sender))
    }

    /// Starts the manager in the arbiter of the caller: for tests in virtual time, and for requests that change no thread on their way
    /// (`web::PerWorker`). An application that blocks this arbiter for longer than two thirds of a TTL loses its leases.
    ///
    /// # Errors
    /// [`StartError::Invalid`] when a setting is invalid.
    ///
    /// # Panics
    /// When it is called outside of a tokio `LocalSet`. Every actix arbiter is one.
    pub fn start_here(self) -> Result<Addr<LockManager>, StartError> {
        self.settings.check()?;
        let (sender, receiver) = channel::channel(MAILBOX);
        actix_rt::spawn(self.run(Context::with_receiver(receiver)));
        Ok(Addr::new(sender))
    }

    /// Runs the manager until its shutdown, and restarts it when it dies.
    fn run(self, context: Context<LockManager>) -> impl Future<Output = ()> + 'static {
        let Self { store, settings, clock, random, own_pauses, listens, configuration } = self;
        tracing::info!(
            store = store.describe(),
            version = env!("CARGO_PKG_VERSION"),
            configuration,
            "the lock manager starts"
        );
        let listeners = Arc::new(Listeners::new(settings.wait.timeout, settings.limits.max_wait));
        let mut pauses =
            Doubling::new(settings.supervision.restart_pause, settings.supervision.max_restart_pause);
        let shutdown = Draining::default();
        let done = Rc::clone(&shutdown.done);
        let (told, random_of_restarts, clock_of_deaths) =
            (Arc::clone(&listeners), Arc::clone(&random), Arc::clone(&clock));
        let (address, about) = (Arc::new(context.address()), Arc::new(about_this_process()));
        let link = Arc::new(ManagerLink {
            release: Addr::clone(&address).recipient(),
            renew: Addr::clone(&address).recipient(),
            hand_over: Addr::clone(&address).recipient(),
            about: Arc::clone(&about),
        });
        let (calls, turn) = (Calls { store, outage: Rc::default(), listeners }, Turn::default());
        let dispatch = Dispatch::new(FarEnd { calls: calls.clone(), answers: turn.happenings.clone() });
        let sources = Sources::new(dispatch, turn.happenings.clone());
        let records = Records::default();
        let monitor = LeaseMonitor {
            records: records.clone(),
            happenings: turn.happenings.clone(),
            sources: sources.clone(),
        };
        let driven = sources.clone();
        let manager = LockManager {
            renewers: Rc::new(Renewers { manager: link, random: Arc::clone(&random), pauses }),
            engine: Engine::new(Rules {
                local_handover_limit: settings.wait.local_handover_limit,
                max_waiters_here: settings.limits.max_waiters,
            }),
            policy: Policy {
                settings: Arc::new(settings),
                own_pauses,
                tuned_by: Weak::new(),
                about,
                inbox: Inbox(random.token()),
                listens,
            },
            clock,
            random,
            calls,
            records,
            sets: Sets::default(),
            single_calls: SingleCalls::default(),
            adoptions: Adoptions::default(),
            sources,
            turn,
            shutdown,
            address,
        };
        let mut last_death = clock_of_deaths.now();
        let died = move |death: Death| {
            told.tell(About::default(), LockEvent::ManagerRestarted);
            driven.set_down(true);
            let now = clock_of_deaths.now();
            if last_death.elapsed(now) > LIVED_WELL {
                pauses.reset();
            }
            last_death = now;
            let pause = pauses.next().mul_f64(1.0 - random_of_restarts.draw(Draw::Restart) / 10.0);
            tracing::error!(?death, ?pause, "the lock manager died; starting it again");
            pause
        };
        let life = supervise(Box::new(context.into_future(manager)), move || done.get(), died);
        async move {
            let _monitor = AbortOnDropHandle::new(actix_rt::spawn(monitor.run()));
            life.await;
        }
    }
}

/// Returns the metadata that every holder of this process reports about itself.
fn about_this_process() -> Metadata {
    let pid = ("pid".to_owned(), std::process::id().to_string());
    let host = host_name().map(|host| ("host".to_owned(), host));
    std::iter::once(pid).chain(host).collect()
}

#[cfg(unix)]
fn host_name() -> Option<String> {
    Some(rustix::system::uname().nodename().to_string_lossy().into_owned())
}

#[cfg(not(unix))]
fn host_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}
