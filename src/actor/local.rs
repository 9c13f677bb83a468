//! Local hand-over: how those who wait in a line of this manager are served, by passing the resource on.

use crate::{
    actor::{AcquireError, LockManager, attempts::Attempt, lanes::Passing, plan::Plan},
    protocol::{Event, Executed, Lack, Mode, Moment, ResourceName, Token},
    store::{Acquisition, Hold, Holder, HolderState, Refusal, StoreError},
};

/// Whether a release can hand what this one holds to the next exclusive one, and everything that is left with it.
pub(crate) fn is_alone(mode: Mode, hold: &Hold) -> bool {
    mode == Mode::Exclusive && hold.owner.is_none()
}

impl LockManager {
    /// Whether a request waits in a line.
    pub(crate) fn lines_up(&self, plan: &Plan) -> bool {
        let Acquisition { mode, hold, place, .. } = &*plan.acquisition;
        // Attempts that are counted are an end of their own, which nobody else can reach for it.
        let counts = plan.backoff.max_attempts().is_some();
        self.settings.local_handover_limit > 0 && is_alone(*mode, hold) && place.is_some() && !counts
    }

    /// Puts a waiter into the cohort for what it wants.
    pub(crate) fn line_up(&mut self, token: Token) {
        let Some(waiter) = self.waiters.get_mut(token) else {
            return;
        };
        let resource = waiter.plan.acquisition.hold.resource.clone();
        let (arrival, ahead) = self.cohorts.join(&resource, token);
        waiter.arrival = Some(arrival);
        let waiters = ahead as u64;
        if waiters >= u64::from(self.settings.max_waiters) {
            return self.on_or_fail(token, Event::Dismissed, Some(AcquireError::QueueFull { waiters }));
        }
        self.keep_in_line(&resource);
        let leader = self.cohorts.leader(&resource).and_then(|leader| self.waiters.get_mut(leader));
        let ahead_of_all = leader.and_then(|leader| leader.waiting.ahead()).unwrap_or(0);
        if let Some(waiter) = self.waiters.get_mut(token).filter(|waiter| waiter.waiting.is_following()) {
            waiter.tell_queued(waiters + ahead_of_all);
            self.on(token, Event::Follow(waiters + ahead_of_all));
        }
    }

    /// Mends a cohort after it has changed: somebody leads it, or nobody does in vain.
    pub(crate) fn keep_in_line(&mut self, resource: &ResourceName) {
        while let Some(lack) = self.cohorts.lack(resource) {
            match lack {
                Lack::Leader(first) => return self.on(first, Event::Lead),
                Lack::Members(abandoned) => self.on(abandoned, Event::LeftAlone),
            }
        }
    }

    /// A resource was taken away from whoever held it. A lease of ours learns that with its next renewal, for which its
    /// line does not wait.
    pub(crate) fn opened(&mut self, resource: &ResourceName) {
        if let Some(holder) = self.cohorts.holder(resource) {
            self.cohorts.released(resource, holder);
            self.keep_in_line(resource);
        }
    }

    /// The attempt of the next member of the cohort, and whether it may be served ahead of other processes.
    pub(crate) fn set_out_next(&mut self, resource: &ResourceName) -> Option<(Attempt, bool)> {
        let (next, may_overtake) = self.cohorts.next(resource, self.settings.local_handover_limit)?;
        let followed = match self.waiters.get_mut(next) {
            // With two attempts on their way it would not be clear which answer is the last.
            Some(waiter) if !waiter.waiting.is_asking() => waiter.waiting.is_following(),
            _ => return None,
        };
        self.on(next, Event::HandOff);
        Some((self.set_out(next, followed)?, may_overtake))
    }

    /// Nobody takes up what was granted: it goes to the next of the line, or back. Until `perhaps_until` the store may
    /// execute another attempt with its token.
    pub(crate) fn relinquish(&mut self, granted: &Acquisition, sent: Moment, perhaps_until: Option<Moment>) {
        let (from, end) = (granted.hold.clone(), sent + granted.ttl);
        if let Some(perhaps_until) = perhaps_until {
            self.give_back(from.clone(), Executed::Perhaps, end.max(perhaps_until));
            return self.keep_in_line(&from.resource);
        }
        let next = is_alone(granted.mode, &from).then(|| self.set_out_next(&from.resource)).flatten();
        let Some((attempt, overtake)) = next else {
            self.give_back(from.clone(), Executed::Certainly, end);
            return self.keep_in_line(&from.resource);
        };
        let (giver, hold, opening) = (self.giver(), from.clone(), self.clock.now());
        let then = Box::new(move |answer: Result<_, StoreError>| {
            if answer.is_err() {
                actix_rt::spawn(giver.give_back(hold, opening, Executed::Certainly, end));
            }
        });
        self.lanes.passes.push(Passing { from, attempt, overtake, then });
    }

    /// What keeps those who wait in a line from the resource, as far as is known.
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
