//! Local hand-off: a release hands the resource off to the next member of the cohort.

use tokio::sync::oneshot;

use crate::{
    core::{Cohort, Event, Lack, Moment, ResourceName},
    lease::RecordKey,
    manager::{Attempt, CohortKey, LockManager, is_alone},
    request::{AcquireError, ValidRequest},
    store::{Holder, HolderState, Metadata, Refusal, StoreError},
};

impl LockManager {
    /// Returns true if a request is to wait in a cohort.
    pub(crate) fn joins_cohort(&self, request: &ValidRequest) -> bool {
        let acquisition = &request.terms.acquisition;
        // A limited number of attempts ends the wait by itself. Another waiter cannot use them up for it.
        let counts = request.pauses.count_attempts();
        self.settings.wait.local_handover_limit > 0
            && is_alone(acquisition)
            && acquisition.ticket.is_some()
            && !counts
    }

    /// Adds a waiter to the cohort for its resource.
    pub(crate) fn join_cohort(&mut self, record: RecordKey, resource: &ResourceName, now: Moment) {
        let (cohort, arrival, ahead) = self.cohorts.join(resource, record);
        self.records.with(record, |it| (it.cohort, it.arrival) = (Some(cohort), Some(arrival)));
        let waiters = ahead as u64;
        if waiters >= u64::from(self.max_waiters_here) {
            return self.on_or_fail(record, Event::Dismissed, Some(AcquireError::QueueFull { waiters }), now);
        }
        self.mend_cohort(cohort, now);
        if self.records.with(record, |it| it.decisions.is_following()) == Some(true) {
            let ahead = waiters + self.ahead_of_leader(cohort);
            let expected = self.expect_behind(record, cohort, waiters, now);
            self.records.with(record, |it| it.waiter().map(|waiter| waiter.tell_queued(ahead, expected)));
            self.link_follower(record, cohort, now);
            self.on_at(record, Event::Follow(ahead), now);
            self.give_up_if_hopeless(record, expected, now);
        }
    }

    /// Links the span of a waiter that asks no store to the one of whoever is in the way.
    fn link_follower(&self, record: RecordKey, cohort: CohortKey, now: Moment) {
        let is_traced =
            |record| self.records.with(record, |it| it.waiter().map(|it| it.request.span.is_traced()));
        if is_traced(record).flatten() == Some(true)
            && let Some(Ok(refusal)) = self.in_the_way(cohort, now)
        {
            let by = &refusal.by.metadata;
            self.records.with(record, |it| it.waiter().map(|waiter| waiter.request.span.waits_behind(by)));
        }
    }

    /// Links the spans of waiters that came before their leader had its first answer.
    pub(crate) fn link_followers(&self, cohort: CohortKey, holder: &Metadata) {
        for member in self.cohorts.get(cohort).into_iter().flat_map(Cohort::members) {
            self.records.with(member, |it| {
                let span = it.waiter().map(|waiter| &mut waiter.request.span);
                span.filter(|span| !span.is_linked()).map(|span| span.waits_behind(holder))
            });
        }
    }

    /// Returns the cohort that a record waits in, or keeps waiting. From here on the record has its key.
    pub(crate) fn find_cohort(&self, record: RecordKey) -> Option<CohortKey> {
        self.records.with(record, |it| {
            it.cohort = self.cohorts.find(it.cohort, &it.hold.resource);
            it.cohort
        })?
    }

    /// Mends a cohort after a change, so that it has a leader, and no abandoned waiter leads it in vain.
    pub(crate) fn mend_cohort(&mut self, cohort: CohortKey, now: Moment) {
        while let Some(lack) = self.cohorts.lack(cohort) {
            match lack {
                Lack::Leader(first) => return self.on_at(first, Event::Lead, now),
                Lack::Members(abandoned) => self.on_at(abandoned, Event::LeftAlone, now),
            }
        }
    }

    /// Handles a resource that was taken away from its holders. A lease of this manager may learn of it later, for which its
    /// cohort does not wait.
    pub(crate) fn opened(&mut self, resource: &ResourceName, handled: oneshot::Sender<()>) {
        let now = self.clock.now();
        if let Some(cohort) = self.cohorts.find(None, resource)
            && let Some(holder) = self.cohorts.holder(cohort)
        {
            self.cohorts.with(cohort, |it| it.released(holder));
            self.mend_cohort(cohort, now);
        }
        // The sender of the message may have gone.
        let _ = handled.send(());
    }

    /// Returns an attempt of the next member of a cohort, and whether it may overtake others.
    pub(crate) fn start_hand_off(&mut self, cohort: CohortKey, now: Moment) -> Option<(Attempt, bool)> {
        let (next, may_overtake) = self.cohorts.get(cohort)?.next(self.settings.wait.local_handover_limit)?;
        // With two attempts in flight it would not be clear which answer is the last.
        self.records.with(next, |it| !it.decisions.is_asking()).filter(|free| *free)?;
        let (_, followed) = self.decide(next, Event::HandOff, now)?;
        Some((self.start_attempt(next, followed, now)?, may_overtake))
    }

    /// Returns what keeps the members of a cohort from the resource, as far as is known.
    pub(crate) fn in_the_way(&self, cohort: CohortKey, now: Moment) -> Option<Result<Refusal, StoreError>> {
        if let Some(lease) = self.cohorts.holder(cohort).and_then(|holder| self.records.lease(holder)) {
            let remaining = lease.remaining_at(now);
            let by = Holder {
                token: lease.hold().token.prefix(),
                mode: lease.terms.acquisition.mode,
                state: HolderState::Holding,
                owner: None,
                fence: lease.fence,
                remaining,
                held_for: None,
                metadata: (*lease.terms.acquisition.metadata).clone(),
            };
            return Some(Ok(Refusal { by, remaining }));
        }
        let leader = self.cohorts.get(cohort)?.leader()?;
        self.records.with(leader, |it| it.waiter()?.answer.clone())?
    }
}
