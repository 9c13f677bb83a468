//! The space that is searched: the values of each setting, and the configuration that a choice of them makes.

use std::time::Duration;

use toml::{Table, Value};

use super::grid::{Grid, counts, series};
use crate::{
    config::{Config, ConfigError},
    core::{Jitter, exact},
    store::redis::Layout,
    tuning::{
        chance::Chance,
        workload::{Workload, set},
    },
};

/// A choice: the place of each setting's value in its grid.
pub(super) type Point = Vec<usize>;

/// The names of [`Jitter`], in the order in which they are numbered here.
const JITTERS: [&str; 3] = ["none", "equal", "full"];

/// A setting that is searched.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) key: &'static str,
    kind: Kind,
    pub(super) grid: Grid,
    /// The value of a configuration, as a number of the grid.
    read: fn(&Config) -> f64,
}

/// What the number of a setting stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Microseconds.
    Time,
    /// A count. Zero attempts are a setting that is left out.
    Count,
    /// A factor.
    Factor,
    /// The place of a word in [`JITTERS`].
    Jitter,
    /// A multiple of another setting, so that the two never contradict each other. Zero is one that is left out.
    MultipleOf(&'static str),
}

/// The settings that are searched, around those that are not.
#[derive(Debug)]
pub(super) struct Space {
    pub(super) settings: Vec<Setting>,
    /// The settings of the workload that are not searched.
    fixed: Table,
    /// The settings of the workload as it is.
    own: Table,
    default: Config,
}

impl Space {
    /// Returns the space of a workload. Which times come into question depends on how long locks are held.
    pub(super) fn of(workload: &Workload) -> Result<Self, ConfigError> {
        let config = workload.config()?;
        let hold = typical_hold(workload).max(1_000.0);
        let mut settings = settings(hold);
        if config.store.layout == Layout::Plain {
            // There is no queue.
            settings.retain(|it| !["limits.max_waiters", "wait.grant_window"].contains(&it.key));
        }
        let default = Config::default();
        for setting in &mut settings {
            setting.grid.insert((setting.read)(&default));
            setting.grid.usual = setting.grid.nearest((setting.read)(&default));
        }
        let own = without_defaults(workload.settings());
        let mut fixed = own.clone();
        for key in settings.iter().map(|it| it.key).chain(["backoff.preset"]) {
            remove(&mut fixed, key);
        }
        Ok(Self { settings, fixed, own, default })
    }

    /// Returns the point next to a configuration.
    pub(super) fn nearest(&self, config: &Config) -> Point {
        self.settings.iter().map(|setting| setting.grid.nearest((setting.read)(config))).collect()
    }

    /// Returns the settings of a point, without those that have their defaults.
    pub(super) fn table(&self, point: &Point) -> Result<Table, ConfigError> {
        let mut table = self.fixed.clone();
        for (setting, place) in self.settings.iter().zip(point) {
            let mut number = setting.grid.values[*place];
            if let Kind::MultipleOf(other) = setting.kind {
                let other = self.settings.iter().zip(point).find(|(setting, _)| setting.key == other);
                number *= other.map_or(0.0, |(setting, place)| setting.grid.values[*place]);
            }
            let usual = (setting.read)(&self.default) * self.unit(setting, &self.default);
            if (number - usual).abs() > 1e-6 {
                set(&mut table, setting.key, setting.kind.value(number))?;
            }
        }
        Ok(table)
    }

    /// Returns the settings of the workload as they are, and those that it should be compared with, by name. The others have
    /// the same wait, because without one there are no pauses.
    pub(super) fn compared(&self) -> Result<Vec<(String, Table)>, ConfigError> {
        let wait = self.own.get("wait").and_then(|wait| wait.get("timeout")).cloned();
        let shown = wait.as_ref().and_then(Value::as_str).map(|wait| format!(", wait.timeout {wait}"));
        let shown = shown.unwrap_or_default();
        let mut waits = self.fixed.clone();
        if let Some(wait) = wait {
            set(&mut waits, "wait.timeout", wait)?;
        }
        let mut compared =
            vec![("as it is".to_owned(), self.own.clone()), ("default".to_owned(), self.fixed.clone())];
        if !shown.is_empty() {
            compared.push((format!("default{shown}"), waits.clone()));
        }
        for preset in ["flash_sale", "scheduled_job"] {
            let mut table = waits.clone();
            set(&mut table, "backoff.preset", Value::String(preset.to_owned()))?;
            compared.push((format!("preset {preset}{shown}"), table));
        }
        Ok(compared)
    }

