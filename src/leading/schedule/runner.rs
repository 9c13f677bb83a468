//! The runner of a schedule: the work of a process that is elected to run it.

use std::{rc::Rc, sync::Arc};

use tokio_util::sync::CancellationToken;

use super::{job::TickJob, term::RunnerTerm};
use crate::{
    leading::election::{TermEnd, TermWork},
    lease::Lease,
    store::Holder,
};

/// The key of a runner's metadata that says its plan in words.
pub(super) const PLAN: &str = "plan";

impl TermWork for TickJob {
    const HEARS: bool = true;

    async fn term(self: Rc<Self>, lease: Arc<Lease>, stop: CancellationToken) -> TermEnd {
        RunnerTerm::new(self, lease, stop).run().await
    }

    /// Compares the plan of whoever runs the schedule with the own one.
    fn hear_of(&self, other: &Holder) {
        let (name, words) = (self.name(), self.rules.plan.in_words());
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
