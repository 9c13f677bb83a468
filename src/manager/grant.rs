//! The step from a grant to a lease, with an entry in the table of leases.

use std::sync::Arc;

use crate::{
    core::Moment,
    lease::{Lease, shared::LeaseShared, terms::LeaseTerms},
    manager::LockManager,
    request::validated::ValidRequest,
    store::Grant,
};

impl LockManager {
    /// Creates the lease that was requested at `sent` and is granted now. Returns `None` if its time has run out already.
    pub(crate) fn lease(
        &self,
        request: ValidRequest,
        perhaps_until: Option<Moment>,
        sent: Moment,
        grant: Grant,
    ) -> Option<Lease> {
        let terms = LeaseTerms {
            hold: request.acquisition.hold.clone(),
            mode: request.acquisition.mode,
            ttl: request.acquisition.ttl,
            plan: request.renewal,
            min_hold: request.min_hold,
            lock_delay: request.acquisition.lock_delay,
            metadata: Arc::clone(&request.acquisition.metadata),
            perhaps_until,
            handed_out: !request.for_a_set,
            events: request.events,
        };
        let (clock, stats) = (Arc::clone(&self.clock), Arc::clone(&self.stats));
        let state = Arc::new(LeaseShared::granted(terms, sent, (grant.fence, grant.holds), clock, stats)?);
        state.tell_granted();
        self.leases.insert(Arc::clone(&state), request.bound_to);
        Some(Lease::new(state, Arc::clone(&self.link), self.store.durability()))
    }
}
