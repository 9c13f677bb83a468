//! The runner of a schedule: the work of a process that is elected to run it.

use std::{cell::RefCell, rc::Rc, sync::Arc};

use actix::Addr;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{job::TickJob, notebook::Notebook, progress::Floor, term::RunnerTerm};
use crate::{
    leading::election::{TermEnd, TermWork},
    lease::Lease,
    manager::LockManager,
    store::Holder,
};

/// The key of a runner's metadata that says its plan in words.
pub(super) const PLAN: &str = "plan";

/// The runner of a schedule in one process, whom the election tells when to run.
pub(super) struct Runner {
    pub(super) job: Rc<TickJob>,
    pub(super) locks: Addr<LockManager>,
    pub(super) changed: Arc<Notify>,
    pub(super) floor: Floor,
    /// The plan of another process that was warned of last.
    pub(super) foreign_plan: RefCell<Option<String>>,
}

impl TermWork for Runner {
    const HEARS: bool = true;

    async fn term(self: Rc<Self>, lease: Arc<Lease>, stop: CancellationToken) -> TermEnd {
        let notebook = Notebook::new(self.locks.clone(), self.job.name.clone(), Rc::clone(&self.floor));
        RunnerTerm::new(Rc::clone(&self.job), lease, notebook, Arc::clone(&self.changed), stop).run().await
    }

    /// Compares the plan of whoever runs the schedule with the own one.
    fn hear_of(&self, other: &Holder) {
        let (name, words) = (&self.job.name, self.job.plan.in_words());
        let plan = other.metadata.get(PLAN).filter(|plan| **plan != words);
        let Some(plan) = plan else { return };
        if self.foreign_plan.borrow().as_ref() != Some(plan) {
            tracing::warn!(
                schedule = %name, plan = words, other_plan = plan, host = other.metadata.get("host"),
                pid = other.metadata.get("pid"),
                "the schedule of this name runs with another plan, which counts while its process is elected"
            );
            self.foreign_plan.replace(Some(plan.clone()));
        }
    }
}
