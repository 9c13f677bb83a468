//! The settings of a lock manager: defaults and limits for requests, read from one section of `config.toml` each.

use std::time::Duration;

use humantime_serde::Serde;
use serde::{Deserialize, Deserializer, de::Error};
use toml::Value;

use crate::core::{Backoff, InvalidValue, Jitter, ensure, exact, in_range, not_zero};

/// The shortest TTL that leaves room for the drift allowance, the guard band and a renewal.
pub const SHORTEST_TTL: Duration = Duration::from_millis(50);

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The defaults of a lock manager for requests, and the limits of what a request may ask for.
///
/// A [`Config`](crate::Config) has the same sections.
///
/// ```
/// # use std::time::Duration;
/// let mut settings = leasehold::Settings::default();
/// settings.lease.ttl = Duration::from_secs(12);
/// settings.limits.max_waiters = 50;
/// assert_eq!(settings.lease.renewal_interval().as_secs(), 4); // left out, so it follows the ttl
/// settings.check()?;
/// # Ok::<(), leasehold::InvalidValue>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// The lifetime of a lease.
    pub lease: LeaseSettings,
    /// The waiting time of a request.
    pub wait: WaitSettings,
    /// The pauses between the attempts of a request.
    pub backoff: Backoff,
    /// The limits of what a request may ask for.
    pub limits: LimitSettings,
    /// The restarts of crashed actors.
    pub supervision: SupervisionSettings,
}

/// `[lease]`: the lifetime of a lease.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LeaseSettings {
    /// The TTL: the time for which a lease holds unless it is renewed. Default: 30 s.
    #[serde(deserialize_with = "duration")]
    pub ttl: Duration,
    /// The interval between renewals of a lease with that TTL. Another TTL is renewed in the same proportion. Must be
    /// less than half of [`ttl`](Self::ttl), so that one renewal may fail. Default: `None`, a third of the TTL.
    #[serde(default, deserialize_with = "given_duration")]
    pub renewal_interval: Option<Duration>,
}

/// `[wait]`: the waiting time of a request.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WaitSettings {
    /// The time that a request waits for a resource that is held. Zero is a try. Default: zero.
    #[serde(deserialize_with = "duration")]
    pub timeout: Duration,
    /// True if a request gives up at once when it is not likely to be served within its wait: see
    /// [`Request::give_up_early`](crate::Request::give_up_early). Default: no.
    pub give_up_early: bool,
    /// The TTL of a queue ticket: the time for which the store keeps it after the manager last refreshed it. The
    /// manager refreshes it three times as often. Default: 20 s.
    #[serde(deserialize_with = "duration")]
    pub ticket_ttl: Duration,
    /// The time that a waiter has to take up a lease that is handed over to it. A dead waiter at the head of the queue
    /// costs this much. Default: 1 s.
    #[serde(deserialize_with = "duration")]
    pub grant_window: Duration,
    /// The maximum number of hand-offs in a row among the waiters of one manager while others wait in the store. A hand-off
    /// takes one command and wakes nobody. It is therefore the fastest way to serve a waiter. The higher this limit, the
    /// less fair the order. 0 is strictly the order of arrival, in all managers together. Default: 16.
    pub local_handover_limit: u32,
}

/// `[limits]`: the limits of what a request may ask for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitSettings {
    /// The longest TTL that a request may ask for. Also the time that a node of a quorum that may have forgotten has to
    /// be known before it counts again. Default: 24 h.
    #[serde(deserialize_with = "duration")]
    pub max_ttl: Duration,
    /// The longest wait that a request may ask for. A request that waits
    /// [without end](crate::Request::wait_forever) says so by name, and is not bound by it. Default: 24 h.
    #[serde(deserialize_with = "duration")]
    pub max_wait: Duration,
    /// The maximum number of waiters for one resource; one more is answered `QueueFull` at once. Default: 10,000.
    pub max_waiters: u32,
    /// The maximum number of pending requests in one manager; one more is answered `Busy` at once. A request whose wait is over
    /// counts until nothing of it is left to be sent or answered. Default: 100,000.
    pub max_pending: usize,
}

/// `[supervision]`: the restarts of crashed actors.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SupervisionSettings {
    /// The pause before a crashed actor is restarted; doubled with each crash in a row. Default: 10 ms.
    #[serde(deserialize_with = "duration")]
    pub restart_pause: Duration,
    /// The longest such pause. Default: 1 s.
    #[serde(deserialize_with = "duration")]
    pub max_restart_pause: Duration,
}

impl Default for LeaseSettings {
    fn default() -> Self {
        Self { ttl: 30 * SECOND, renewal_interval: None }
    }
}

impl Default for WaitSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::ZERO,
            give_up_early: false,
            ticket_ttl: 20 * SECOND,
            grant_window: SECOND,
            local_handover_limit: 16,
        }
    }
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self { max_ttl: DAY, max_wait: DAY, max_waiters: 10_000, max_pending: 100_000 }
    }
}

impl Default for SupervisionSettings {
    fn default() -> Self {
        Self { restart_pause: Duration::from_millis(10), max_restart_pause: SECOND }
    }
}

impl Settings {
    /// Checks every bound, and the relations between them.
    ///
    /// # Errors
    /// The first [`InvalidValue`], named as in `config.toml`; a broken relation names both settings.
    pub fn check(&self) -> Result<(), InvalidValue> {
        let Self { lease, wait, backoff, limits, supervision } = self;
        backoff.check()?;
        in_range("limits.max_ttl", limits.max_ttl, SHORTEST_TTL, 7 * DAY)?;
        in_range("limits.max_wait", limits.max_wait, Duration::ZERO, 7 * DAY)?;
        not_zero("limits.max_waiters", limits.max_waiters)?;
        not_zero("limits.max_pending", limits.max_pending)?;
        in_range("lease.ttl", lease.ttl, SHORTEST_TTL, limits.max_ttl)?;
        in_range("wait.timeout", wait.timeout, Duration::ZERO, limits.max_wait)?;
        let interval = lease.renewal_interval();
        let allowed = format!("more than zero, and less than half of lease.ttl ({})", exact(lease.ttl));
        let leaves_time = !interval.is_zero() && interval < lease.ttl / 2;
        ensure(leaves_time, "lease.renewal_interval", exact(interval), allowed)?;
        in_range("wait.ticket_ttl", wait.ticket_ttl, SECOND, 3600 * SECOND)?;
        in_range("wait.grant_window", wait.grant_window, SHORTEST_TTL, wait.ticket_ttl)?;
        let SupervisionSettings { restart_pause, max_restart_pause } = *supervision;
        let most = exact(max_restart_pause);
        let allowed = format!("more than zero, and at most supervision.max_restart_pause ({most})");
        let is_pause = !restart_pause.is_zero() && restart_pause <= max_restart_pause;
        ensure(is_pause, "supervision.restart_pause", exact(restart_pause), allowed)?;
        in_range("supervision.max_restart_pause", max_restart_pause, restart_pause, 60 * SECOND)
    }
}

impl LeaseSettings {
    /// Returns the interval between renewals of a lease with the configured TTL: as set, or a third of the TTL.
    pub fn renewal_interval(&self) -> Duration {
        self.renewal_interval.unwrap_or(self.ttl / 3)
    }

    /// Returns the interval between renewals of a lease with this TTL.
    pub(super) fn renewal_interval_of(&self, ttl: Duration) -> Duration {
        ttl.mul_f64(self.renewal_interval().as_secs_f64() / self.ttl.as_secs_f64())
    }
}

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
struct BackoffKeys {
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
