//! What one process counted during a measurement.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The result of one worker.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// How long was counted.
    pub(crate) seconds: f64,
    /// Turns a second during the warm-up, from the start of the callers.
    pub(crate) first: Option<f64>,
    /// Locked and unlocked, by caller.
    pub(crate) turns: Vec<u64>,
    /// Nanoseconds, and how often they were seen.
    pub(crate) latencies: Vec<(u64, u64)>,
    /// Seconds of processor time.
    pub(crate) processor: f64,
    /// The part of the manager's thread.
    pub(crate) manager: f64,
    /// The part of the threads of callers.
    pub(crate) callers: f64,
    pub(crate) violations: u64,
    pub(crate) failures: u64,
    pub(crate) first_failure: Option<String>,
    pub(crate) leases: Option<Leases>,
}

/// What held leases cost, and whether they lasted.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Leases {
    pub(crate) bytes_each: f64,
    pub(crate) lost: u64,
}

/// Counter of the work of one thread's callers. It may be read on another thread.
pub(crate) struct Tally {
    turns: Vec<AtomicU64>,
    latencies: Mutex<Histogram<u64>>,
    failures: AtomicU64,
    first_failure: Mutex<Option<String>>,
}

impl Tally {
    pub(crate) fn new(callers: usize) -> Self {
        // Three digits, whatever the range: a histogram that grows by itself.
        let latencies = Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are allowed"));
        Self {
            turns: (0..callers).map(|_| AtomicU64::new(0)).collect(),
            latencies: Mutex::new(latencies),
            failures: AtomicU64::new(0),
            first_failure: Mutex::default(),
        }
    }

    /// Forgets what was counted while warming up.
    pub(crate) fn reset(&self) {
        self.turns.iter().for_each(|turns| turns.store(0, Relaxed));
        lock(&self.latencies).reset();
        self.failures.store(0, Relaxed);
    }

    pub(crate) fn turn(&self, caller: usize) {
        self.turns[caller].fetch_add(1, Relaxed);
    }

    pub(crate) fn latency(&self, nanos: u64) {
        // It grows with what it is given, so nothing is out of its range.
        let _ = lock(&self.latencies).record(nanos);
    }

    pub(crate) fn failed(&self, failure: &crate::Failure) {
        self.failures.fetch_add(1, Relaxed);
        lock(&self.first_failure).get_or_insert_with(|| failure.to_string());
    }

    /// All turns so far.
    pub(crate) fn turns(&self) -> u64 {
        self.turns.iter().map(|turns| turns.load(Relaxed)).sum()
    }

    /// What was counted; time, processor and violations are known elsewhere.
    pub(crate) fn sample(&self) -> Sample {
        let latencies = lock(&self.latencies);
        Sample {
            turns: self.turns.iter().map(|turns| turns.load(Relaxed)).collect(),
            latencies: latencies
                .iter_recorded()
                .map(|step| (step.value_iterated_to(), step.count_at_value()))
                .collect(),
            failures: self.failures.load(Relaxed),
            first_failure: lock(&self.first_failure).clone(),
            ..Sample::default()
        }
    }
}

impl Sample {
    /// Adds what another thread of this process counted.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.turns.extend(other.turns);
        self.latencies.extend(other.latencies);
        self.failures += other.failures;
        self.first_failure = self.first_failure.or(other.first_failure);
        self
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted_together() {
        let [one, other] = [Tally::new(1), Tally::new(2)];
        one.turn(0);
        other.turn(1);
        other.latency(7);
        other.failed(&"why".into());
        let both = one.sample().and(other.sample());
        assert_eq!((both.turns, both.latencies, both.failures), (vec![1, 0, 1], vec![(7, 1)], 1));
        assert_eq!(both.first_failure.as_deref(), Some("why"));
        other.reset();
        assert_eq!((one.turns(), other.turns()), (1, 0));
    }
}
