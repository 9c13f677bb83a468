//! What is logged on the thread of a test.

use std::{
    io,
    sync::{Arc, Mutex, OnceLock},
};

use tracing::{Dispatch, Level, subscriber::DefaultGuard};
use tracing_subscriber::Registry;

/// The log of a thread.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Begins to write down what this thread logs at this level and above, until the guard is dropped.
    pub fn begin(level: Level) -> (Self, DefaultGuard) {
        keep_events();
        let log = Self::default();
        let written = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_writer(move || written.clone())
            .without_time()
            .with_ansi(false)
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    /// Everything that was logged so far.
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// The lines that have this in them.
    pub fn lines_with(&self, text: &str) -> Vec<String> {
        self.text().lines().filter(|line| line.contains(text)).map(|line| line.trim().to_owned()).collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps the events of a test that listens. While a process has only one subscriber, an event that is met first on a thread
/// without one is switched off for all threads. So there is a second one, which nobody uses, for as long as the process
/// lives.
pub fn keep_events() {
    static SECOND: OnceLock<Dispatch> = OnceLock::new();
    SECOND.get_or_init(|| Dispatch::new(Registry::default()));
}
