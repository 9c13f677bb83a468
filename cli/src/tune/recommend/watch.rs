//! The bar that shows how far a search is, and what ends it: Ctrl-C, or the time.

use std::{
    io,
    ops::ControlFlow,
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use leasehold_tuning::Progress;

use super::super::figures::time;
use crate::Failure;

/// Exit code of a command that a signal has ended, as shells count.
const INTERRUPTED: i32 = 130;

/// The watch over a search.
pub(super) struct SearchWatch {
    bar: ProgressBar,
    is_interrupted: Arc<AtomicBool>,
    ends: Option<Instant>,
}

impl SearchWatch {
    /// Starts to watch. A bar is shown on a terminal alone.
    pub(super) fn start(time: Option<Duration>, simulations: u32) -> Result<Self, Failure> {
        let bar = ProgressBar::new(u64::from(simulations));
        bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len}, {eta} left  {msg}")?);
        let is_interrupted = Arc::new(AtomicBool::new(false));
        listen(Arc::clone(&is_interrupted))?;
        Ok(Self { bar, is_interrupted, ends: time.and_then(|time| Instant::now().checked_add(time)) })
    }

    /// Shows the progress, and breaks if the search shall end.
    pub(super) fn see(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.bar.set_position(u64::from(progress.done));
        let best = progress.best.map(|best| {
            let (success, wait) = (best.success * 100.0, time(best.p99_wait));
            format!(": {success:.1} % granted, p99 wait {wait}, server {}", time(best.server_time))
        });
        self.bar.set_message(format!("{}{}", progress.stage, best.unwrap_or_default()));
        let is_over = self.ends.is_some_and(|end| Instant::now() >= end);
        match is_over || self.is_interrupted.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Removes the bar.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Listens for Ctrl-C in a thread of its own. A search is busy and has no runtime.
fn listen(is_interrupted: Arc<AtomicBool>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Whoever interrupts from now on is heard.
    let mut signal = {
        let _inside = runtime.enter();
        interrupts()?
    };
    thread::Builder::new().name("interrupts".to_owned()).spawn(move || {
        runtime.block_on(async {
            while signal.recv().await.is_some() {
                if is_interrupted.swap(true, Ordering::Relaxed) {
                    process::exit(INTERRUPTED);
                }
            }
        });
    })?;
    Ok(())
}

#[cfg(unix)]
fn interrupts() -> io::Result<tokio::signal::unix::Signal> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())
}

#[cfg(not(unix))]
fn interrupts() -> io::Result<tokio::signal::windows::CtrlC> {
    tokio::signal::windows::ctrl_c()
}
