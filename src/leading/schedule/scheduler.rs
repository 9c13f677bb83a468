//! The scheduler: the handle to a schedule that was started.

use std::{fmt, sync::Arc};

use actix::Addr;
use tokio::sync::{Notify, oneshot};

use super::{
    Control,
    runner::{Leave, Runner},
    tick::Run,
};
use crate::{
    election::{Election, Resign},
    store::StoreError,
};

/// A schedule that was started. What it changes counts for the whole fleet, except for [`stop`](Self::stop).
///
/// The schedule goes on when the scheduler is dropped, until the lock manager is shut down.
#[derive(Clone)]
pub struct Scheduler {
    pub(super) control: Control,
    pub(super) election: Addr<Election>,
    pub(super) runner: Addr<Runner>,
    pub(super) changed: Arc<Notify>,
}

impl Scheduler {
    /// Asks for a run beside the plan, in the process that runs the schedule: at once if that is this one, else within a
    /// second, and as soon as runs that go on leave room. Also in a pause. Several that are asked for before it begins are
    /// one.
    ///
    /// # Errors
    /// [`StoreError`] if it may not have been asked for.
    pub async fn run_now(&self) -> Result<(), StoreError> {
        self.noticed(self.control.run_now().await)
    }

    /// Pauses the schedule. Runs that go on are not stopped, and a tick that is being claimed may still run.
    ///
    /// # Errors
    /// [`StoreError`] if it may not be paused.
    pub async fn pause(&self) -> Result<(), StoreError> {
        self.noticed(self.control.pause().await)
    }

    /// Goes on after a pause, with the first tick after this moment: those of the pause are not made up for.
    ///
    /// # Errors
    /// [`StoreError`] if it may be paused still.
    pub async fn resume(&self) -> Result<(), StoreError> {
        self.noticed(self.control.resume().await)
    }

    /// Returns true if the schedule is paused.
    ///
    /// # Errors
    /// [`StoreError`] if the store does not say so.
    pub async fn is_paused(&self) -> Result<bool, StoreError> {
        Ok(self.control.status().await?.is_some_and(|status| status.paused))
    }

    /// Returns the latest runs of the fleet, the latest first.
    ///
    /// # Errors
    /// [`StoreError`] if the store does not say so.
    pub async fn history(&self) -> Result<Vec<Run>, StoreError> {
        Ok(self.control.status().await?.map(|status| status.history).unwrap_or_default())
    }

    /// Stops the schedule in this process, and waits for the run that goes on, as long as its
    /// [`finish_within`](super::Schedule::finish_within) allows. Another process takes over.
    ///
    /// # Cancel safety
    /// The call itself stops it. The future only waits.
    pub fn stop(&self) -> impl Future<Output = ()> + use<> {
        let (left, answer) = oneshot::channel();
        self.runner.do_send(Leave(left));
        let election = self.election.clone();
        async move {
            if answer.await.is_err() {
                // The runner was stopped before, or has panicked. Without an answer here the election has ended too.
                let _ = election.send(Resign).await;
            }
        }
    }

    /// Returns the election of the process that runs the schedule. It ends within a second after [`stop`](Self::stop).
    pub const fn election(&self) -> &Addr<Election> {
        &self.election
    }

    /// Returns the control of the schedule, which any process can have.
    pub const fn control(&self) -> &Control {
        &self.control
    }

    /// Wakes the runner of this process, also if the change has failed: it may have been made.
    fn noticed(&self, changed: Result<(), StoreError>) -> Result<(), StoreError> {
        self.changed.notify_one();
        changed
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").field("name", self.control.name()).finish_non_exhaustive()
    }
}