    /// Returns the settings beside those of a configuration in which one is about half as large, about twice as large, or has
    /// another name, each with what is changed.
    pub(super) fn varied(
        &self,
        settings: &Table,
        config: &Config,
    ) -> Result<Vec<(String, Table)>, ConfigError> {
        let mut varied = Vec::new();
        for setting in &self.settings {
            let Some((section, key)) = setting.key.split_once('.') else { continue };
            let Some(found) = settings.get(section).and_then(|keys| keys.get(key)) else { continue };
            let number = (setting.read)(config) * self.unit(setting, config);
            for value in setting.kind.beside(number) {
                let value = setting.kind.value(value);
                if value != *found {
                    let mut changed = settings.clone();
                    set(&mut changed, setting.key, value.clone())?;
                    varied.push((format!("{} = {value}", setting.key), changed));
                }
            }
        }
        Ok(varied)
    }

    /// Returns the settings with every other wait, queue length and pause: what decides about what cannot be had together.
    pub(super) fn around(&self, settings: &Table) -> Result<Vec<Table>, ConfigError> {
        let mut around = Vec::new();
        for key in ["wait.timeout", "limits.max_waiters", "backoff.initial"] {
            let Some(setting) = self.settings.iter().find(|it| it.key == key) else { continue };
            for number in setting.grid.values.iter().step_by(2) {
                let mut changed = settings.clone();
                if *number == (setting.read)(&self.default) {
                    remove(&mut changed, key);
                } else {
                    set(&mut changed, key, setting.kind.value(*number))?;
                }
                around.push(changed);
            }
        }
        Ok(around)
    }

    /// Returns the settings without one section, and without one key, that are searched.
    pub(super) fn simpler(&self, settings: &Table) -> Vec<Table> {
        let mut simpler = Vec::new();
        let keys: Vec<_> = self.settings.iter().map(|it| it.key).chain(["backoff.preset"]).collect();
        let mut without = |keys: &[&str]| {
            let mut table = settings.clone();
            keys.iter().for_each(|key| remove(&mut table, key));
            if table != *settings {
                simpler.push(table);
            }
        };
        for section in ["backoff", "lease", "limits", "wait"] {
            let of_section: Vec<_> = keys.iter().copied().filter(|key| key.starts_with(section)).collect();
            without(&of_section);
        }
        keys.iter().for_each(|key| without(&[key]));
        simpler
    }

    /// Returns what a number of a setting is multiplied with.
    fn unit(&self, setting: &Setting, config: &Config) -> f64 {
        let Kind::MultipleOf(other) = setting.kind else { return 1.0 };
        self.settings.iter().find(|it| it.key == other).map_or(0.0, |it| (it.read)(config))
    }
}

impl Kind {
    /// Returns the numbers beside one: its half and its double, or all other names. A setting that is left out has none.
    fn beside(self, number: f64) -> Vec<f64> {
        match self {
            Self::Jitter => (0..JITTERS.len()).map(|it| it as f64).filter(|it| *it != number).collect(),
            Self::Count if number == 1.0 => vec![2.0],
            Self::Count => vec![(number / 2.0).round(), number * 2.0],
            _ => vec![number / 2.0, number * 2.0],
        }
    }

    fn value(self, number: f64) -> Value {
        match self {
            Self::Time | Self::MultipleOf(_) => {
                let nanos = (number * 1e3).round() as u64;
                Value::String(exact(Duration::from_nanos(nanos)).to_string())
            }
            Self::Count => Value::Integer(number as i64),
            Self::Factor => Value::Float(number),
            Self::Jitter => Value::String(JITTERS[number as usize].to_owned()),
        }
    }
}

