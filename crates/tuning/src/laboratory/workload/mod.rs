//! A workload: who asks for which locks, when, and for how long, as a file that says all of it.

mod arrivals;
mod recorded;
mod resources;
mod scaled;
mod times;
mod trace;
mod turns;

use std::{fs, path::Path, sync::Arc, time::Duration};

use leasehold::{
    Config, ConfigError, InvalidValue, Layout,
    text::{duration, in_range},
};
use serde::Deserialize;
use toml::{Table, Value};

use self::trace::TracedTurn;
pub use self::{
    arrivals::Arrivals,
    resources::Resources,
    times::{Bucket, Times},
};
pub(super) use self::{
    times::LONGEST,
    trace::GONE,
    turns::{ProcessTurns, RequestTurn},
};
use super::keys::{is_setting, parse_error, set, typed};

/// The largest number of processes.
const PROCESSES: u32 = 64;
/// The largest number of servers.
const NODES: u32 = 9;
/// The largest number of requests.
const REQUESTS: f64 = 1_000_000.0;

/// A workload, with the settings that are tried on it.
///
/// ```
/// use leasehold_tuning::Workload;
///
/// let text = r#"
///     duration = "5s"
///     processes = 4
///     arrivals = { kind = "poisson", rate = 120.0 }
///     hold = { kind = "exponential", mean = "10ms" }
///     [config]
///     wait.timeout = "300ms"
/// "#;
/// let workload = Workload::from_toml(text, &[("backoff.initial", "80ms")])?;
/// assert_eq!(workload.config()?.wait.timeout.as_millis(), 300);
///
/// let error = Workload::from_toml(text, &[("arrivals.rate", "0")]).unwrap_err().to_string();
/// assert_eq!(error, "invalid arrivals.rate: 0 (allowed: more than 0, up to 1000000 a second)");
/// # Ok::<(), leasehold::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Workload {
    /// The name, for reports. Default: `workload`.
    #[serde(default = "unnamed")]
    pub name: String,
    /// The seed of everything that is drawn. Default: 1.
    #[serde(default = "one")]
    pub seed: u64,
    /// The time during which requests are made. From 10 ms to 24 h.
    #[serde(deserialize_with = "duration")]
    pub duration: Duration,
    /// The number of processes that share the load, each with a lock manager of its own. Default: 1.
    #[serde(default = "one")]
    pub processes: u32,
    /// The number of servers: 1, or the 3 to 9 members of a quorum. Default: 1.
    #[serde(default = "one")]
    pub nodes: u32,
    /// The mode of the locks. Default: exclusive.
    #[serde(default)]
    pub mode: Access,
    /// The arrivals of requests.
    pub arrivals: Arrivals,
    /// The times for which locks are held.
    pub hold: Times,
    /// The times after which a caller goes away that was not served, whatever `wait.timeout` says. Default: none does.
    #[serde(default)]
    pub patience: Option<Times>,
    /// The resources. Default: one.
    #[serde(default)]
    pub resources: Resources,
    /// A time in which the server is slow. Default: none.
    #[serde(default)]
    pub slow_server: Option<SlowServer>,
    /// The settings, in the words of `config.toml`. Those that are left out have their defaults.
    #[serde(default)]
    config: Table,
    #[serde(skip)]
    trace: Arc<[TracedTurn]>,
}

/// A time in which each call takes longer: in a simulation, and on servers that `leasehold tune run` has started itself.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SlowServer {
    /// The time from the start at which it begins.
    #[serde(deserialize_with = "duration")]
    pub from: Duration,
    /// The time from the start at which it ends.
    #[serde(deserialize_with = "duration")]
    pub until: Duration,
    /// The factor by which the work of each call grows, 1 to 10,000.
    pub factor: f64,
}

/// The modes in which the requests of a workload take their resources.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Access {
    /// The whole resource.
    #[default]
    Exclusive,
    /// A share of the requests reads, the others write.
    ReadWrite {
        /// The share of readers, 0 to 1.
        readers: f64,
    },
    /// One of several permits.
    Permits {
        /// The number of permits of a resource.
        of: u32,
    },
}

fn unnamed() -> String {
    "workload".to_owned()
}

fn one<T: From<u8>>() -> T {
    T::from(1)
}

impl Workload {
    /// Reads a text, in which these keys have other values: `backoff.initial` and what else `config.toml` has, or keys of
    /// the workload itself, such as `arrivals.rate`.
    ///
    /// # Errors
    /// [`ConfigError`] when something is wrong, with its key.
    pub fn from_toml(text: &str, set: &[(&str, &str)]) -> Result<Self, ConfigError> {
        Self::read("workload", text, Path::new(""), set)
    }

