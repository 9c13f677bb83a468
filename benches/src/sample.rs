//! What one process counted during a measurement.

use std::cell::{Cell, RefCell};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The result of one worker.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// How long was counted.
    pub(crate) seconds: f64,
    /// Locked and unlocked, by caller.
    pub(crate) turns: Vec<u64>,
    /// Nanoseconds, and how often they were seen.
    pub(crate) latencies: Vec<(u64, u64)>,
    /// Seconds of processor time.
    pub(crate) processor: f64,
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

/// Counts what the callers of this process do. They share one thread.
pub(crate) struct Tally {
    turns: Vec<Cell<u64>>,
    latencies: RefCell<Histogram<u64>>,
    failures: Cell<u64>,
    first_failure: RefCell<Option<String>>,
}

impl Tally {
    pub(crate) fn new(callers: usize) -> Self {
        // Three digits, whatever the range: a histogram that grows by itself.
        let latencies = Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are allowed"));
        Self {
            turns: vec![Cell::new(0); callers],
            latencies: RefCell::new(latencies),
            failures: Cell::new(0),
            first_failure: RefCell::default(),
        }
    }

    /// Forgets what was counted while warming up.
    pub(crate) fn reset(&self) {
        self.turns.iter().for_each(|turns| turns.set(0));
        self.latencies.borrow_mut().reset();
        self.failures.set(0);
    }

    pub(crate) fn turn(&self, caller: usize) {
        self.turns[caller].set(self.turns[caller].get() + 1);
    }

    pub(crate) fn latency(&self, nanos: u64) {
        // It grows with what it is given, so nothing is out of its range.
        let _ = self.latencies.borrow_mut().record(nanos);
    }

    pub(crate) fn failed(&self, failure: &crate::Failure) {
        self.failures.set(self.failures.get() + 1);
        self.first_failure.borrow_mut().get_or_insert_with(|| failure.to_string());
    }

    /// What was counted; time, processor and violations are known elsewhere.
    pub(crate) fn sample(&self) -> Sample {
        let latencies = self.latencies.borrow();
        Sample {
            turns: self.turns.iter().map(Cell::get).collect(),
            latencies: latencies
                .iter_recorded()
                .map(|step| (step.value_iterated_to(), step.count_at_value()))
                .collect(),
            failures: self.failures.get(),
            first_failure: self.first_failure.borrow().clone(),
            ..Sample::default()
        }
    }
}
