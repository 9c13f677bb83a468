//! The clock of a tokio runtime, for tests in virtual time.

use std::time::Duration;

use crate::{core::Moment, env::Clock};

/// The clock of the tokio runtime in which it is read. With `tokio::time::pause` it stops and jumps.
///
/// Meant for tests in virtual time. The manager and the store must then run in that same runtime.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeClock {
    origin: tokio::time::Instant,
}

impl RuntimeClock {
    /// Creates a clock that starts now. Must be called inside a tokio runtime.
    pub fn start() -> Self {
        Self { origin: tokio::time::Instant::now() }
    }
}

impl Clock for RuntimeClock {
    fn now(&self) -> Moment {
        // An origin of one hour leaves room for subtractions near the start.
        Moment::since_origin(Duration::from_secs(3600) + self.origin.elapsed())
    }
}
