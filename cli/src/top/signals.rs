//! The signals that end the view.

use std::io;

/// Exit codes as shells count them: 128, and the number of the signal.
pub(super) const INTERRUPTED: u8 = 130;

/// The signals that are listened to.
#[cfg(unix)]
pub(super) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Begins to listen. From here on none of them ends the process by itself.
    pub(super) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for one of them, and returns the exit code for it.
    pub(super) async fn next(&mut self) -> u8 {
        const HUNG_UP: u8 = 129;
        const TERMINATED: u8 = 143;
        tokio::select! {
            _ = self.interrupt.recv() => INTERRUPTED,
            _ = self.terminate.recv() => TERMINATED,
            _ = self.hang_up.recv() => HUNG_UP,
        }
    }
}

/// Where there are no signals: Ctrl-C as the system sends it.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) async fn next(&mut self) -> u8 {
        match tokio::signal::ctrl_c().await {
            Ok(()) => INTERRUPTED,
            // It cannot be listened to. The keys still end the view.
            Err(_) => std::future::pending().await,
        }
    }
}
