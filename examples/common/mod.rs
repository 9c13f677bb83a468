//! The shared part of the examples: the configuration that the command line names, the wish to stop, and the end.

#![allow(dead_code, reason = "each example uses its own part")]

use std::{error::Error, path::PathBuf, time::Duration};

use actix::Addr;
use leasehold::{Config, ConfigError, LockManager, Shutdown};
use tracing::Level;
use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// What every example can be told.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Common {
    /// The configuration of the locks. Without it: the file in LEASEHOLD_CONFIG, or config.toml if it is there
    #[arg(long)]
    pub(crate) config: Option<PathBuf>,
    /// Where locks live, whatever the configuration says: memory:// for this process alone, or redis://127.0.0.1:6379
    #[arg(long)]
    pub(crate) store: Option<String>,
}

impl Common {
    /// The configuration, with the environment over the file and the command line over both.
    pub(crate) fn config(&self) -> Result<Config, ConfigError> {
        let mut config = match &self.config {
            Some(file) => Config::from_file(file)?,
            None => Config::load()?,
        };
        if let Some(url) = &self.store {
            config.store.url = url.as_str().into();
        }
        Ok(config)
    }

    /// Starts a lock manager. The store need not be there yet.
    pub(crate) fn start(&self) -> Result<Addr<LockManager>, ConfigError> {
        self.config()?.start()
    }
}

/// Prints what the library logs to standard error: warnings, or what `RUST_LOG` says.
pub(crate) fn log() {
    let wanted = std::env::var("RUST_LOG").ok().and_then(|wanted| wanted.parse().ok());
    let wanted = wanted.unwrap_or_else(|| Targets::new().with_default(Level::WARN));
    let lines = fmt::layer().with_ansi(false).with_writer(std::io::stderr);
    tracing_subscriber::registry().with(lines).with(wanted).init();
}

/// Waits for so long, or until somebody wants the process to end, and then shuts the locks down. Leaders have this time
/// to finish.
pub(crate) async fn run_until_stopped(
    locks: &Addr<LockManager>,
    runs_for: Duration,
    drain: Duration,
) -> Result<(), Box<dyn Error>> {
    tokio::select! {
        () = tokio::time::sleep(runs_for) => {}
        stopped = asked_to_stop() => stopped?,
    }
    let drained = locks.send(Shutdown { drain }).await?;
    println!("released: {}, taken away: {}", drained.finished, drained.revoked);
    Ok(())
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
