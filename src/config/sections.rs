//! The sections `[store]` and `[tuner]` of `config.toml`; the other sections are the settings of a lock manager.

use std::{path::PathBuf, time::Duration};

use serde::Deserialize;

use crate::{
    config::{Config, StoreUrl},
    core::{InvalidValue, LONGEST_PAUSE, in_range, not_zero},
    request::settings::{duration, given_duration},
    store::redis::Layout,
};

const HOUR: Duration = Duration::from_secs(3600);

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
    /// A file with the password, read again while the store is open. Default: empty, none.
    pub password_file: PathBuf,
    /// A file with the user of [`password_file`](Self::password_file). Default: empty, the default user.
    pub user_file: PathBuf,
    /// The time that connecting may take. Default: 1 s.
    #[serde(deserialize_with = "duration")]
    pub connect_timeout: Duration,
    /// The time that an answer may take before it counts as unknown. At most half of the time between
    /// [`LeaseSettings::renewal_interval`](crate::LeaseSettings::renewal_interval) and its `ttl`. `None`: see
    /// [`Config::response_timeout`](crate::Config::response_timeout).
    #[serde(default, deserialize_with = "given_duration")]
    pub response_timeout: Option<Duration>,
    /// The time without traffic after which the system asks over TCP whether the server is there. Default: 30 s.
    #[serde(deserialize_with = "duration")]
    pub keepalive: Duration,
    /// The time for which the last fence of a resource is kept after its last grant; on the nodes of a quorum for
    /// ever. Default: 1 h.
    #[serde(deserialize_with = "duration")]
    pub fence_retention: Duration,
    /// True if the server tells of the loss of a lease that was renewed. Default: no.
    pub watch_leases: bool,
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

/// `[tuner]`: whether a tuner changes settings while a manager runs, and the bounds that it keeps. The actor `Tuner` of the package
/// `leasehold-tuning` takes them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TunerSettings {
    /// True if a tuner that is started watches and changes anything. Default: no.
    pub enabled: bool,
    /// True if it only tells what it would change. Default: no.
    pub dry_run: bool,
    /// The length of the windows in which figures are counted: 100 ms to 60 s. Default: 1 s.
    #[serde(deserialize_with = "duration")]
    pub window: Duration,
    /// The wait that a queue which comes and goes may cause; who would wait longer is refused at once. 1 ms to 1 h.
    /// Default: 1 s.
    #[serde(deserialize_with = "duration")]
    pub burst_wait: Duration,
    /// The wait that a queue which stays may cause. 1 ms up to [`burst_wait`](Self::burst_wait). Default: 200 ms.
    #[serde(deserialize_with = "duration")]
    pub standing_wait: Duration,
    /// The smallest bound of a queue. Default: 3.
    pub min_waiters: u32,
    /// The longest pause, unless `backoff.max` is longer already. More than zero, up to 1 h. Default: 5 s.
    #[serde(deserialize_with = "duration")]
    pub max_pause: Duration,
    /// The smallest number of attempts, if `backoff.attempts` limits them. Default: 2.
    pub min_attempts: u32,
    /// The shortest wait, unless `wait.timeout` is shorter already. Up to 1 h. Default: 100 ms.
    #[serde(deserialize_with = "duration")]
    pub min_wait: Duration,
}

impl Default for TunerSettings {
    /// Returns the section of the embedded [`DEFAULT_TOML`](Config::DEFAULT_TOML).
    fn default() -> Self {
        Config::default().tuner
    }
}

impl TunerSettings {
    /// Checks every bound.
    ///
    /// # Errors
    /// [`InvalidValue`] with the name of the setting.
    pub fn check(&self) -> Result<(), InvalidValue> {
        const MILLISECOND: Duration = Duration::from_millis(1);
        in_range("tuner.window", self.window, 100 * MILLISECOND, Duration::from_secs(60))?;
        in_range("tuner.burst_wait", self.burst_wait, MILLISECOND, HOUR)?;
        in_range("tuner.standing_wait", self.standing_wait, MILLISECOND, self.burst_wait)?;
        in_range("tuner.max_pause", self.max_pause, MILLISECOND, LONGEST_PAUSE)?;
        in_range("tuner.min_wait", self.min_wait, Duration::ZERO, HOUR)?;
        not_zero("tuner.min_waiters", self.min_waiters)?;
        not_zero("tuner.min_attempts", self.min_attempts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_out_of_its_bounds_is_refused_by_name() {
        let default = TunerSettings::default;
        for (settings, field) in [
            (TunerSettings { window: Duration::ZERO, ..default() }, "tuner.window"),
            (TunerSettings { burst_wait: Duration::MAX, ..default() }, "tuner.burst_wait"),
            (TunerSettings { standing_wait: Duration::from_secs(2), ..default() }, "tuner.standing_wait"),
            (TunerSettings { max_pause: Duration::ZERO, ..default() }, "tuner.max_pause"),
            (TunerSettings { min_wait: Duration::MAX, ..default() }, "tuner.min_wait"),
            (TunerSettings { min_waiters: 0, ..default() }, "tuner.min_waiters"),
            (TunerSettings { min_attempts: 0, ..default() }, "tuner.min_attempts"),
        ] {
            assert_eq!(settings.check().unwrap_err().field, field);
        }
    }
}
