//! The summary of a distribution of values.

use serde::{Serialize, Serializer};

/// A distribution of values. The percentiles are at most 13 % too large, and never too small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Distribution {
    /// The number of values.
    pub count: u64,
    /// The average.
    pub mean: f64,
    /// The median: half of the values are at most this.
    pub p50: u64,
    /// The 90th percentile: nine of ten values are at most this.
    pub p90: u64,
    /// The 99th percentile: 99 of a hundred values are at most this.
    pub p99: u64,
    /// The largest value.
    pub max: u64,
}

/// Writes a distribution of microseconds in seconds.
pub(super) fn in_seconds<S: Serializer>(of: &Distribution, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Seconds {
        count: u64,
        mean: f64,
        p50: f64,
        p90: f64,
        p99: f64,
        max: f64,
    }
    let seconds = |micros: u64| micros as f64 / 1e6;
    let &Distribution { count, mean, p50, p90, p99, max } = of;
    let [p50, p90, p99, max] = [p50, p90, p99, max].map(seconds);
    Seconds { count, mean: mean / 1e6, p50, p90, p99, max }.serialize(to)
}
