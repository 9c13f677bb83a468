//! `config.toml` as a value: parsed, its relations checked, turned into a store and settings.
//!
//! Later sources override earlier ones: the embedded file ([`Config::DEFAULT_TOML`]), a file, variables named
//! `LEASEHOLD_<SECTION>_<KEY>`. An unknown key of a file is an error, and so is a variable that nearly names a
//! setting. Other variables belong to somebody else, and so does what stands in a file beside a table `[leasehold]`.
//! [`Config::load`] reads all sources.

mod error;
mod load;
mod sections;
mod sources;
mod store;
mod url;
mod variables;

use std::{collections::BTreeMap, time::Duration};

use actix::{Addr, WeakAddr};
use parking_lot::Mutex;
use serde::Deserialize;

pub use self::{
    error::ConfigError,
    sections::{StoreConfig, TunerSettings},
    url::StoreUrl,
};
use crate::{
    core::Backoff,
    manager::{LockManager, LockManagerBuilder},
    request::{LeaseSettings, LimitSettings, Settings, SupervisionSettings, WaitSettings, settings},
};

/// Everything that can be configured.
///
/// ```
/// use leasehold::Config;
///
/// let config = Config::from_toml("lease.ttl = '12s'")?;
/// assert_eq!(config.lease.ttl.as_secs(), 12);
/// assert_eq!(config.lease.renewal_interval().as_secs(), 4); // left out, so it follows the ttl
///
/// let error = Config::from_toml("lease.ttl = 10").unwrap_err().to_string();
/// assert!(error.starts_with("config: lease.ttl: invalid type: integer `10`, expected a duration"));
/// # Ok::<(), leasehold::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Config {
    /// The place where locks live.
    pub store: StoreConfig,
    /// The lifetime of a lease.
    pub lease: LeaseSettings,
    /// The waiting time of a request.
    pub wait: WaitSettings,
    /// The pauses between the attempts of a request.
    #[serde(deserialize_with = "settings::backoff")]
    pub backoff: Backoff,
    /// The limits of what a request may ask for.
    pub limits: LimitSettings,
    /// The restarts of crashed actors.
    pub supervision: SupervisionSettings,
    /// The bounds of an actor that changes settings while a manager runs: a `Tuner` of the package `leasehold-tuning`, which the
    /// application starts.
    pub tuner: TunerSettings,
    #[serde(skip)]
    read_from: ReadFrom,
}

impl Config {
    /// The `config.toml` at the root of the project: every setting, explained, at its default.
    pub const DEFAULT_TOML: &str = include_str!("../../config.toml");

    /// Returns the sources that were read, in their order: files, and variables without their values. The embedded defaults are
    /// not among them.
    pub fn sources(&self) -> &[String] {
        &self.read_from.0
    }

    /// Adds a source to [`sources`](Self::sources), for a setting that code changes: an option of a command line, for instance.
    pub fn add_source(&mut self, name: &str) {
        // What has no name is none.
        if !name.is_empty() {
            self.read_from.0.push(name.to_owned());
        }
    }