    /// Reads a file, in which these keys have other values.
    ///
    /// # Errors
    /// [`ConfigError`] when a file cannot be read, or something in it is wrong.
    pub fn from_file(path: impl AsRef<Path>, set: &[(&str, &str)]) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let text =
            fs::read_to_string(path).map_err(|source| ConfigError::Io { path: path.to_owned(), source })?;
        Self::read(&path.display().to_string(), &text, path.parent().unwrap_or(Path::new("")), set)
    }

    /// Returns the configuration that is tried. Its `store.url` means nothing.
    ///
    /// # Errors
    /// [`ConfigError`] when it is wrong, with its key. A workload that was read has been checked.
    pub fn config(&self) -> Result<Config, ConfigError> {
        self.config_on("memory://", false)
    }

    /// Returns the same configuration for the locks at this address. With `fresh`, the members of a quorum count from
    /// their start on.
    ///
    /// # Errors
    /// [`ConfigError`] when it is wrong, with its key.
    pub fn config_on(&self, url: &str, fresh: bool) -> Result<Config, ConfigError> {
        let mut table = self.config.clone();
        set(&mut table, "store.url", Value::String(url.to_owned()))?;
        if fresh {
            set(&mut table, "store.fresh_start", Value::Boolean(true))?;
        }
        Config::from_toml(&table.to_string())
    }

    /// Returns the settings that are tried, in the words of `config.toml`.
    pub(super) const fn settings(&self) -> &Table {
        &self.config
    }

    /// Returns the same workload with other settings.
    pub(super) fn with_settings(&self, settings: Table) -> Result<Self, ConfigError> {
        let other = Self { config: settings, ..self.clone() };
        other.check()?;
        Ok(other)
    }

    fn read(origin: &str, text: &str, folder: &Path, changes: &[(&str, &str)]) -> Result<Self, ConfigError> {
        let table: Table = toml::from_str(text).map_err(|error| parse_error(origin, text, &error))?;
        Self::of_table(origin, table, changes, |file| trace::read(&folder.join(file)))
    }

    /// Makes the workload of a table in which these keys have other values. A trace comes from `trace`.
    fn of_table(
        origin: &str,
        mut table: Table,
        changes: &[(&str, &str)],
        trace: impl FnOnce(&Path) -> Result<Vec<TracedTurn>, ConfigError>,
    ) -> Result<Self, ConfigError> {
        for (key, value) in changes {
            let key = if is_setting(key) { format!("config.{key}") } else { (*key).to_owned() };
            set(&mut table, &key, typed(value))?;
        }
        let mut workload: Self =
            table.try_into().map_err(|error: toml::de::Error| parse_error(origin, "", &error))?;
        if let Arrivals::Trace { file } = &workload.arrivals {
            workload.trace = trace(file)?.into();
        }
        workload.check()?;
        Ok(workload)
    }

    fn check(&self) -> Result<(), ConfigError> {
        in_range("duration", self.duration, Duration::from_millis(10), times::LONGEST)?;
        if !(1..=PROCESSES).contains(&self.processes) {
            return Err(InvalidValue::new("processes", self.processes, format!("1 to {PROCESSES}")).into());
        }
        if self.nodes != 1 && !(3..=NODES).contains(&self.nodes) {
            let allowed = format!("1, or 3 to {NODES} for a quorum");
            return Err(InvalidValue::new("nodes", self.nodes, allowed).into());
        }
        self.mode.check()?;
        self.arrivals.check()?;
        self.hold.check("hold")?;
        if let Some(patience) = &self.patience {
            patience.check("patience")?;
        }
        self.resources.check()?;
        if let Some(slow) = &self.slow_server {
            slow.check()?;
        }
        if let Some(requests) = self.arrivals.expected(self.duration, &self.trace).filter(|it| *it > REQUESTS)
        {
            let allowed = format!("at most {REQUESTS} requests in all");
            return Err(InvalidValue::new("arrivals", format_args!("{requests:.0} requests"), allowed).into());
        }
        if self.config.contains_key("leasehold") {
            let allowed = "its sections, without the table around them";
            return Err(InvalidValue::new("config.leasehold", "a table", allowed).into());
        }
        if self.config.get("store").is_some_and(|store| store.get("url").is_some()) {
            let allowed = "nothing: a workload says how locks are used, and not where they are";
            return Err(InvalidValue::new("config.store.url", "an address", allowed).into());
        }
        self.check_fit(self.config()?.store.layout)
    }

    /// Checks that such locks exist in this layout, and on so many servers.
    fn check_fit(&self, layout: Layout) -> Result<(), ConfigError> {
        let is_plain = layout == Layout::Plain;
        if is_plain && self.nodes > 1 {
            let allowed = "1 with config.store.layout = \"plain\"";
            return Err(InvalidValue::new("nodes", self.nodes, allowed).into());
        }
        match self.mode {
            Access::Exclusive => Ok(()),
            _ if is_plain => {
                let allowed = "exclusive with config.store.layout = \"plain\"";
                Err(InvalidValue::new("mode.kind", "a shared one", allowed).into())
            }
            Access::Permits { .. } if self.nodes > 1 => {
                Err(InvalidValue::new("mode.kind", "permits", "exclusive or read_write on a quorum").into())
            }
            _ => Ok(()),
        }
    }
}

impl SlowServer {
    fn check(&self) -> Result<(), InvalidValue> {
        in_range("slow_server.from", self.from, Duration::ZERO, self.until)?;
        if !(1.0..=10_000.0).contains(&self.factor) {
            return Err(InvalidValue::new("slow_server.factor", self.factor, "1 to 10000"));
        }
        Ok(())
    }
}

impl Access {
    fn check(&self) -> Result<(), InvalidValue> {
        match *self {
            Self::ReadWrite { readers } if !(0.0..=1.0).contains(&readers) => {
                Err(InvalidValue::new("mode.readers", readers, "0 to 1"))
            }
            Self::Permits { of: 0 } => Err(InvalidValue::new("mode.of", 0, "1 or more")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
