//! The progress of a shutdown, which waits for everything that is in flight.

use std::{cell::Cell, rc::Rc};

use tokio::sync::watch;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

#[derive(Default)]
pub(crate) struct Draining {
    /// The number of shutdowns that have begun and not ended. A later one can only bring the end forward.
    pub(super) running: usize,
    /// Becomes true when a shutdown begins.
    pub(super) begun: watch::Sender<bool>,
    /// The number of leases that are held.
    pub(super) held: usize,
    /// The same number, for shutdowns that wait until it is zero.
    pub(super) left: watch::Sender<usize>,
    pub(super) in_flight: TaskTracker,
    /// Becomes true when the manager is to stop for good.
    pub(super) done: Rc<Cell<bool>>,
}

impl Draining {
    /// Registers an operation in flight to the store. The manager stays until this is dropped.
    pub(crate) fn in_flight(&self) -> InFlight {
        InFlight(self.in_flight.token())
    }

    pub(crate) fn has_begun(&self) -> bool {
        *self.begun.borrow()
    }

    pub(crate) fn set_held(&mut self, held: usize) {
        self.held = held;
        // Nobody waits for the number before a shutdown has begun.
        if self.has_begun() {
            self.left.send_replace(held);
        }
    }
}

/// An operation in flight whose answer may still have to be handled: a release, an attempt, a reclaim.
pub(crate) struct InFlight(#[expect(dead_code, reason = "it is there to be dropped")] TaskTrackerToken);
