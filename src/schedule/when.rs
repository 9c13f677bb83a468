//! The times of ticks, as an application names them.

use std::{fmt, time::Duration};

use super::plan::{Millis, Plan};
use crate::core::{InvalidValue, exact, in_range};

/// The number of characters of a plan that other processes are told.
const LONGEST_WORDS: usize = 200;

/// The times of ticks.
#[derive(Clone)]
pub(super) enum When {
    Every(Duration),
    /// An expression, and the name of a zone.
    #[cfg(feature = "cron")]
    Cron(String, String),
}

impl When {
    /// Returns the plan.
    pub(super) fn plan(&self) -> Result<Plan, InvalidValue> {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        match self {
            Self::Every(period) => {
                in_range("schedule.every", *period, Duration::from_millis(10), 366 * DAY)?;
                whole_millis("schedule.every", *period).map(Plan::Every)
            }
            #[cfg(feature = "cron")]
            Self::Cron(expression, zone) => {
                use std::time::SystemTime;
                // No tick depends on it: it says which years an expression must have one in.
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                let cron = super::cron::Cron::new(expression, zone, super::plan::millis(now))?;
                Ok(Plan::Cron(Box::new(cron)))
            }
        }
    }

    /// Returns the longest jitter that leaves ticks in their order.
    pub(super) fn longest_jitter(&self) -> Duration {
        match self {
            Self::Every(period) => period.saturating_sub(Duration::from_millis(1)),
            #[cfg(feature = "cron")]
            Self::Cron(..) => Duration::from_secs(60 * 60),
        }
    }

    /// Returns the plan as other processes are told it, cut if it is long.
    pub(super) fn in_words(&self) -> String {
        self.to_string().chars().take(LONGEST_WORDS).collect()
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every(period) => write!(f, "every {}", exact(*period)),
            #[cfg(feature = "cron")]
            Self::Cron(expression, zone) => {
                let fields: Vec<&str> = expression.split_whitespace().collect();
                write!(f, "{} {zone}", fields.join(" "))
            }
        }
    }
}

/// Returns a time in milliseconds, of which it has to be made.
pub(super) fn whole_millis(field: &str, time: Duration) -> Result<Millis, InvalidValue> {
    if !time.subsec_nanos().is_multiple_of(1_000_000) {
        return Err(InvalidValue::new(field, exact(time), "whole milliseconds"));
    }
    u64::try_from(time.as_millis()).map_err(|_| InvalidValue::new(field, exact(time), "less time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_told_in_few_words() {
        assert_eq!(When::Every(Duration::from_secs(90)).in_words(), "every 1m 30s");
        #[cfg(feature = "cron")]
        {
            let cron = |expression: &str| When::Cron(expression.to_owned(), "UTC".to_owned()).in_words();
            assert_eq!(cron(" 0 30  8 * * MON-FRI"), "0 30 8 * * MON-FRI UTC");
            assert_eq!(cron(&"0,".repeat(500)).len(), LONGEST_WORDS);
        }
    }
}
