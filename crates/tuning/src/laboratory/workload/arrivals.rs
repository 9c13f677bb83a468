//! The arrivals of a workload: when requests are made.

use std::{path::PathBuf, time::Duration};

use leasehold::{
    InvalidValue,
    text::{duration, in_range},
};
use serde::Deserialize;

use crate::laboratory::{
    chance::Chance,
    workload::{
        times::{LONGEST, Times},
        trace::TracedTurn,
    },
};

/// The highest rate, in requests a second.
const FASTEST: f64 = 1_000_000.0;
/// The largest number of callers, and the largest size of a burst.
const MOST: u32 = 100_000;

/// The arrivals of requests, of all processes together.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Arrivals {
    /// One after the other, at equal distances.
    Constant {
        /// The number of requests a second.
        rate: f64,
    },
    /// Independent of one another, as the requests of many users are.
    Poisson {
        /// The mean number of requests a second.
        rate: f64,
    },
    /// Many at a time, as the timers of a fleet bring them.
    Bursts {
        /// The time from one burst to the next.
        #[serde(deserialize_with = "duration")]
        every: Duration,
        /// The number of requests of a burst.
        size: u32,
        /// The time over which the requests of a burst are spread at random.
        #[serde(default, deserialize_with = "duration")]
        within: Duration,
    },
    /// A fixed number of callers, each of which asks again after it was answered, has held, and has paused.
    Callers {
        /// The number of callers, of all processes together.
        callers: u32,
        /// The pause of a caller before it asks again.
        pause: Times,
    },
    /// Recorded: a file with one request in each line, as JSON: `{"at": "12ms", "hold": "3ms", "resource": "orders/1"}`. Only
    /// `at` is needed; the rest comes from the workload. A [`TraceRecorder`](crate::TraceRecorder) writes such a file.
    Trace {
        /// The file, seen from that of the workload.
        file: PathBuf,
    },
}

impl Arrivals {
    pub(super) fn check(&self) -> Result<(), InvalidValue> {
        match self {
            Self::Constant { rate } | Self::Poisson { rate } => {
                if *rate > 0.0 && *rate <= FASTEST {
                    return Ok(());
                }
                Err(InvalidValue::new(
                    "arrivals.rate",
                    rate,
                    format!("more than 0, up to {FASTEST} a second"),
                ))
            }
            Self::Bursts { every, size, within } => {
                in_range("arrivals.every", *every, Duration::from_millis(1), LONGEST)?;
                in_range("arrivals.within", *within, Duration::ZERO, *every)?;
                count("arrivals.size", *size)
            }
            Self::Callers { callers, pause } => {
                count("arrivals.callers", *callers)?;
                pause.check("arrivals.pause")
            }
            Self::Trace { .. } => Ok(()),
        }
    }

    /// Returns about how many requests arrive in this time; `None` if that depends on the answers.
    pub(super) fn expected(&self, time: Duration, trace: &[TracedTurn]) -> Option<f64> {
        match self {
            Self::Constant { rate } | Self::Poisson { rate } => Some(rate * time.as_secs_f64()),
            Self::Bursts { every, size, .. } => {
                Some((time.as_secs_f64() / every.as_secs_f64()).ceil() * f64::from(*size))
            }
            Self::Callers { .. } => None,
            Self::Trace { .. } => Some(trace.len() as f64),
        }
    }

    /// Returns the times before `end` at which requests are made, unless that depends on the answers or is recorded.
    pub(super) fn times(&self, end: Duration, chance: &mut Chance) -> Vec<Duration> {
        let mut times = Vec::new();
        match self {
            Self::Constant { rate } => {
                let at = (0_u32..).map(|number| Duration::from_secs_f64(f64::from(number) / rate));
                times.extend(at.take_while(|at| *at < end));
            }
            Self::Poisson { rate } => {
                let mut at = chance.exponential() / rate;
                while at < end.as_secs_f64() {
                    times.push(Duration::from_secs_f64(at));
                    at += chance.exponential() / rate;
                }
            }
            Self::Bursts { every, size, within } => {
                let starts = (0_u32..).map(|number| *every * number).take_while(|start| *start < end);
                for start in starts {
                    times.extend((0..*size).map(|_| start + within.mul_f64(chance.share())));
                }
                times.sort();
                times.retain(|at| *at < end);
            }
            Self::Callers { .. } | Self::Trace { .. } => {}
        }
        times
    }
}

fn count(field: &str, count: u32) -> Result<(), InvalidValue> {
    if (1..=MOST).contains(&count) {
        return Ok(());
    }
    Err(InvalidValue::new(field, count, format!("1 to {MOST}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn times(arrivals: &Arrivals) -> Vec<u128> {
        arrivals.check().unwrap();
        let times = arrivals.times(Duration::from_secs(10), &mut Chance::of(1, 0));
        assert!(times.is_sorted() && times.last() < Some(&Duration::from_secs(10)));
        times.iter().map(Duration::as_millis).collect()
    }

    #[test]
    fn arrivals_come_as_their_kind_says() {
        assert_eq!(times(&Arrivals::Constant { rate: 0.5 }), [0, 2_000, 4_000, 6_000, 8_000]);
        let poisson = times(&Arrivals::Poisson { rate: 200.0 }).len();
        assert!((1_850..2_150).contains(&poisson), "{poisson}");
        let bursts = times(&Arrivals::Bursts { every: millis(4_000), size: 3, within: millis(100) });
        assert_eq!(bursts.iter().map(|at| at / 4_000).collect::<Vec<_>>(), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
        assert!(bursts.iter().all(|at| at % 4_000 <= 100));
    }

    #[test]
    fn arrivals_out_of_their_bounds_are_refused_by_name() {
        let pause = Times::Constant { time: LONGEST * 2 };
        for (arrivals, field) in [
            (Arrivals::Constant { rate: 0.0 }, "arrivals.rate"),
            (Arrivals::Poisson { rate: f64::NAN }, "arrivals.rate"),
            (Arrivals::Bursts { every: millis(0), size: 1, within: millis(0) }, "arrivals.every"),
            (Arrivals::Bursts { every: millis(1), size: 0, within: millis(0) }, "arrivals.size"),
            (Arrivals::Bursts { every: millis(1), size: 1, within: millis(2) }, "arrivals.within"),
            (Arrivals::Callers { callers: 0, pause: pause.clone() }, "arrivals.callers"),
            (Arrivals::Callers { callers: 1, pause }, "arrivals.pause.time"),
        ] {
            assert_eq!(arrivals.check().unwrap_err().field, field);
        }
    }
}
