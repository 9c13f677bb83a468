//! The space that is searched: the values of each setting, and the configuration that a choice of them makes.

use std::time::Duration;

use leasehold::{Config, ConfigError, Layout};
use toml::{Table, Value};

use super::settings::{SearchedSetting, SettingKind, settings};
use crate::laboratory::{chance::Chance, keys::set, units::micros, workload::Workload};

/// A choice: the place of each setting's value in its grid.
pub(super) type Point = Vec<usize>;

/// The settings that are searched, around those that are not.
#[derive(Debug)]
pub(super) struct Space {
    pub(super) settings: Vec<SearchedSetting>,
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
    pub(super) fn table(&self, point: &[usize]) -> Result<Table, ConfigError> {
        let mut table = self.fixed.clone();
        for (setting, place) in self.settings.iter().zip(point) {
            let mut number = setting.grid.values[*place];
            if let SettingKind::MultipleOf(other) = setting.kind {
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

    /// Returns the settings with a wait that is about twice as long, and one that is about eight times as long.
    pub(super) fn roomier(&self, settings: &Table, config: &Config) -> Result<Vec<Table>, ConfigError> {
        const WAIT: &str = "wait.timeout";
        let wait = micros(config.wait.timeout);
        let Some(setting) = self.settings.iter().find(|it| it.key == WAIT && wait > 0.0) else {
            return Ok(Vec::new());
        };
        let longer = |times: f64| {
            let mut changed = settings.clone();
            let number = setting.grid.values[setting.grid.nearest(wait * times)];
            set(&mut changed, WAIT, setting.kind.value(number))?;
            Ok(changed)
        };
        [2.0, 8.0].into_iter().map(longer).collect()
    }

    /// Returns the settings without one section, and without one key, that are searched.
    pub(super) fn simpler(&self, settings: &Table) -> Vec<Table> {
        let keys: Vec<_> = self.settings.iter().map(|it| it.key).chain(["backoff.preset"]).collect();
        let sections = ["backoff", "lease", "limits", "wait"];
        let of = |section: &&str| keys.iter().copied().filter(|key| key.starts_with(section)).collect();
        let all = sections.iter().map(of).chain(keys.iter().map(|key| vec![*key]));
        all.filter_map(|keys: Vec<&str>| self.without(settings, &keys)).collect()
    }

    /// Returns the settings without these keys; `None` if they are not there, or if a default would give way to what is left, for
    /// then the fragment would not say what it does.
    fn without(&self, settings: &Table, keys: &[&str]) -> Option<Table> {
        let mut table = settings.clone();
        keys.iter().for_each(|key| remove(&mut table, key));
        let config = Config::from_toml(&table.to_string()).ok()?;
        let without = Config::from_toml(&self.fixed.to_string()).ok()?;
        let amount = |setting: &SearchedSetting, config| (setting.read)(config) * self.unit(setting, config);
        let is_usual = |it: &SearchedSetting| (amount(it, &config) - amount(it, &without)).abs() < 1e-6;
        let are_usual = self.settings.iter().filter(|it| keys.contains(&it.key)).all(is_usual);
        (table != *settings && are_usual).then_some(table)
    }

    /// Returns what a number of a setting is multiplied with.
    fn unit(&self, setting: &SearchedSetting, config: &Config) -> f64 {
        let SettingKind::MultipleOf(other) = setting.kind else { return 1.0 };
        self.settings.iter().find(|it| it.key == other).map_or(0.0, |it| (it.read)(config))
    }
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
    fn a_roomier_setting_waits_for_longer_and_is_the_same_otherwise() {
        let roomier = |config: &str| {
            let workload = workload(config);
            let found =
                Space::of(&workload).unwrap().roomier(workload.settings(), &workload.config().unwrap());
            found.unwrap().iter().map(|table| table.to_string().replace('\n', " ")).collect::<Vec<_>>()
        };
        let of = |wait| format!("[backoff] initial = \"7ms\"  [wait] timeout = \"{wait}\" ");
        assert_eq!(roomier("backoff.initial = '7ms'\nwait.timeout = '180ms'"), [of("350ms"), of("1s 400ms")]);
        assert!(roomier("wait.timeout = '0s'").is_empty(), "a try is one on purpose");
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
    fn a_setting_is_left_out_unless_another_default_gave_way_then() {
        let space = space("");
        let simpler = |text: &str| {
            let settings: Table = toml::from_str(text).unwrap();
            space.simpler(&settings).into_iter().map(|table| table.to_string()).collect::<Vec<_>>()
        };
        let wait = "[wait]\ntimeout = \"1s\"\n";
        assert_eq!(simpler(&format!("[backoff]\ninitial = \"8ms\"\n\n{wait}"))[0], wait);
        let both = simpler("[backoff]\ninitial = \"8ms\"\nmax = \"16ms\"\n");
        assert_eq!(both, ["", "[backoff]\ninitial = \"8ms\"\n"]);
        assert_eq!(simpler("[backoff]\npreset = \"flash_sale\"\n"), ["", ""]);
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
            let place = |(setting, draw): (&SearchedSetting, &f64)| (setting.grid.values.len() as f64 * draw) as usize;
            let point: Point = space.settings.iter().zip(&draws).map(place).collect();
            let table = space.table(&point).unwrap();
            let config = Config::from_toml(&table.to_string());
            prop_assert!(config.is_ok(), "{table}: {config:?}");
            prop_assert_eq!(space.nearest(&config.unwrap()), point);
        }
    }
}
