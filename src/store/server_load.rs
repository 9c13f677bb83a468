//! The load of a server, as it tells it.

use std::time::Duration;

/// The work of a server since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerLoad {
    /// The processor time of the thread that serves commands.
    pub busy: Duration,
}

impl ServerLoad {
    /// Creates it from the processor time.
    pub const fn new(busy: Duration) -> Self {
        Self { busy }
    }
}
