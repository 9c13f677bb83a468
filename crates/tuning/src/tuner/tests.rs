//! The tuner as a whole: what it sets whatever it is fed, and the actor in virtual time.

mod actor;
mod bounds;
mod trial;

use std::time::Duration;

use leasehold::{Backoff, Settings, TunerSettings, Tuning};

/// The settings of a manager that may change.
pub(super) fn tuning(backoff: Backoff, wait: Duration, max_waiters: u32) -> Tuning {
    let mut settings = Settings::default();
    settings.backoff = backoff;
    (settings.wait.timeout, settings.limits.max_waiters) = (wait, max_waiters);
    Tuning::from(&settings)
}

/// The settings of a manager whose queues have this bound.
fn home(max_waiters: u32) -> Tuning {
    tuning(Backoff::DEFAULT, Duration::from_secs(1), max_waiters)
}

/// The same settings with this bound.
fn bounded(mut settings: Tuning, max_waiters: u32) -> Tuning {
    settings.max_waiters = max_waiters;
    settings
}

/// The default bounds of a tuner that changes settings.
fn enabled() -> TunerSettings {
    let mut bounds = TunerSettings::default();
    bounds.enabled = true;
    bounds
}
