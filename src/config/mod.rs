//! `config.toml` as a value: parsed, its relations checked, turned into a store and settings.
//!
//! Later sources override earlier ones: the embedded file ([`Config::DEFAULT_TOML`]), a file, variables named
//! `LEASEHOLD_<SECTION>_<KEY>`. An unknown key of a file is an error, and so is a variable that nearly names a
//! setting. Other variables belong to somebody else. [`Config::load`] reads all sources.

mod error;
mod follow;
mod memory;
mod quorum;
mod section;
mod sources;
mod started;
mod store;
mod url;
mod variables;

use std::{env, ffi::OsString, fs, io, path::Path, time::Duration};

use actix::Addr;
use serde::Deserialize;

use self::sources::Sources;
pub use self::{error::ConfigError, section::StoreConfig, url::StoreUrl};
use crate::{
    core::Backoff,
    manager::LockManager,
    request::{
        LeaseSettings, LimitSettings, Settings, SupervisionSettings, TunerSettings, WaitSettings, keys,
    },
    tuner::Tuner,
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
    #[serde(deserialize_with = "keys::backoff")]
    pub backoff: Backoff,
    /// The limits of what a request may ask for.
    pub limits: LimitSettings,
    /// The restarts of crashed actors.
    pub supervision: SupervisionSettings,
    /// The actor that changes settings while a manager runs, and its bounds.
    pub tuner: TunerSettings,
}

impl Config {
    /// The `config.toml` at the root of the project: every setting, explained, at its default.
    pub const DEFAULT_TOML: &str = include_str!("../../config.toml");

    /// Reads the configuration from the usual places: the one way to start that suits most applications.
    ///
    /// The file is the one that the variable `LEASEHOLD_CONFIG` names. Without that variable it is `config.toml` in
    /// the working directory, if it is there. Settings that it leaves out have their defaults, and variables named
    /// `LEASEHOLD_<SECTION>_<KEY>` override it. An application that has a `config.toml` of its own, for something
    /// else, names another file, or takes [`from_file`](Self::from_file) or [`from_env`](Self::from_env).
    ///
    /// # Errors
    /// [`ConfigError`] when a file that is named, or is there, cannot be read, or when its content or the environment
    /// is invalid.
    pub fn load() -> Result<Self, ConfigError> {
        const USUAL: &str = "config.toml";
        if let Some(path) = env::var_os(variables::FILE) {
            return Self::from_file(path);
        }
        match Self::from_file(USUAL) {
            Err(ConfigError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Self::from_env()
            }
            config => config,
        }
    }

    /// Reads a file. The environment of the process overrides it.
    ///
    /// # Errors
    /// [`ConfigError`] when the file cannot be read, or when its content or the environment is invalid.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let text =
            fs::read_to_string(path).map_err(|source| ConfigError::Io { path: path.to_owned(), source })?;
        Self::from_sources(&path.display().to_string(), &text, env::vars_os())
    }

    /// Reads the environment of the process and no file. Settings that it leaves out have their defaults.
    ///
    /// # Errors
    /// [`ConfigError`] when the environment is invalid.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_sources("", "", env::vars_os())
    }

    /// Reads a text. Settings that it leaves out have their defaults. The environment is not read.
    ///
    /// # Errors
    /// [`ConfigError`] when the text is invalid.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        Self::from_sources("config", text, [("", ""); 0])
    }

    /// Reads a text, which errors call `origin`, and these variables instead of the environment.
    ///
    /// # Errors
    /// [`ConfigError`] when they are invalid.
    pub fn from_sources(
        origin: &str,
        text: &str,
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Result<Self, ConfigError> {
        let config = Sources::defaults().text(origin, text)?.variables(variables)?.config();
        config.check()?;
        Ok(config)
    }

    /// Checks every bound, and the relations between settings. Sends nothing.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`], naming the setting; a broken relation names both.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.settings().check()?;
        self.tuner.check()?;
        self.check_store()?;
        Ok(())
    }

    /// Returns the sections for a lock manager, which checks them when it starts.
    pub fn settings(&self) -> Settings {
        let Self { store: _, lease, wait, backoff, limits, supervision, tuner: _ } = self.clone();
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
    /// With `tuner.enabled` a [`Tuner`] runs beside it. [`start_tuned`](Self::start_tuned) returns its address.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] as for [`check`](Self::check); [`ConfigError::Start`] outside of an actix system.
    pub fn start(&self) -> Result<Addr<LockManager>, ConfigError> {
        self.start_tuned().map(|(manager, _)| manager)
    }

    /// Starts a lock manager as [`start`](Self::start) does, and returns the address of its [`Tuner`] as well, for figures of the
    /// application and those who want to be told of changes. `None` without `tuner.enabled`.
    ///
    /// The tuner runs in the arbiter of the manager, and ends with it.
    ///
    /// # Errors
    /// Those of [`start`](Self::start).
    pub fn start_tuned(&self) -> Result<(Addr<LockManager>, Option<Addr<Tuner>>), ConfigError> {
        self.check()?;
        let builder = LockManager::builder(self.open_store()?).settings(self.settings());
        let (manager, tuner) = if self.tuner.enabled {
            let (tuner, start) = Tuner::beside(self.tuner.clone());
            (builder.start_beside(start)?, Some(tuner))
        } else {
            (builder.start()?, None)
        };
        started::note(&self.store, &manager);
        Ok((manager, tuner))
    }
}

impl Default for Config {
    /// Returns the embedded [`DEFAULT_TOML`](Self::DEFAULT_TOML).
    fn default() -> Self {
        Sources::defaults().config()
    }
}
