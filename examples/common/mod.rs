//! What the examples share: the store that the command line names, and the wish to stop.

#![allow(dead_code, reason = "each example uses its own part")]

use actix::Addr;
use leasehold::{
    LockManager,
    config::{Config, ConfigError},
};
use tracing_subscriber::EnvFilter;

/// What every example can be told.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Common {
    /// Where locks live: memory:// for this process alone, or redis://127.0.0.1:6379
    #[arg(long, default_value = "memory://")]
    pub(crate) store: String,
}

impl Common {
    /// Starts a lock manager on that store. The store need not be there yet.
    pub(crate) fn start(&self) -> Result<Addr<LockManager>, ConfigError> {
        let mut config = Config::default();
        config.store.url = self.store.as_str().into();
        config.start()
    }
}

/// Prints what the library logs to standard error: warnings, or what `RUST_LOG` says.
pub(crate) fn log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(std::io::stderr).init();
}

/// Completes when somebody wants the process to end: Ctrl-C, or SIGTERM.
#[cfg(unix)]
pub(crate) async fn asked_to_stop() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}

/// Completes when somebody wants the process to end: Ctrl-C.
#[cfg(not(unix))]
pub(crate) async fn asked_to_stop() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
