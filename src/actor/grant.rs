//! The step from a grant to a lease, with an entry in the table of leases.

use std::{sync::Arc, time::Duration};

use actix::Recipient;

use crate::{
    actor::{Lease, LeaseEvent, LockManager, plan::Plan, state::LeaseState},
    protocol::{Mode, Moment, RenewalPlan},
    store::{Grant, Hold, Metadata},
};

/// Everything that is needed to make a [`LeaseState`] besides the answer of the store.
pub(crate) struct Terms {
    pub(crate) hold: Hold,
    pub(crate) mode: Mode,
    pub(crate) ttl: Duration,
    pub(crate) plan: RenewalPlan,
    pub(crate) min_hold: Duration,
    pub(crate) lock_delay: Duration,
    pub(crate) metadata: Arc<Metadata>,
    pub(crate) perhaps_until: Option<Moment>,
    pub(crate) handed_out: bool,
    pub(crate) events: Option<Recipient<LeaseEvent>>,
}

impl LockManager {
    /// Creates the lease that was requested at `sent` and is granted now. Returns `None` if its time has run out already.
    pub(crate) fn lease(
        &self,
        plan: Plan,
        perhaps_until: Option<Moment>,
        sent: Moment,
        grant: Grant,
    ) -> Option<Lease> {
        let terms = Terms {
            hold: plan.acquisition.hold.clone(),
            mode: plan.acquisition.mode,
            ttl: plan.acquisition.ttl,
            plan: plan.renewal,
            min_hold: plan.min_hold,
            lock_delay: plan.acquisition.lock_delay,
            metadata: Arc::clone(&plan.acquisition.metadata),
            perhaps_until,
            handed_out: !plan.for_a_set,
            events: plan.events,
        };
        let (clock, stats) = (Arc::clone(&self.clock), Arc::clone(&self.stats));
        let state = Arc::new(LeaseState::granted(terms, sent, (grant.fence, grant.holds), clock, stats)?);
        state.tell_granted();
        self.leases.insert(Arc::clone(&state), plan.bound_to);
        Some(Lease::new(state, Arc::clone(&self.address), self.store.safety()))
    }
}
