//! Times by chance: how long a lock is held, and how long a caller has patience.

use std::time::Duration;

use leasehold::{
    InvalidValue,
    text::{duration, exact, in_range},
};
use serde::Deserialize;

use crate::laboratory::chance::Chance;

/// The longest time that a workload may have.
pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// A distribution of times.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Times {
    /// Always the same time.
    Constant {
        /// The time.
        #[serde(deserialize_with = "duration")]
        time: Duration,
    },
    /// Exponential: short times are the most frequent, and the end of one says nothing of the next.
    Exponential {
        /// The mean.
        #[serde(deserialize_with = "duration")]
        mean: Duration,
    },
    /// Log-normal: as the times of most requests to other services are, with a long tail.
    LogNormal {
        /// The median.
        #[serde(deserialize_with = "duration")]
        median: Duration,
        /// The 99th percentile.
        #[serde(deserialize_with = "duration")]
        p99: Duration,
    },
    /// Recorded: a histogram.
    Recorded {
        /// The buckets, from the shortest to the longest.
        buckets: Vec<Bucket>,
    },
}

/// A bucket of a recorded histogram. Within a bucket all times are as likely.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Bucket {
    /// The longest time of the bucket. The shortest is the longest of the one before.
    #[serde(deserialize_with = "duration")]
    pub up_to: Duration,
    /// The number of times in it.
    pub count: u32,
}

/// The value of the normal distribution below which 99 of 100 lie.
const NORMAL_P99: f64 = 2.326_347_9;

impl Times {
    /// Draws a time.
    pub(crate) fn draw(&self, chance: &mut Chance) -> Duration {
        let drawn = match self {
            Self::Constant { time } => return *time,
            Self::Exponential { mean } => mean.as_secs_f64() * chance.exponential(),
            Self::LogNormal { median, p99 } => {
                let (median, p99) = (median.as_secs_f64(), p99.as_secs_f64());
                median * ((p99 / median).ln() / NORMAL_P99 * chance.normal()).exp()
            }
            Self::Recorded { buckets } => recorded(buckets, chance),
        };
        Duration::from_secs_f64(drawn.min(LONGEST.as_secs_f64()))
    }

    /// Checks the bounds of a field of a workload.
    pub(super) fn check(&self, field: &str) -> Result<(), InvalidValue> {
        let within = |key: &str, time: Duration, least: Duration| {
            in_range(&format!("{field}.{key}"), time, least, LONGEST)
        };
        match self {
            Self::Constant { time } => within("time", *time, Duration::ZERO),
            Self::Exponential { mean } => within("mean", *mean, Duration::ZERO),
            Self::LogNormal { median, p99 } => {
                within("median", *median, Duration::from_micros(1))?;
                within("p99", *p99, *median)
            }
            Self::Recorded { buckets } => check_buckets(field, buckets),
        }
    }
}

fn recorded(buckets: &[Bucket], chance: &mut Chance) -> f64 {
    let all: f64 = buckets.iter().map(|bucket| f64::from(bucket.count)).sum();
    let (mut left, mut from) = (chance.share() * all, 0.0);
    for bucket in buckets {
        let (count, up_to) = (f64::from(bucket.count), bucket.up_to.as_secs_f64());
        if left < count {
            return from + (up_to - from) * (left / count);
        }
        left -= count;
        from = up_to;
    }
    from
}

fn check_buckets(field: &str, buckets: &[Bucket]) -> Result<(), InvalidValue> {
    let field = format!("{field}.buckets");
    if buckets.iter().all(|bucket| bucket.count == 0) {
        return Err(InvalidValue::new(field, "nothing", "one or more, not all of them with count = 0"));
    }
    let mut before = Duration::ZERO;
    for bucket in buckets {
        if bucket.up_to <= before || bucket.up_to > LONGEST {
            let allowed = format!("more than the one before ({}), up to {}", exact(before), exact(LONGEST));
            return Err(InvalidValue::new(format!("{field}.up_to"), exact(bucket.up_to), allowed));
        }
        before = bucket.up_to;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// The shares of times that are not longer than these.
    fn shares(times: &Times, limits: [u64; 3]) -> [f64; 3] {
        times.check("hold").unwrap();
        let mut chance = Chance::of(3, 0);
        let drawn: Vec<_> = (0..10_000).map(|_| times.draw(&mut chance)).collect();
        limits.map(|limit| drawn.iter().filter(|time| **time <= millis(limit)).count() as f64 / 10_000.0)
    }

    fn near(found: [f64; 3], expected: [f64; 3]) {
        assert!(found.iter().zip(expected).all(|(it, near)| (it - near).abs() < 0.015), "{found:?}");
    }

    #[test]
    fn times_are_drawn_as_their_distribution_says() {
        near(shares(&Times::Constant { time: millis(5) }, [4, 5, 6]), [0.0, 1.0, 1.0]);
        near(shares(&Times::Exponential { mean: millis(100) }, [69, 230, 461]), [0.5, 0.9, 0.99]);
        let log_normal = Times::LogNormal { median: millis(100), p99: millis(1_000) };
        near(shares(&log_normal, [100, 355, 1_000]), [0.5, 0.9, 0.99]);
        let bucket = |up_to, count| Bucket { up_to: millis(up_to), count };
        let recorded = Times::Recorded { buckets: vec![bucket(10, 1), bucket(30, 2), bucket(40, 1)] };
        near(shares(&recorded, [10, 20, 30]), [0.25, 0.5, 0.75]);
    }

    #[test]
    fn times_out_of_their_bounds_are_refused_by_name() {
        let bucket = |up_to, count| Bucket { up_to: millis(up_to), count };
        for (times, field) in [
            (Times::Constant { time: LONGEST + millis(1) }, "hold.time"),
            (Times::Exponential { mean: LONGEST * 2 }, "hold.mean"),
            (Times::LogNormal { median: Duration::ZERO, p99: millis(1) }, "hold.median"),
            (Times::LogNormal { median: millis(2), p99: millis(1) }, "hold.p99"),
            (Times::Recorded { buckets: vec![] }, "hold.buckets"),
            (Times::Recorded { buckets: vec![bucket(1, 0)] }, "hold.buckets"),
            (Times::Recorded { buckets: vec![bucket(2, 1), bucket(2, 1)] }, "hold.buckets.up_to"),
        ] {
            assert_eq!(times.check("hold").unwrap_err().field, field);
        }
    }
}
