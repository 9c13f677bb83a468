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
    /// The longest time in nanoseconds that a caller waited for a grant, where callers wait for one another. Includes
    /// waits that are not over.
    pub(crate) longest_wait: Option<u64>,
    /// Seconds of processor time.
    pub(crate) processor: f64,
    /// The part of the manager's thread.
    pub(crate) manager: f64,
    /// The part of the threads of callers.
    pub(crate) callers: f64,
    pub(crate) violations: u64,
    pub(crate) failures: u64,
    pub(crate) first_failure: Option<String>,
    /// Acquisitions that were dropped while they were in flight.
    pub(crate) dropped: u64,
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
    /// The time of the request that a caller waits for; zero while it waits for none.
    asked: Vec<AtomicU64>,
    /// The longest wait that is over.
    longest_wait: AtomicU64,
    failures: AtomicU64,
    first_failure: Mutex<Option<String>>,
}

impl Tally {
    pub(crate) fn new(callers: usize) -> Self {
        // Three digits, whatever the range: a histogram that grows by itself.
        let latencies = Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are allowed"));
        let zeros = || (0..callers).map(|_| AtomicU64::new(0)).collect();
        Self {
            turns: zeros(),
            latencies: Mutex::new(latencies),
            asked: zeros(),
            longest_wait: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            first_failure: Mutex::default(),
        }
    }

    /// Forgets what was counted while warming up.
    pub(crate) fn reset(&self) {
        self.turns.iter().for_each(|turns| turns.store(0, Relaxed));
        lock(&self.latencies).reset();
        self.longest_wait.store(0, Relaxed);
        self.failures.store(0, Relaxed);
        *lock(&self.first_failure) = None;
    }

    /// A caller begins to wait. One that asks again after a failure has waited all the time.
    pub(crate) fn asked(&self, caller: usize, now: u64) {
        if self.asked[caller].load(Relaxed) == 0 {
            self.asked[caller].store(now, Relaxed);
        }
    }

    /// The wait of a caller is over.
    pub(crate) fn granted(&self, caller: usize, now: u64) {
        let wait = now.saturating_sub(self.asked[caller].swap(0, Relaxed));
        self.longest_wait.fetch_max(wait, Relaxed);
    }

    /// Returns the longest wait, of those that are over and those that are not.
    pub(crate) fn longest_wait(&self, now: u64) -> u64 {
        let waiting = self.asked.iter().map(|asked| asked.load(Relaxed)).filter(|asked| *asked > 0);
        let longest = waiting.map(|asked| now.saturating_sub(asked)).max();
        longest.unwrap_or(0).max(self.longest_wait.load(Relaxed))
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
    fn a_wait_that_is_not_over_counts() {
        let tally = Tally::new(2);
        tally.asked(0, 10);
        tally.asked(1, 20);
        tally.asked(1, 21);
        tally.granted(0, 15);
        assert_eq!([22, 40].map(|now| tally.longest_wait(now)), [5, 20]);
        tally.granted(1, 40);
        tally.reset();
        assert_eq!(tally.longest_wait(50), 0);
    }

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
