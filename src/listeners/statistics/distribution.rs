//! Distributions of values, and their histogram.

use serde::{Serialize, Serializer};

/// The number of buckets for each doubling, as a power of two.
const FINENESS: u32 = 3;
const BETWEEN_DOUBLINGS: usize = 1 << FINENESS;

/// The largest value with a bucket of its own: 12.7 days in microseconds. Of larger ones only the maximum is known.
const LARGEST: u64 = (1 << 40) - 1;
const BUCKETS: usize = (40 - FINENESS as usize + 1) * BETWEEN_DOUBLINGS;

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

/// A histogram of times in microseconds, or of counts: eight buckets for each doubling, in 1.2 KiB, because windows and classes
/// keep many.
#[derive(Clone)]
pub(super) struct Buckets {
    counts: [u32; BUCKETS],
    count: u64,
    sum: u64,
    max: u64,
}

impl Buckets {
    pub(super) fn record(&mut self, value: u64) {
        let bucket = &mut self.counts[bucket_of(value.min(LARGEST))];
        *bucket = bucket.saturating_add(1);
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        self.max = self.max.max(value);
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (ours, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *ours = ours.saturating_add(*theirs);
        }
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }

    pub(super) fn distribution(&self) -> Distribution {
        Distribution {
            count: self.count,
            mean: if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 },
            p50: self.quantile(50),
            p90: self.quantile(90),
            p99: self.quantile(99),
            max: self.max,
        }
    }

    /// Returns the end of the first bucket up to which there are this many percent of all values.
    fn quantile(&self, percent: u64) -> u64 {
        let wanted = (self.count * percent).div_ceil(100);
        let mut seen = 0;
        let bucket = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        });
        bucket.filter(|bucket| *bucket < BUCKETS - 1).map_or(self.max, end_of).min(self.max)
    }
}

impl Default for Buckets {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], count: 0, sum: 0, max: 0 }
    }
}

fn bucket_of(value: u64) -> usize {
    // Below eight there is a bucket for each value.
    let Some(shift) = (value | 1).ilog2().checked_sub(FINENESS) else { return value as usize };
    (shift as usize) * BETWEEN_DOUBLINGS + (value >> shift) as usize
}

/// Returns the largest value of a bucket.
fn end_of(bucket: usize) -> u64 {
    let Some(shift) = (bucket / BETWEEN_DOUBLINGS).checked_sub(1) else { return bucket as u64 };
    let above = (bucket % BETWEEN_DOUBLINGS + BETWEEN_DOUBLINGS + 1) as u64;
    (above << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        for bucket in 0..BUCKETS - 1 {
            assert_eq!(bucket_of(end_of(bucket)), bucket);
            assert_eq!(bucket_of(end_of(bucket) + 1), bucket + 1);
        }
        assert_eq!((bucket_of(LARGEST), end_of(BUCKETS - 1)), (BUCKETS - 1, LARGEST));
    }

    #[test]
    fn percentiles_are_at_most_an_eighth_too_large() {
        let mut buckets = Buckets::default();
        (1..=10_000).for_each(|micros| buckets.record(micros));
        let told = buckets.distribution();
        assert_eq!((told.count, told.mean, told.max), (10_000, 5_000.5, 10_000));
        for (told, exact) in [(told.p50, 5_000), (told.p90, 9_000), (told.p99, 9_900)] {
            assert!((exact..=exact + exact / 8).contains(&told), "{told} for {exact}");
        }
    }

    #[test]
    fn no_values_and_huge_ones_have_a_distribution() {
        assert_eq!(Buckets::default().distribution(), Distribution::default());
        let mut buckets = Buckets::default();
        buckets.record(u64::MAX);
        buckets.add(&buckets.clone());
        let told = buckets.distribution();
        assert_eq!((told.count, told.p50, told.max), (2, u64::MAX, u64::MAX));
    }
}
