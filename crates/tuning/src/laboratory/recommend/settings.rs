//! The settings that are searched, with the values that come into question.

use std::time::Duration;

use leasehold::{Config, Jitter, text::exact};
use toml::Value;

use super::grid::{Grid, counts, series};
use crate::laboratory::units::micros;

/// The names of [`Jitter`], in the order in which they are numbered here.
const JITTERS: [&str; 3] = ["none", "equal", "full"];

/// A setting that is searched.
#[derive(Debug)]
pub(super) struct SearchedSetting {
    pub(super) key: &'static str,
    pub(super) kind: SettingKind,
    pub(super) grid: Grid,
    /// The value of a configuration, as a number of the grid.
    pub(super) read: fn(&Config) -> f64,
}

/// What the number of a setting stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingKind {
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

impl SettingKind {
    /// Returns the numbers beside one: its half and its double, or all other names. A setting that is left out has none.
    pub(super) fn beside(self, number: f64) -> Vec<f64> {
        match self {
            Self::Jitter => (0..JITTERS.len()).map(|it| it as f64).filter(|it| *it != number).collect(),
            Self::Count if number == 1.0 => vec![2.0],
            Self::Count => vec![(number / 2.0).round(), number * 2.0],
            _ => vec![number / 2.0, number * 2.0],
        }
    }

    pub(super) fn value(self, number: f64) -> Value {
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

/// Returns all of them, for locks that are held for about so many microseconds.
pub(super) fn settings(hold: f64) -> Vec<SearchedSetting> {
    const MILLI: f64 = 1e3;
    const SECOND: f64 = 1e6;
    let setting = |key, kind, grid, read| SearchedSetting { key, kind, grid, read };
    let seconds = |times: &[f64]| Grid::scale(times.iter().map(|time| time * SECOND).collect());
    vec![
        setting(
            "wait.timeout",
            SettingKind::Time,
            Grid::scale([vec![0.0], series(hold / 2.0, hold * 1e3)].concat()).always_varied(),
            |config| micros(config.wait.timeout),
        ),
        setting(
            "backoff.initial",
            SettingKind::Time,
            Grid::scale(series((hold / 8.0).max(MILLI), hold * 32.0)).always_varied(),
            |config| micros(config.backoff.initial()),
        ),
        setting(
            "backoff.max",
            SettingKind::MultipleOf("backoff.initial"),
            Grid::scale(vec![1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 40.0]).always_varied(),
            |config| micros(config.backoff.max()) / micros(config.backoff.initial()),
        ),
        setting(
            "backoff.multiplier",
            SettingKind::Factor,
            Grid::scale(vec![1.0, 1.25, 1.5, 2.0, 3.0, 4.0]),
            |config| config.backoff.factor(),
        ),
        setting(
            "backoff.attempts",
            SettingKind::Count,
            Grid::scale([vec![0.0], counts(1.0, 50.0)].concat()),
            |config| f64::from(config.backoff.max_attempts().unwrap_or(0)),
        ),
        setting("backoff.jitter", SettingKind::Jitter, Grid::names(JITTERS.len()), |config| {
            match config.backoff.jitter_of_pauses() {
                Jitter::None => 0.0,
                Jitter::Equal => 1.0,
                Jitter::Full => 2.0,
            }
        }),
        setting("limits.max_waiters", SettingKind::Count, Grid::scale(counts(1.0, 1_000.0)), |config| {
            f64::from(config.limits.max_waiters)
        }),
        setting(
            "lease.ttl",
            SettingKind::Time,
            seconds(&[1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0]),
            |config| micros(config.lease.ttl),
        ),
        setting(
            "lease.renewal_interval",
            SettingKind::MultipleOf("lease.ttl"),
            Grid::scale(vec![0.0, 0.1, 0.2, 0.25, 0.4, 0.45]),
            |config| config.lease.renewal_interval.map_or(0.0, |it| micros(it) / micros(config.lease.ttl)),
        ),
        setting(
            "wait.grant_window",
            SettingKind::Time,
            seconds(&[0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]),
            |config| micros(config.wait.grant_window),
        ),
        setting(
            "wait.local_handover_limit",
            SettingKind::Count,
            Grid::scale(vec![0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0, 1_000.0]),
            |config| f64::from(config.wait.local_handover_limit),
        ),
    ]
}
