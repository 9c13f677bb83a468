//! The budget of a search: a number of simulations, or a time.

use std::{
    num::NonZero,
    str::FromStr,
    thread,
    time::{Duration, Instant},
};

use leasehold_tuning::{ServerProfile, Workload, simulate};

use crate::Failure;

/// A budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchBudget {
    Simulations(u32),
    Time(Duration),
}

impl FromStr for SearchBudget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || "expected a number of simulations such as 1000, or a time such as 30s or 5m".to_owned();
        if let Ok(simulations) = text.parse() {
            return Ok(Self::Simulations(simulations));
        }
        let unit = [("s", 1), ("m", 60), ("h", 3_600)].into_iter();
        let mut found = unit.filter_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
        let (number, seconds) = found.next().ok_or_else(wrong)?;
        let number: u32 = number.parse().map_err(|_| wrong())?;
        Ok(Self::Time(Duration::from_secs(u64::from(number) * seconds)))
    }
}

impl SearchBudget {
    /// Returns the number of simulations: as given, or about as many as there is time for. One simulation shows how long they
    /// take.
    pub(super) fn simulations(self, workload: &Workload, profile: &ServerProfile) -> Result<u32, Failure> {
        let time = match self {
            Self::Simulations(simulations) => return Ok(simulations),
            Self::Time(time) => time,
        };
        let started = Instant::now();
        simulate(workload, profile)?;
        let each = started.elapsed().as_secs_f64().max(1e-6);
        let threads = thread::available_parallelism().map_or(1, NonZero::get) as f64;
        // A number that is too large for the type becomes its largest one.
        Ok(((time.as_secs_f64() / each * threads) as u32).clamp(100, 1_000_000))
    }

    /// Returns the time after which the search ends in any case.
    pub(super) const fn time(self) -> Option<Duration> {
        match self {
            Self::Simulations(_) => None,
            Self::Time(time) => Some(time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_number_or_a_time() {
        assert_eq!("250".parse(), Ok(SearchBudget::Simulations(250)));
        assert_eq!("2m".parse(), Ok(SearchBudget::Time(Duration::from_secs(120))));
        for wrong in ["", "s", "much", "-5", "1.5m", "20 s"] {
            assert!(wrong.parse::<SearchBudget>().is_err(), "{wrong}");
        }
    }
}