/// Returns everything that is searched, for locks that are held for about so many microseconds.
fn settings(hold: f64) -> Vec<Setting> {
    const MILLI: f64 = 1e3;
    const SECOND: f64 = 1e6;
    let setting = |key, kind, grid, read| Setting { key, kind, grid, read };
    let seconds = |times: &[f64]| Grid::scale(times.iter().map(|time| time * SECOND).collect());
    vec![
        setting(
            "wait.timeout",
            Kind::Time,
            Grid::scale([vec![0.0], series(hold / 2.0, hold * 1e3)].concat()).always_varied(),
            |config| micros(config.wait.timeout),
        ),
        setting(
            "backoff.initial",
            Kind::Time,
            Grid::scale(series((hold / 8.0).max(MILLI), hold * 32.0)).always_varied(),
            |config| micros(config.backoff.initial),
        ),
        setting(
            "backoff.max",
            Kind::MultipleOf("backoff.initial"),
            Grid::scale(vec![1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 40.0]).always_varied(),
            |config| micros(config.backoff.max) / micros(config.backoff.initial),
        ),
        setting(
            "backoff.multiplier",
            Kind::Factor,
            Grid::scale(vec![1.0, 1.25, 1.5, 2.0, 3.0, 4.0]),
            |config| config.backoff.multiplier,
        ),
        setting(
            "backoff.attempts",
            Kind::Count,
            Grid::scale([vec![0.0], counts(1.0, 50.0)].concat()),
            |config| f64::from(config.backoff.attempts.unwrap_or(0)),
        ),
        setting("backoff.jitter", Kind::Jitter, Grid::names(JITTERS.len()), |config| {
            match config.backoff.jitter {
                Jitter::None => 0.0,
                Jitter::Equal => 1.0,
                Jitter::Full => 2.0,
            }
        }),
        setting("limits.max_waiters", Kind::Count, Grid::scale(counts(1.0, 1_000.0)), |config| {
            f64::from(config.limits.max_waiters)
        }),
        setting(
            "lease.ttl",
            Kind::Time,
            seconds(&[1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0]),
            |config| micros(config.lease.ttl),
        ),
        setting(
            "lease.renewal_interval",
            Kind::MultipleOf("lease.ttl"),
            Grid::scale(vec![0.0, 0.1, 0.2, 0.25, 0.4, 0.45]),
            |config| config.lease.renewal_interval.map_or(0.0, |it| micros(it) / micros(config.lease.ttl)),
        ),
        setting("wait.grant_window", Kind::Time, seconds(&[0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]), |config| {
            micros(config.wait.grant_window)
        }),
        setting(
            "wait.local_handover_limit",
            Kind::Count,
            Grid::scale(vec![0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0, 1_000.0]),
            |config| f64::from(config.wait.local_handover_limit),
        ),
    ]
}

