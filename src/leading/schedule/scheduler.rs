//! The scheduler: the handle to a schedule that was started.

use std::{fmt, ops::Deref};

use actix::Addr;
use tokio::sync::oneshot;

use super::Control;
use crate::leading::election::{Election, Leave};

/// A schedule that was started. It is its [`Control`], whose changes count for the whole fleet; [`stop`](Self::stop) is for this
/// process alone.
///
/// The schedule goes on when the scheduler is dropped, until the lock manager is shut down.
#[derive(Clone)]
pub struct Scheduler {
    pub(super) control: Control,
    pub(super) election: Addr<Election>,
}

impl Scheduler {
    /// Stops the schedule in this process, and waits for the run that goes on, as long as its
    /// [`finish_within`](super::Schedule::finish_within) allows. Another process takes over.
    ///
    /// # Cancel safety
    /// The call itself stops it. The future only waits.
    pub fn stop(&self) -> impl Future<Output = ()> + use<> {
        let (left, answer) = oneshot::channel();
        self.election.do_send(Leave(left));
        // Without an answer the election has ended before.
        async { answer.await.unwrap_or_default() }
    }

    /// Returns the election of the process that runs the schedule. It ends with [`stop`](Self::stop).
    pub const fn election(&self) -> &Addr<Election> {
        &self.election
    }

    /// Returns the control of the schedule, which any process can have.
    pub const fn control(&self) -> &Control {
        &self.control
    }
}

impl Deref for Scheduler {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").field("name", self.control.name()).finish_non_exhaustive()
    }
}
