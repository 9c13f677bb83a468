//! Local hand-off: a release hands the resource off to the next member of the cohort.

use crate::{
    core::{Event, Executed, Lack, Mode, Moment, ResourceName, Token},
    manager::{LockManager, dispatch::HandingOff, waiting::attempts::Attempt},
    request::{AcquireError, validated::ValidRequest},
    store::{Acquisition, Hold, Holder, HolderState, Refusal, StoreError},
};

/// Returns true if the release of this hold frees all of the resource, which can then be handed off to the next
/// exclusive waiter.
pub(crate) fn is_alone(mode: Mode, hold: &Hold) -> bool {
    mode == Mode::Exclusive && hold.owner.is_none()
}

impl LockManager {
    /// Returns true if a request is to wait in a cohort.
    pub(crate) fn joins_cohort(&self, request: &ValidRequest) -> bool {
        let Acquisition { mode, hold, ticket, .. } = &*request.acquisition;
        // A limited number of attempts ends the wait by itself. Another waiter cannot use them up for it.
        let counts = request.backoff.max_attempts().is_some();
        self.settings.wait.local_handover_limit > 0 && is_alone(*mode, hold) && ticket.is_some() && !counts
    }

    /// Adds a waiter to the cohort for its resource.
    pub(crate) fn join_cohort(&mut self, token: Token) {
        let Some(waiter) = self.waiters.get_mut(token) else {
            return;
        };
        let resource = waiter.request.acquisition.hold.resource.clone();
        let (arrival, ahead) = self.cohorts.join(&resource, token);
        waiter.arrival = Some(arrival);
        let waiters = ahead as u64;
        if waiters >= u64::from(self.settings.limits.max_waiters) {
            return self.on_or_fail(token, Event::Dismissed, Some(AcquireError::QueueFull { waiters }));
        }
        self.mend_cohort(&resource);
        let leader = self.cohorts.leader(&resource).and_then(|leader| self.waiters.get_mut(leader));
        let ahead_of_all = leader.and_then(|leader| leader.waiting.ahead()).unwrap_or(0);
        if let Some(waiter) = self.waiters.get_mut(token).filter(|waiter| waiter.waiting.is_following()) {
            waiter.tell_queued(waiters + ahead_of_all);
            self.on(token, Event::Follow(waiters + ahead_of_all));
        }
    }

    /// Mends a cohort after a change, so that it has a leader, and no abandoned waiter leads it in vain.
    pub(crate) fn mend_cohort(&mut self, resource: &ResourceName) {
        while let Some(lack) = self.cohorts.lack(resource) {
            match lack {
                Lack::Leader(first) => return self.on(first, Event::Lead),
                Lack::Members(abandoned) => self.on(abandoned, Event::LeftAlone),
            }
        }
    }

    /// Handles a resource that was taken away from its holder. A lease of this manager learns that with its next
    /// renewal, for which its cohort does not wait.
    pub(crate) fn opened(&mut self, resource: &ResourceName) {
        if let Some(holder) = self.cohorts.holder(resource) {
            self.cohorts.released(resource, holder);
            self.mend_cohort(resource);
        }
    }

    /// Returns an attempt of the next member of the cohort for this resource, and whether it may overtake others.
    pub(crate) fn start_hand_off(&mut self, resource: &ResourceName) -> Option<(Attempt, bool)> {
        let (next, may_overtake) = self.cohorts.next(resource, self.settings.wait.local_handover_limit)?;
        let followed = match self.waiters.get_mut(next) {
            // With two attempts in flight it would not be clear which answer is the last.
            Some(waiter) if !waiter.waiting.is_asking() => waiter.waiting.is_following(),
            _ => return None,
        };
        self.on(next, Event::HandOff);
        Some((self.start_attempt(next, followed)?, may_overtake))
    }

    /// Hands off a grant that nobody takes up to the next member of the cohort, or releases it. Until `perhaps_until`
    /// the store may execute another attempt with its token.
    pub(crate) fn hand_off_or_release(
        &mut self,
        granted: &Acquisition,
        sent: Moment,
        perhaps_until: Option<Moment>,
    ) {
        let (from, end) = (granted.hold.clone(), sent + granted.ttl);
        if let Some(perhaps_until) = perhaps_until {
            self.reclaim(from.clone(), Executed::Perhaps, end.max(perhaps_until));
            return self.mend_cohort(&from.resource);
        }
        let next = is_alone(granted.mode, &from).then(|| self.start_hand_off(&from.resource)).flatten();
        let Some((attempt, overtake)) = next else {
            self.reclaim(from.clone(), Executed::Certainly, end);
            return self.mend_cohort(&from.resource);
        };
        let (reclaimer, hold, opening) = (self.reclaimer(), from.clone(), self.clock.now());
        let then = Box::new(move |answer: Result<_, StoreError>| {
            if answer.is_err() {
                actix_rt::spawn(reclaimer.reclaim(hold, opening, Executed::Certainly, end));
            }
        });
        self.dispatch.hand_offs.push(HandingOff { from, attempt, overtake, then });
    }

    /// Returns what keeps the members of a cohort from the resource, as far as is known.
    pub(crate) fn in_the_way(&mut self, resource: &ResourceName) -> Option<Result<Refusal, StoreError>> {
        if let Some(lease) = self.cohorts.holder(resource).and_then(|holder| self.leases.get(holder)) {
            let remaining = lease.remaining();
            let by = Holder {
                token: lease.hold.token.prefix(),
                mode: lease.mode,
                state: HolderState::Holding,
                owner: None,
                fence: lease.fence,
                remaining,
                metadata: (*lease.metadata).clone(),
            };
            return Some(Ok(Refusal { by, remaining }));
        }
        let leader = self.cohorts.leader(resource)?;
        self.waiters.get_mut(leader)?.answer.clone()
    }
}