/// Returns the median of some holds, in microseconds.
fn typical_hold(workload: &Workload) -> f64 {
    /// A part of the seed that nobody else draws from.
    const HOLDS: u64 = 1 << 43;
    let mut chance = Chance::of(workload.seed, HOLDS);
    let mut holds: Vec<Duration> = (0..101).map(|_| workload.hold.draw(&mut chance)).collect();
    holds.sort();
    micros(holds[holds.len() / 2])
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Returns the settings that differ from their defaults.
fn without_defaults(settings: &Table) -> Table {
    // The embedded file is tested to be valid.
    let default: Table = toml::from_str(Config::DEFAULT_TOML).unwrap_or_default();
    let differs = |section: &str, key: &str, value: &Value| {
        default.get(section).and_then(|section| section.get(key)) != Some(value)
    };
    let mut kept = Table::new();
    for (section, keys) in settings {
        let keys = keys.as_table().into_iter().flatten();
        let keys: Table = keys
            .filter(|(key, value)| differs(section, key, value))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if !keys.is_empty() {
            kept.insert(section.clone(), Value::Table(keys));
        }
    }
    kept
}

/// Removes a setting, and its section with the last one.
fn remove(table: &mut Table, setting: &str) {
    let Some((section, key)) = setting.split_once('.') else { return };
    if let Some(Value::Table(keys)) = table.get_mut(section) {
        keys.remove(key);
        if keys.is_empty() {
            table.remove(section);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn workload(config: &str) -> Workload {
        let text = "duration = '1s'\narrivals = { kind = 'constant', rate = 1 }\n\
                    hold = { kind = 'constant', time = '8ms' }\n[config]\n";
        Workload::from_toml(&format!("{text}{config}"), &[]).unwrap()
    }

    fn space(config: &str) -> Space {
        Space::of(&workload(config)).unwrap()
    }

    fn with(space: &Space, changes: &[(&str, f64)]) -> String {
        let mut point = space.nearest(&Config::default());
        for (key, value) in changes {
            let place = space.settings.iter().position(|it| it.key == *key).unwrap();
            let grid = &space.settings[place].grid;
            point[place] = grid.nearest(*value);
            assert_eq!(grid.values[point[place]], *value, "{key}");
        }
        space.table(&point).unwrap().to_string()
    }

    #[test]
    fn a_fragment_has_what_differs_from_the_default_and_what_is_not_searched() {
        let space = space(
            "wait.timeout = '2s'\nwait.ticket_ttl = '40s'\nlease.ttl = '30s'\nbackoff.preset = 'flash_sale'",
        );
        assert_eq!(with(&space, &[]), "[wait]\nticket_ttl = \"40s\"\n");
        let changed = with(&space, &[("backoff.initial", 12_000.0), ("backoff.max", 3.0)]);
        assert_eq!(
            changed,
            "[backoff]\ninitial = \"12ms\"\nmax = \"36ms\"\n\n[wait]\nticket_ttl = \"40s\"\n"
        );
        let attempts = with(&space, &[("backoff.attempts", 3.0), ("backoff.jitter", 2.0)]);
        assert!(attempts.starts_with("[backoff]\nattempts = 3\njitter = \"full\"\n"), "{attempts}");
        let renewals = with(&space, &[("lease.ttl", 10e6), ("lease.renewal_interval", 0.4)]);
        assert!(renewals.starts_with("[lease]\nrenewal_interval = \"4s\"\nttl = \"10s\"\n"), "{renewals}");
    }

    #[test]
    fn compared_settings_have_the_wait_of_the_workload() {
        let names = |config: &str| {
            let compared = space(config).compared().unwrap();
            compared.into_iter().map(|(name, table)| (name, table.to_string())).collect::<Vec<_>>()
        };
        let found = names("wait.timeout = '2s'\nwait.grant_window = '2s'");
        let shown = "preset flash_sale, wait.timeout 2s";
        let (_, preset) = found.iter().find(|(name, _)| name == shown).unwrap();
        assert_eq!(preset, "[backoff]\npreset = \"flash_sale\"\n\n[wait]\ntimeout = \"2s\"\n");
        assert_eq!((found.len(), found[1].1.as_str()), (5, ""));
        assert_eq!(names("").len(), 4);
    }

    #[test]
    fn plain_locks_have_no_queue_to_choose_settings_for() {
        let keys = |config| space(config).settings.iter().map(|it| it.key).collect::<Vec<_>>();
        assert_eq!(keys("").len(), 11);
        let plain = keys("store.layout = 'plain'");
        assert!(plain.len() == 9 && !plain.contains(&"limits.max_waiters"), "{plain:?}");
    }

    proptest! {
        /// A point becomes the configuration that says so, and comes back from it.
        #[test]
        fn a_point_is_a_valid_configuration_and_the_nearest_to_it(draws in prop::collection::vec(0.0..1.0, 11)) {
            let space = space("wait.timeout = '2s'");
            let place = |(setting, draw): (&Setting, &f64)| (setting.grid.values.len() as f64 * draw) as usize;
            let point: Point = space.settings.iter().zip(&draws).map(place).collect();
            let table = space.table(&point).unwrap();
            let config = Config::from_toml(&table.to_string());
            prop_assert!(config.is_ok(), "{table}: {config:?}");
            prop_assert_eq!(space.nearest(&config.unwrap()), point);
        }
    }
}
