//! The reading of settings: durations with their unit, and `[backoff]`.

use std::time::Duration;

use humantime_serde::Serde;
use serde::{Deserialize, Deserializer, de::Error};
use toml::Value;

use crate::core::{Backoff, Jitter};

/// Reads a duration with its unit. The error says how to write one, which that of `humantime_serde` does not.
///
/// # Errors
/// The value is not a string such as `30s` or `1h 30m`.
pub fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let parsed: Result<Serde<Duration>, _> = value.try_into();
    parsed.map(Serde::into_inner).map_err(|error: toml::de::Error| {
        D::Error::custom(format_args!("{}, such as \"30s\" or \"500ms\"", error.message()))
    })
}

/// Reads a duration that may be left out: for a field with `#[serde(default)]`.
///
/// # Errors
/// The same as [`duration`].
pub fn given_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

/// Reads the pauses of `[backoff]`. Their bounds are checked when all sources are read.
pub(crate) fn backoff<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Backoff, D::Error> {
    let BackoffKeys { preset, initial, max, multiplier, attempts, jitter } =
        BackoffKeys::deserialize(deserializer)?;
    Ok(match preset {
        Some(Preset::FlashSale) => Backoff::FLASH_SALE,
        Some(Preset::ScheduledJob) => Backoff::SCHEDULED_JOB,
        None => Backoff { initial, max, multiplier, attempts, jitter },
    })
}

/// The keys of `[backoff]`. The `preset` is all of the section in one word.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackoffKeys {
    preset: Option<Preset>,
    #[serde(deserialize_with = "duration")]
    initial: Duration,
    #[serde(deserialize_with = "duration")]
    max: Duration,
    multiplier: f64,
    attempts: Option<u32>,
    #[serde(with = "JitterName")]
    jitter: Jitter,
}

/// The names of the presets of [`Backoff`].
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Preset {
    FlashSale,
    ScheduledJob,
}

/// The names of [`Jitter`].
#[derive(Deserialize)]
#[serde(remote = "Jitter", rename_all = "snake_case")]
enum JitterName {
    None,
    Equal,
    Full,
}
