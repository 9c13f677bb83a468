//! What a grant becomes: a lease, and its place in the table of leases.

use std::sync::Arc;

use crate::{
    actor::{
        Lease, LockManager,
        plan::Plan,
        state::{LeaseState, Terms},
    },
    protocol::Moment,
    store::Grant,
};

impl LockManager {
    /// The lease that was asked for at `sent` and is granted now; `None` if its time has run out already.
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
            metadata: Arc::clone(&plan.acquisition.metadata),
            perhaps_until,
            events: plan.events,
        };
        let (clock, stats) = (Arc::clone(&self.clock), Arc::clone(&self.stats));
        let state = Arc::new(LeaseState::granted(terms, sent, (grant.fence, grant.holds), clock, stats)?);
        state.tell_granted();
        self.leases.insert(Arc::clone(&state), plan.bound_to);
        Some(Lease::new(state, Arc::clone(&self.address), self.store.safety()))
    }
}
