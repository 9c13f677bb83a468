//! The plan of a schedule: when its ticks are, by the time of the store.

use std::{fmt, time::Duration};

#[cfg(feature = "cron")]
use super::cron::Cron;
use super::time::{Millis, whole_millis};
use crate::core::{InvalidValue, exact, in_range};

/// The number of characters of a plan that other processes are told.
const LONGEST_WORDS: usize = 200;

#[derive(Clone, Debug)]
pub(super) enum TickPlan {
    /// Each multiple of this many milliseconds since 1970, more than zero.
    Every(Millis),
    /// The times that a cron expression names.
    #[cfg(feature = "cron")]
    Cron(std::sync::Arc<Cron>),
}

impl TickPlan {
    pub(super) fn every(period: Duration) -> Result<Self, InvalidValue> {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        in_range("schedule.every", period, Duration::from_millis(10), 366 * DAY)?;
        whole_millis("schedule.every", period).map(Self::Every)
    }

    #[cfg(feature = "cron")]
    pub(super) fn cron(expression: &str, zone: &str) -> Result<Self, InvalidValue> {
        use std::time::SystemTime;
        // No tick depends on it: it says which years an expression must have one in.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Cron::new(expression, zone, super::time::millis(now))
            .map(|cron| Self::Cron(std::sync::Arc::new(cron)))
    }

    pub(super) fn at_or_before(&self, time: Millis) -> Option<Millis> {
        match self {
            Self::Every(period) => Some(time - time % period),
            #[cfg(feature = "cron")]
            Self::Cron(cron) => cron.at_or_before(time),
        }
    }

    pub(super) fn before(&self, time: Millis) -> Option<Millis> {
        self.at_or_before(time.checked_sub(1)?)
    }

    pub(super) fn after(&self, time: Millis) -> Option<Millis> {
        match self {
            Self::Every(period) => (time - time % period).checked_add(*period),
            #[cfg(feature = "cron")]
            Self::Cron(cron) => cron.after(time),
        }
    }

    /// Returns the longest jitter that leaves ticks in their order.
    pub(super) fn longest_jitter(&self) -> Duration {
        match self {
            Self::Every(period) => Duration::from_millis(period.saturating_sub(1)),
            #[cfg(feature = "cron")]
            Self::Cron(_) => Duration::from_secs(60 * 60),
        }
    }

    /// Returns the plan as other processes are told it, cut if it is long.
    pub(super) fn in_words(&self) -> String {
        self.to_string().chars().take(LONGEST_WORDS).collect()
    }
}

impl fmt::Display for TickPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every(period) => write!(f, "every {}", exact(Duration::from_millis(*period))),
            #[cfg(feature = "cron")]
            Self::Cron(cron) => f.write_str(&cron.words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Schedule, *};

    #[test]
    fn a_schedule_may_be_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Schedule>();
    }

    #[test]
    fn a_plan_is_told_in_few_words() {
        assert_eq!(TickPlan::Every(90_000).in_words(), "every 1m 30s");
        #[cfg(feature = "cron")]
        {
            let cron = |expression: &str| TickPlan::cron(expression, "UTC").unwrap().in_words();
            assert_eq!(cron(" 0 30  8 * * MON-FRI"), "0 30 8 * * MON-FRI UTC");
            let long = format!("{}0 * * * * *", "0,".repeat(500));
            assert_eq!(cron(&long).len(), LONGEST_WORDS);
        }
    }
}
