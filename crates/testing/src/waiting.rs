//! Waits for conditions, with one limit for all of them.

use std::{
    thread,
    time::{Duration, Instant},
};

/// The longest time that anything may take that has to happen. It is generous, because a machine that is busy with other things
/// may need seconds for what takes milliseconds; no test waits that long unless it fails.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The pause between two looks at a condition.
const LOOK: Duration = Duration::from_millis(5);

/// Waits until something is so.
///
/// # Panics
///
/// If it is not so within [`PATIENCE`].
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        thread::sleep(LOOK);
    }
}

/// Waits until something is so, while other tasks go on.
///
/// # Panics
///
/// If it is not so within [`PATIENCE`].
pub async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !is_so().await {
        assert!(start.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(LOOK).await;
    }
}
