//! A clock that a test sets.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use leasehold::env::{Clock, Moment};

/// Stands still until it is told how much time has passed.
#[derive(Debug)]
pub struct TestClock(Mutex<Duration>);

impl TestClock {
    /// One hour after its origin.
    pub fn new() -> Self {
        Self(Mutex::new(Duration::from_secs(3600)))
    }

    /// Moves it forward.
    pub fn advance(&self, by: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Moment {
        Moment::since_origin(*self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
