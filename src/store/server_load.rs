//! The load of a server, as it tells it.

use std::time::Duration;

/// The work of a server since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerLoad {
    /// The processor time of the thread that serves commands.
    pub busy: Duration,
    /// The commands that were served, of all clients.
    pub commands: u64,
}

impl ServerLoad {
    /// Creates it from its figures.
    pub const fn new(busy: Duration, commands: u64) -> Self {
        Self { busy, commands }
    }
}
