//! The answers to waiters: a lease, a place in the queue, or the reason for no lease.

use std::{sync::Arc, time::Duration};

use crate::{
    core::{End, Ended, Moment, RecordKey, Told},
    lease::{Lease, LeaseChange, LeaseShared, LeaseTerms},
    listeners::RequestEnd,
    manager::{Holding, LockManager, Role, WaitingRequest, next_check, waiting::attempts::NEVER_SENT},
    request::{AcquireError, ValidRequest},
    store::{Grant, Holder, HolderState, Refusal, StoreError},
};

impl LockManager {
    /// Makes the lease of a waiter, and hands it to the caller.
    pub(super) fn hold(
        &mut self,
        record: RecordKey,
        sent: Moment,
        (attempts, waited): (u32, Duration),
        now: Moment,
    ) {
        let held = self.records.with(record, |it| {
            let WaitingRequest { request, reply, grant, .. } = it.waiter()?;
            let (grant, durability) = grant.take()?;
            let fence = grant.fence;
            let holding = self.lease(record, request, sent, grant, now);
            let (lease, reply, bound) =
                (Arc::clone(&holding.lease), reply.clone(), holding.bound_to.is_some());
            request.ended(RequestEnd::Granted, (attempts, waited), fence, &self.calls.listeners);
            it.role = Role::Holding(holding);
            Some((lease, durability, reply, bound))
        });
        let Some((lease, durability, reply, bound)) = held.flatten() else { return };
        // From here on a panic drops it, which releases it.
        let lease = Lease::new(lease, Arc::clone(&self.renewers.manager), durability);
        self.note_held(&lease.state, now, bound);
        let hold = lease.state.hold();
        tracing::debug!(
            resource = %hold.resource, token = %hold.token.prefix(), mode = %lease.mode(),
            fence = lease.fence().map(|fence| fence.get()), attempts, ?waited, "granted"
        );
        reply.answer_in_turn(&mut self.turn.answers, Ok(lease), |unsent| {
            if let Ok(lease) = unsent {
                lease.return_unused();
            }
        });
        // The caller has its lease: from here on its record is no more in hand.
        self.turn.in_hand = None;
    }

    /// Makes the lease that was requested at `sent` and is granted now.
    pub(crate) fn lease(
        &self,
        record: RecordKey,
        request: &mut ValidRequest,
        sent: Moment,
        grant: Grant,
        now: Moment,
    ) -> Holding {
        let terms = LeaseTerms { events: request.terms.events.take(), ..request.terms.clone() };
        let times = (sent, now);
        let world = (&self.clock, &self.calls.listeners);
        let lease = Arc::new(LeaseShared::granted(record, terms, &request.span, times, grant, world));
        Holding { lease, bound_to: request.bound_to.take(), renewer: None }
    }

    /// Counts a new lease, tells its listener, and has it monitored.
    pub(crate) fn note_held(&mut self, lease: &LeaseShared, now: Moment, bound: bool) {
        self.shutdown.set_held(self.shutdown.held + 1);
        lease.tell(LeaseChange::Granted);
        self.records.set_timer(lease.record, Some(next_check(lease, now, bound, false)));
    }

    /// Tells the caller's listener that this many waiters are ahead, and how long they are expected to take. A waiter `behind`
    /// another one of this manager is linked to the span of whoever is in the way.
    pub(super) fn tell_queued(
        &self,
        record: RecordKey,
        (ahead, expected_wait): (u64, Option<Duration>),
        behind: Option<RecordKey>,
        now: Moment,
    ) {
        let is_unlinked = self.records.with(record, |it| {
            let WaitingRequest { request, reply, .. } = it.waiter()?;
            if !reply.is_closed() {
                request.terms.tell(None, LeaseChange::Queued { ahead, expected_wait });
            }
            Some(request.span.is_traced() && !request.span.is_linked())
        });
        if is_unlinked.flatten() == Some(true)
            && let Some(Ok(refusal)) = behind.and_then(|behind| self.answer_behind(behind, now))
        {
            let by = &refusal.by.metadata;
            self.records.with(record, |it| it.waiter().map(|waiter| waiter.request.span.waits_behind(by)));
        }
    }

    /// Counts the end of a request, and tells its caller. Its record may stay, for others that rely on its ticket.
    pub(super) fn ended(&mut self, record: RecordKey, ended: &Ended, now: Moment) {
        let found = self.records.with(record, |it| {
            let hold = it.hold.clone();
            let WaitingRequest { request, reply, answer, failure, unsent, .. } = it.waiter()?;
            let ttl = request.terms.acquisition.ttl;
            let never_sent = || AcquireError::Store(StoreError::unavailable(NEVER_SENT));
            let never_sent = (*unsent && ended.told == Told::Nothing).then(never_sent);
            let failure = failure.take().or(never_sent);
            Some((hold, reply.clone(), answer.clone(), failure, ttl))
        });
        let Some((hold, reply, answer, failure, ttl)) = found.flatten() else { return };
        let (end, error) = match (ended.end, failure) {
            (End::Cancelled, _) => (RequestEnd::Cancelled, None),
            (End::TooLate, _) => (RequestEnd::Failed("too_late"), Some(AcquireError::TooLate { ttl })),
            (End::QueueFull { waiters }, _) => {
                let full = AcquireError::QueueFull { waiters };
                (RequestEnd::Failed(full.kind()), Some(full))
            }
            (_, Some(error)) => (RequestEnd::Failed(error.kind()), Some(error)),
            (_, None) => {
                let (end, error) = self.last_answer(ended, answer, now);
                (end, Some(error))
            }
        };
        let Ended { attempts, waited, .. } = *ended;
        let span = self.records.with(record, |it| {
            let request = &mut it.waiter()?.request;
            request.ended(end, (attempts, waited), None, &self.calls.listeners);
            Some(std::mem::take(&mut request.span))
        });
        drop(span);
        if let Some(error) = error {
            let (resource, token) = (&hold.resource, hold.token.prefix());
            tracing::debug!(%resource, %token, attempts, %error, "not granted");
            reply.answer(Err(error));
        }
    }

    /// Returns the error of a waiter whose wait, or whose attempts, are used up: the last result that it got.
    fn last_answer(
        &self,
        ended: &Ended,
        answer: Option<Result<Refusal, StoreError>>,
        now: Moment,
    ) -> (RequestEnd, AcquireError) {
        let Ended { end, told, attempts, waited, ahead, expected_wait, behind } = *ended;
        let answer = match told {
            Told::Behind(_) => behind.and_then(|behind| self.answer_behind(behind, now)),
            Told::Nothing | Told::Refused { .. } | Told::Failed => answer,
        };
        match answer.unwrap_or(Err(StoreError::timed_out(waited))) {
            Ok(Refusal { by, remaining }) => {
                let end = if end == End::TimedOut { RequestEnd::TimedOut } else { RequestEnd::Refused };
                let by = Box::new(by);
                (end, AcquireError::Held { by, remaining, ahead, attempts, waited, expected_wait })
            }
            Err(error) => (RequestEnd::Failed(error.kind()), AcquireError::Store(error)),
        }
    }

    /// Returns what keeps those behind this acquisition of this manager from the resource: its lease, or what it was told.
    fn answer_behind(&self, record: RecordKey, now: Moment) -> Option<Result<Refusal, StoreError>> {
        let Some(lease) = self.records.lease(record) else {
            return self.records.with(record, |it| it.waiter()?.answer.clone())?;
        };
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
        Some(Ok(Refusal { by, remaining }))
    }
}
