//! The sections of `config.toml` as values, one struct each.

use std::{path::PathBuf, time::Duration};

use humantime_serde::Serde;
use serde::{Deserialize, Deserializer, de::Error};
use toml::Value;

use crate::{
    config::StoreUrl,
    core::{Backoff, InvalidValue, Jitter},
    store::redis::Layout,
};

/// `[store]`: where locks live.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct StoreConfig {
    /// The address: `memory://[name]`, `redis://`, `rediss://`, `redis+unix://`, `redis+sentinel://`, `redis+cluster://`, or
    /// `quorum://[url,url,…]` of several single servers. Default: `memory://`.
    pub url: StoreUrl,
    /// The beginning of every key in Redis. Default: `leasehold`.
    pub prefix: String,
    /// The layout of locks in Redis. Default: full.
    #[serde(with = "LayoutName")]
    pub layout: Layout,
    /// The number of replicas that must confirm a grant or a renewal. Default: 0.
    pub replicas_ack: u32,
    /// The authorities that may vouch for a server with TLS. Default: empty, the public ones.
    pub tls_ca: PathBuf,
    /// The certificate that the client shows. Default: empty, none.
    pub tls_certificate: PathBuf,
    /// The private key of [`tls_certificate`](Self::tls_certificate). Default: empty, none.
    pub tls_key: PathBuf,
    /// The time that connecting may take. Default: 1 s.
    #[serde(deserialize_with = "duration")]
    pub connect_timeout: Duration,
    /// The time that an answer may take before it counts as unknown. At most half of the time between
    /// [`LeaseConfig::renewal_interval`] and [`LeaseConfig::ttl`]. `None`: see
    /// [`Config::response_timeout`](crate::Config::response_timeout).
    #[serde(default, deserialize_with = "given_duration")]
    pub response_timeout: Option<Duration>,
    /// The time for which the last fence of a resource is kept after its last grant; on the nodes of a quorum for
    /// ever. Default: 1 h.
    #[serde(deserialize_with = "duration")]
    pub fence_retention: Duration,
    /// The time to wait for a node of a quorum; never longer than a twentieth of the TTL. Default: 50 ms.
    #[serde(deserialize_with = "duration")]
    pub node_timeout: Duration,
    /// True if the nodes of a quorum may count however young they are, which is for the first start: see
    /// [`QuorumOptions::fresh_start`](crate::QuorumOptions::fresh_start). Default: no.
    pub fresh_start: bool,
}

/// The names of [`Layout`] in a configuration.
#[derive(Deserialize)]
#[serde(remote = "Layout", rename_all = "snake_case")]
enum LayoutName {
    Full,
    Plain,
}

/// `[lease]`: the lifetime of a lease.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LeaseConfig {
    /// The TTL: the time for which a lease holds unless it is renewed. Default: 30 s.
    #[serde(deserialize_with = "duration")]
    pub ttl: Duration,
    /// The interval between renewals; less than half of [`ttl`](Self::ttl). `None`: see
    /// [`Config::renewal_interval`](crate::Config::renewal_interval).
    #[serde(default, deserialize_with = "given_duration")]
    pub renewal_interval: Option<Duration>,
}

/// `[wait]`: the waiting time of a request.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WaitConfig {
    /// The time that a request waits for a resource that is held. Zero is a try. Default: zero.
    #[serde(deserialize_with = "duration")]
    pub timeout: Duration,
    /// The TTL of a queue ticket: the time for which the store keeps it after the last refresh. Default: 20 s.
    #[serde(deserialize_with = "duration")]
    pub ticket_ttl: Duration,
    /// The time that a waiter has to take up a lease that is handed over to it. Default: 1 s.
    #[serde(deserialize_with = "duration")]
    pub grant_window: Duration,
    /// The maximum number of hand-offs in a row among the waiters of one manager while others wait. Default: 16.
    pub local_handover_limit: u32,
}

/// `[backoff]`: the pauses between the attempts of a request.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct BackoffConfig {
    /// All of the section in one word. The other fields are ignored then. Default: none.
    pub preset: Option<Preset>,
    /// The first pause; at most [`max`](Self::max). Default: 100 ms.
    #[serde(deserialize_with = "duration")]
    pub initial: Duration,
    /// The longest pause. Default: 1 s.
    #[serde(deserialize_with = "duration")]
    pub max: Duration,
    /// The factor from one pause to the next. Default: 2.
    pub multiplier: f64,
    /// The maximum number of attempts. Default: as many as the wait allows.
    pub attempts: Option<u32>,
    /// The jitter of the pauses. Default: equal.
    #[serde(with = "JitterName")]
    pub jitter: Jitter,
}

/// The pauses for a well-known kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Preset {
    /// [`Backoff::FLASH_SALE`].
    FlashSale,
    /// [`Backoff::SCHEDULED_JOB`].
    ScheduledJob,
}

/// The names of [`Jitter`] in a configuration.
#[derive(Deserialize)]
#[serde(remote = "Jitter", rename_all = "snake_case")]
enum JitterName {
    None,
    Equal,
    Full,
}

impl BackoffConfig {
    /// Returns the pauses that this section describes.
    pub(super) fn backoff(&self) -> Result<Backoff, InvalidValue> {
        let Self { preset, initial, max, multiplier, attempts, jitter } = *self;
        match preset {
            Some(Preset::FlashSale) => return Ok(Backoff::FLASH_SALE),
            Some(Preset::ScheduledJob) => return Ok(Backoff::SCHEDULED_JOB),
            None => {}
        }
        let backoff = Backoff::new(initial, max)?.multiplier(multiplier)?.jitter(jitter);
        attempts.map_or(Ok(backoff), |attempts| backoff.attempts(attempts))
    }
}

/// `[limits]`: the limits of what a request may ask for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitsConfig {
    /// The longest TTL. Also the time that a node of a quorum that may have forgotten has to be up before it
    /// counts again. Default: 24 h.
    #[serde(deserialize_with = "duration")]
    pub max_ttl: Duration,
    /// The longest wait. Default: 24 h.
    #[serde(deserialize_with = "duration")]
    pub max_wait: Duration,
    /// The maximum number of waiters for one resource. Default: 10,000.
    pub max_waiters: u32,
    /// The maximum number of pending requests in one manager. Default: 100,000.
    pub max_pending: usize,
}

/// `[supervision]`: the restarts of crashed actors.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SupervisionConfig {
    /// The pause before the first restart; doubled with each crash in a row. Default: 10 ms.
    #[serde(deserialize_with = "duration")]
    pub restart_pause: Duration,
    /// The longest such pause. Default: 1 s.
    #[serde(deserialize_with = "duration")]
    pub max_restart_pause: Duration,
}

/// Reads a duration that may be left out.
fn given_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

/// Reads a duration with its unit. The error says how to write one, which that of `humantime_serde` does not.
fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let parsed: Result<Serde<Duration>, _> = value.try_into();
    parsed.map(Serde::into_inner).map_err(|error: toml::de::Error| {
        D::Error::custom(format_args!("{}, such as \"30s\" or \"500ms\"", error.message()))
    })
}
