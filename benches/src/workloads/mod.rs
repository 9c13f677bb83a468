//! What the callers of a worker do.

pub(crate) mod contended;
pub(crate) mod dropped;
pub(crate) mod paced;
pub(crate) mod readers;
pub(crate) mod renewed;
pub(crate) mod uncontended;

use std::time::Duration;

use actix_rt::Arbiter;

use crate::meters;

/// The TTL of every lease.
pub(crate) const TTL: Duration = Duration::from_secs(30);

/// A caller that failed does not try again at once: a server that is gone would keep the processor busy.
const AFTER_FAILURE: Duration = Duration::from_millis(10);

/// Starts callers on this thread if it is the only one, else on a new thread with an arbiter.
fn on_thread(threads: usize, start: impl FnOnce() + Send + 'static) {
    if threads == 1 {
        return start();
    }
    Arbiter::new().spawn_fn(|| {
        if let Err(error) = meters::this_thread_runs_callers() {
            eprintln!("a thread of callers counts as another one: {error}");
        }
        start();
    });
}
