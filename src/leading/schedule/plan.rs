//! The plan of a schedule: when its ticks are, in milliseconds since 1970 by the time of the store.

use std::time::Duration;

#[cfg(feature = "cron")]
use super::cron::Cron;

/// A time in milliseconds since 1970, by the clock of the store.
pub(super) type Millis = u64;

/// The latest time that a schedule knows: the end of the year 9999. Nobody can show a later one.
pub(super) const LATEST: Millis = 253_402_300_799_999;

pub(super) fn millis(time: Duration) -> Millis {
    u64::try_from(time.as_millis()).unwrap_or(Millis::MAX)
}

/// The plan of a schedule.
#[derive(Debug)]
pub(super) enum Plan {
    /// Each multiple of this many milliseconds since 1970, more than zero.
    Every(Millis),
    /// The times that a cron expression names.
    #[cfg(feature = "cron")]
    Cron(Box<Cron>),
}

impl Plan {
    /// Returns the last tick at or before this time.
    pub(super) fn at_or_before(&self, time: Millis) -> Option<Millis> {
        match self {
            Self::Every(period) => Some(time - time % period),
            #[cfg(feature = "cron")]
            Self::Cron(cron) => cron.at_or_before(time),
        }
    }

    /// Returns the last tick before this time.
    pub(super) fn before(&self, time: Millis) -> Option<Millis> {
        self.at_or_before(time.checked_sub(1)?)
    }

    /// Returns the first tick after this time.
    pub(super) fn after(&self, time: Millis) -> Option<Millis> {
        match self {
            Self::Every(period) => (time - time % period).checked_add(*period),
            #[cfg(feature = "cron")]
            Self::Cron(cron) => cron.after(time),
        }
    }
}
