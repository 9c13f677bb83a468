//! The section `[tuner]`: the bounds of the actor that changes settings while a manager runs.

use std::time::Duration;

use serde::Deserialize;

use crate::{
    core::{InvalidValue, LONGEST_PAUSE, in_range, not_zero},
    request::keys::duration,
};

const HOUR: Duration = Duration::from_secs(3600);

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
    fn default() -> Self {
        Self {
            enabled: false,
            dry_run: false,
            window: Duration::from_secs(1),
            burst_wait: Duration::from_secs(1),
            standing_wait: Duration::from_millis(200),
            min_waiters: 3,
            max_pause: Duration::from_secs(5),
            min_attempts: 2,
            min_wait: Duration::from_millis(100),
        }
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
