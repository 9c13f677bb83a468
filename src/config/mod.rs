//! `config.toml` as a value: parsed, its relations checked, turned into a store and settings.
//!
//! Later sources win over earlier ones: the embedded file ([`Config::DEFAULT_TOML`]), a file, variables named
//! `LEASEHOLD_<SECTION>_<KEY>`. A setting that is unknown, in whatever source, is an error and not a shrug.

mod error;
mod quorum;
mod sections;
mod sources;
mod url;

use std::{env, ffi::OsString, fs, path::Path, sync::Arc};

use actix::Addr;
use serde::Deserialize;

use self::sources::Sources;
pub use self::{
    error::ConfigError,
    sections::{
        BackoffConfig, LeaseConfig, LimitsConfig, Preset, StoreConfig, SupervisionConfig, WaitConfig,
    },
    url::StoreUrl,
};
use crate::{
    actor::{LockManager, Settings},
    protocol::{Invalid, exact},
    store::{MemoryStore, RedisStore, Store},
};

/// Everything that can be configured.
///
/// ```
/// use leasehold::config::Config;
///
/// let config = Config::from_toml("lease.ttl = '10s'\nlease.renewal_interval = '3s'")?;
/// assert_eq!(config.lease.ttl.as_secs(), 10);
///
/// let error = Config::from_toml("lease.ttl = 10").unwrap_err().to_string();
/// assert!(error.starts_with("config: lease.ttl: invalid type: integer `10`, expected a duration"));
/// # Ok::<(), leasehold::config::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Config {
    /// Where locks live.
    pub store: StoreConfig,
    /// How long a lease holds.
    pub lease: LeaseConfig,
    /// How long a request waits.
    pub wait: WaitConfig,
    /// The pauses between the attempts of a request.
    pub backoff: BackoffConfig,
    /// The bounds of what a request may ask for.
    pub limits: LimitsConfig,
    /// How crashed actors are started again.
    pub supervision: SupervisionConfig,
}

impl Config {
    /// The `config.toml` at the root of the project: every setting, explained, at its default.
    pub const DEFAULT_TOML: &str = include_str!("../../config.toml");

    /// Reads a file; the environment of the process has the last word.
    ///
    /// # Errors
    /// [`ConfigError`] when the file cannot be read, or what it and the environment say cannot be right.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let text =
            fs::read_to_string(path).map_err(|source| ConfigError::Io { path: path.to_owned(), source })?;
        Self::from_sources(&path.display().to_string(), &text, env::vars_os())
    }

    /// Reads the environment of the process; what it does not say has its default.
    ///
    /// # Errors
    /// [`ConfigError`] when what the environment says cannot be right.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_sources("", "", env::vars_os())
    }

    /// Reads a text; what it leaves out has its default. The environment is not looked at.
    ///
    /// # Errors
    /// [`ConfigError`] when what it says cannot be right.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        Self::from_sources("config", text, [("", ""); 0])
    }

    /// Reads a text, which errors call `origin`, and these variables instead of the environment.
    ///
    /// # Errors
    /// [`ConfigError`] when what they say cannot be right.
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
        self.settings()?;
        self.store()?;
        Ok(())
    }

    /// What the lock manager assumes where a request does not say.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] when a setting is out of its bounds, or contradicts another one.
    pub fn settings(&self) -> Result<Settings, ConfigError> {
        let Self { store: _, lease, wait, backoff, limits, supervision } = self;
        let settings = Settings {
            ttl: lease.ttl,
            renewal_interval: lease.renewal_interval,
            wait: wait.timeout,
            patience: wait.patience,
            grant_window: wait.grant_window,
            backoff: backoff.backoff()?,
            max_ttl: limits.max_ttl,
            max_wait: limits.max_wait,
            max_waiters: limits.max_waiters,
            local_handover_limit: wait.local_handover_limit,
            max_pending: limits.max_pending,
            restart_pause: supervision.restart_pause,
            max_restart_pause: supervision.max_restart_pause,
        };
        settings.check()?;
        Ok(settings)
    }

    /// The store. It connects when it is first used, so it may be unreachable now.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] when a setting is out of its bounds, or contradicts another one.
    pub fn open_store(&self) -> Result<Arc<dyn Store>, ConfigError> {
        let store = self.store()?;
        if self.store.url.is_memory() {
            tracing::warn!("store.url is memory://, so locks exclude nobody outside of this process");
        }
        Ok(store)
    }

    /// Starts a lock manager, in an arbiter of its own. The store is not needed for it.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] as for [`check`](Self::check); [`ConfigError::Start`] outside of an actix system.
    pub fn start(&self) -> Result<Addr<LockManager>, ConfigError> {
        Ok(LockManager::builder(self.open_store()?).settings(self.settings()?).start()?)
    }

    fn store(&self) -> Result<Arc<dyn Store>, Invalid> {
        let url = &self.store.url;
        if url.is_memory() {
            return Ok(Arc::new(MemoryStore::default()));
        }
        self.check_response_timeout()?;
        match url.nodes()? {
            Some(nodes) => Ok(Arc::new(self.quorum(&nodes)?)),
            None => self.server(url),
        }
    }

    /// A store on one server.
    fn server(&self, url: &StoreUrl) -> Result<Arc<dyn Store>, Invalid> {
        let options = self.store.redis_options();
        let store =
            RedisStore::with_options(url.reveal(), options).map_err(|invalid| match &*invalid.field {
                // A Redis store does not know that there is another one.
                "store.url" => Invalid {
                    allowed: format!(
                        "memory://, {}, or quorum://[url,url,…] of these servers",
                        invalid.allowed
                    ),
                    ..invalid
                },
                _ => invalid,
            })?;
        Ok(Arc::new(store))
    }

    /// A renewal that is not answered must leave time for a repetition, or one lost answer costs the lease.
    fn check_response_timeout(&self) -> Result<(), Invalid> {
        let LeaseConfig { ttl, renewal_interval } = self.lease;
        let timeout = self.store.response_timeout;
        if timeout <= ttl.saturating_sub(renewal_interval) / 2 {
            return Ok(());
        }
        let allowed = format!(
            "at most half of what lies between lease.renewal_interval ({}) and lease.ttl ({})",
            exact(renewal_interval),
            exact(ttl)
        );
        Err(Invalid::new("store.response_timeout", exact(timeout), allowed))
    }
}

impl Default for Config {
    /// The embedded [`DEFAULT_TOML`](Self::DEFAULT_TOML).
    fn default() -> Self {
        Sources::defaults().config()
    }
}
