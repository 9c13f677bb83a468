//! The control of a schedule from any process of the fleet, and the handle where it was started.

use std::{fmt, ops::Deref, sync::Arc};

use actix::Addr;
use tokio::sync::{Notify, oneshot};

use super::{
    notebook::{Notebook, Redone},
    progress::Floor,
    state::ScheduleState,
    tick::{Millis, Run, Status},
};
use crate::{
    core::ResourceName,
    leading::election::{Election, Leave},
    manager::LockManager,
    runtime::env::{Random, SystemRandom},
    store::StoreError,
};

/// The control of a schedule from any process: also from one that has not started it, such as a tool of an operator.
///
/// [`List::schedules`](crate::List::schedules) has the names of all schedules, and [`Inspect`](crate::Inspect) of the same name
/// shows who runs one: its lock has the name of the schedule.
///
/// ```
/// use leasehold::schedule::Control;
/// # use leasehold::{List, LockManager, MemoryStore};
/// # #[actix::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
/// for name in locks.send(List::new("").schedules()).await??.resources {
///     if let Some(control) = Control::find(&locks, &name).await? {
///         control.pause().await?;
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Control {
    pub(super) locks: Addr<LockManager>,
    pub(super) name: ResourceName,
    /// Wakes the runner of this process, if the control comes from its scheduler.
    pub(super) changed: Arc<Notify>,
}

impl Control {
    /// Finds the schedule of this name. `None` if the store knows none: no process has run it yet, or its name is another one.
    ///
    /// # Errors
    /// [`StoreError`] if the store does not say so.
    pub async fn find(locks: &Addr<LockManager>, name: &ResourceName) -> Result<Option<Self>, StoreError> {
        let control = Self { locks: locks.clone(), name: name.clone(), changed: Arc::default() };
        Ok(control.status().await?.map(|_| control))
    }

    /// Returns the name of the schedule.
    pub const fn name(&self) -> &ResourceName {
        &self.name
    }

    /// Returns the status of the schedule. `None` if the store knows none of this name any more.
    ///
    /// # Errors
    /// [`StoreError`] if the store does not say so.
    pub async fn status(&self) -> Result<Option<Status>, StoreError> {
        let mut notebook = self.notebook(Floor::default());
        notebook.ask(None).await?;
        Ok(notebook.state.as_ref().map(|state| state.status(notebook.now())))
    }

    /// Returns true if the schedule is paused.
    ///
    /// # Errors
    /// [`StoreError`] if the store does not say so.
    pub async fn is_paused(&self) -> Result<bool, StoreError> {
        Ok(self.status().await?.is_some_and(|status| status.paused))
    }

    /// Returns the latest runs of the fleet, the latest first.
    ///
    /// # Errors
    /// [`StoreError`] if the store does not say so.
    pub async fn history(&self) -> Result<Vec<Run>, StoreError> {
        Ok(self.status().await?.map(|status| status.history).unwrap_or_default())
    }

    /// Asks for a run beside the plan, in the process that runs the schedule: at once if this control comes from its
    /// scheduler, else within a second, and as soon as runs that go on leave room. Also in a pause. Several that are asked for before it begins are
    /// one.
    ///
    /// # Errors
    /// [`StoreError`] if it may not have been asked for.
    pub async fn run_now(&self) -> Result<(), StoreError> {
        let id = SystemRandom.token();
        // Known by its token, as long as the last 16 are kept.
        self.change(Redone::Harmless, |state, now| state.ask(id, now)).await
    }

    /// Pauses the schedule. Runs that go on are not stopped, and a tick that is being claimed may still run.
    ///
    /// # Errors
    /// [`StoreError`] if it may not be paused.
    pub async fn pause(&self) -> Result<(), StoreError> {
        self.change(Redone::Never, |state, _| state.paused = true).await
    }

    /// Goes on after a pause, with the first tick after this moment: those of the pause are not made up for.
    ///
    /// # Errors
    /// [`StoreError`] if it may be paused still.
    pub async fn resume(&self) -> Result<(), StoreError> {
        self.change(Redone::Never, ScheduleState::resume).await
    }

    async fn change(
        &self,
        redone: Redone,
        change: impl Fn(&mut ScheduleState, Millis),
    ) -> Result<(), StoreError> {
        let changed = self.notebook(Floor::default()).change(redone, change).await;
        // Also if it has failed: it may have been made.
        self.changed.notify_one();
        changed
    }

    pub(super) fn notebook(&self, floor: Floor) -> Notebook {
        Notebook::new(self.locks.clone(), self.name.clone(), floor)
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A schedule that was started. It is its [`Control`], whose changes count for the whole fleet; [`stop`](Self::stop) is for this
/// process alone.
///
/// The schedule goes on when the scheduler is dropped, until the lock manager is shut down.
#[derive(Clone, Debug)]
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