    /// Checks every bound, and the relations between settings. Sends nothing.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`], naming the setting; a broken relation names both.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.settings().check()?;
        self.tuner.check()?;
        // A store in memory is opened by who uses it.
        if self.store.url.memory_name()?.is_none() {
            self.store_outside()?;
        }
        Ok(())
    }

    /// Returns the sections for a lock manager, which checks them when it starts.
    pub fn settings(&self) -> Settings {
        let Self { store: _, lease, wait, backoff, limits, supervision, tuner: _, read_from: _ } =
            self.clone();
        Settings { lease, wait, backoff, limits, supervision }
    }

    /// Returns the time that an answer may take before it counts as unknown: as set, or 500 ms, and less where a
    /// short TTL would leave no time for a repetition.
    pub fn response_timeout(&self) -> Duration {
        const USUAL: Duration = Duration::from_millis(500);
        self.store.response_timeout.unwrap_or_else(|| USUAL.min(self.time_to_repeat()))
    }

    /// Returns half of the time between a renewal and the end of its lease.
    fn time_to_repeat(&self) -> Duration {
        self.lease.ttl.saturating_sub(self.lease.renewal_interval()) / 2
    }

    /// Starts a lock manager in an arbiter of its own. Starting does not need the store.
    ///
    /// One manager serves a whole process: start it once and clone its address. A second one for the same store logs a
    /// warning, because it is usually a start in a place that runs several times, such as the closure of
    /// `HttpServer::new`. Two managers exclude each other as two processes do.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] as for [`check`](Self::check); [`ConfigError::Start`] outside of an actix system.
    pub fn start(&self) -> Result<Addr<LockManager>, ConfigError> {
        let manager = self.builder()?.start()?;
        if self.tuner.enabled {
            tracing::info!(
                "tuner.enabled is for a tuner, which the application starts: the package leasehold-tuning"
            );
        }
        note_started(&self.store, &manager);
        Ok(manager)
    }

    /// Starts a lock manager in the arbiter of the caller, with a connection of its own: a request changes no thread on its way. For
    /// the workers of actix-web there is `web::PerWorker`, which shuts the managers down in order.
    ///
    /// A handler that blocks this thread blocks the renewals too. If it does so for longer than two thirds of a TTL, the leases are
    /// lost, and their holders are told.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] as for [`check`](Self::check).
    ///
    /// # Panics
    /// When it is called outside of a tokio `LocalSet`. Every actix arbiter is one.
    pub fn start_here(&self) -> Result<Addr<LockManager>, ConfigError> {
        Ok(self.builder()?.start_here()?)
    }

    fn builder(&self) -> Result<LockManagerBuilder, ConfigError> {
        self.check()?;
        let sources = match self.sources() {
            [] => "the defaults".to_owned(),
            sources => sources.join(", "),
        };
        let builder = LockManager::builder(self.open_store()?).settings(self.settings());
        Ok(builder.configured_by(sources))
    }

    /// Moves the settings that were not set out of the way of those that were, so that only settings that were set can
    /// contradict each other. `is_said` is given names such as `lease.ttl`.
    ///
    /// The bounds in `limits` stay where they are until they are set: they are there to refuse.
    fn follow(&mut self, is_said: impl Fn(&str) -> bool) {
        const MINUTE: Duration = Duration::from_secs(60);
        const HOUR: Duration = Duration::from_secs(3600);
        // A bound rises to at least a value, up to `most`.
        let raise = |setting: &str, bound: &mut Duration, value: Duration, most: Duration| {
            if !is_said(setting) {
                *bound = (*bound).max(value.min(most));
            }
        };
        // A value falls to at most a bound. A bound of zero is refused, and nothing is to follow it.
        let lower = |setting: &str, value: &mut Duration, bound: Duration| {
            if !is_said(setting) && !bound.is_zero() {
                *value = (*value).min(bound);
            }
        };
        let Self { lease, wait, backoff, limits, supervision, tuner, store: _, read_from: _ } = self;
        lower("lease.ttl", &mut lease.ttl, limits.max_ttl);
        raise("wait.ticket_ttl", &mut wait.ticket_ttl, wait.grant_window, HOUR);
        raise("backoff.max", &mut backoff.max, backoff.initial, HOUR);
        lower("backoff.initial", &mut backoff.initial, backoff.max);
        let (pause, longest) = (&mut supervision.restart_pause, &mut supervision.max_restart_pause);
        raise("supervision.max_restart_pause", longest, *pause, MINUTE);
        lower("supervision.restart_pause", pause, *longest);
        raise("tuner.burst_wait", &mut tuner.burst_wait, tuner.standing_wait, HOUR);
        lower("tuner.standing_wait", &mut tuner.standing_wait, tuner.burst_wait);
    }
}

/// The names of sources, in their order: files, and variables without their values.
#[derive(Clone, Debug, Default)]
struct ReadFrom(Vec<String>);

/// Settings are the same wherever they come from.
impl PartialEq for ReadFrom {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Notes a manager that was started. Logs a warning if it is the second of its store that runs, which is a mistake more often
/// than not.
fn note_started(store: &StoreConfig, manager: &Addr<LockManager>) {
    /// The URL of a store, and its prefix.
    type Place = (String, String);
    static STARTED: Mutex<BTreeMap<Place, Vec<WeakAddr<LockManager>>>> = Mutex::new(BTreeMap::new());
    let place = (store.url.reveal().to_owned(), store.prefix.clone());
    let mut started = STARTED.lock();
    let managers = started.entry(place).or_default();
    managers.retain(|manager| manager.upgrade().is_some_and(|manager| manager.connected()));
    managers.push(manager.downgrade());
    // Once: a server with many workers would say it many times.
    if managers.len() == 2 {
        tracing::warn!(
            store = %store.url,
            "a second lock manager of this store starts in this process; start one, outside of the closure of \
             `HttpServer::new` for instance, and share its address"
        );
    }
}
