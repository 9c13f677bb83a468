//! The answers to waiters: a lease, or the reason for none.

use std::sync::Arc;

use crate::{
    core::{Answer, End, Event, Moment, Told},
    lease::{Lease, LeaseChange, LeaseShared, LeaseTerms, RecordKey},
    listeners::statistics::{CountedEvent, RequestEnd},
    manager::{Attempt, CohortKey, Holding, LockManager, Role, WaitingRequest, is_alone, next_check},
    request::{AcquireError, ValidRequest},
    runtime::responder::Responder,
    store::{Durability, Grant, Refusal, StoreError},
};

/// A caller, and the error that it is to be told.
type Refused = (Responder<Result<Lease, AcquireError>>, AcquireError);

impl LockManager {
    /// Turns a grant into a lease and answers the caller with it. If nobody would receive the lease, or it has run out
    /// already, the grant is handed off to the next member of the cohort, or released.
    pub(crate) fn granted(&mut self, attempt: &Attempt, grant: Grant) {
        let Attempt { record, ref acquisition, sent, overtook } = *attempt;
        let (now, durability) = (self.clock.now(), self.store.durability());
        let sent = if planted!("validity counted from the reply to an acquisition") { now } else { sent };
        let event = Event::Answered { sent, answer: Answer::Granted };
        let Some((steps, followed)) = self.decide(record, event, now) else { return };
        let alone = is_alone(acquisition);
        let cohort = if alone { self.find_cohort(record) } else { None };
        if let Some(cohort) = cohort {
            let unknown = self.records.with(record, |it| it.decisions.has_unknown()) == Some(true);
            // An earlier attempt with an unknown outcome may have overtaken others.
            self.cohorts.granted(cohort, record, overtook || unknown);
        }
        if steps.hold {
            self.hold(record, grant, (sent, overtook), durability, now);
            // The caller has its lease: from here on its record is no more in hand.
            self.in_hand = None;
        } else if let Some(cohort) = cohort {
            self.cohorts.with(cohort, |it| it.released(record));
        }
        self.carry_out(record, steps, followed, None, now);
        if let Some(cohort) = cohort {
            self.place_followers(cohort, now);
        }
    }

    /// Makes the lease of a waiter, and hands it to the caller.
    fn hold(
        &mut self,
        record: RecordKey,
        grant: Grant,
        (sent, overtook): (Moment, bool),
        durability: Durability,
        now: Moment,
    ) {
        let held = self.records.with(record, |it| {
            let (attempts, waited) = (it.decisions.attempts(), it.decisions.waited(now));
            let WaitingRequest { request, reply, place, .. } = it.waiter()?;
            request.span.granted(attempts, waited, grant.fence);
            let holding = self.lease(record, request, sent, grant, now);
            let (lease, reply, place) = (Arc::clone(&holding.lease), reply.clone(), *place);
            let (bound, by_default) = (holding.bound_to.is_some(), request.waits_by_default);
            it.role = Role::Holding(holding);
            Some((lease, reply, attempts, waited, bound, place, by_default))
        });
        let Some((lease, reply, attempts, waited, bound, place, by_default)) = held.flatten() else { return };
        self.default_waits.granted += u64::from(by_default);
        self.note_held(&lease, now, bound);
        self.note_served(&lease, place, (overtook, now - waited), now);
        let hold = lease.hold();
        self.stats.note(lease.terms.class, CountedEvent::Ended(RequestEnd::Granted { attempts, waited }));
        tracing::debug!(
            resource = %hold.resource, token = %hold.token.prefix(), mode = %lease.terms.acquisition.mode,
            fence = lease.fence.map(|fence| fence.get()), attempts, ?waited, "granted"
        );
        let lease = Lease::new(lease, Arc::clone(&self.renewers.manager), durability);
        reply.answer_in_turn(&mut self.answers, Ok(lease), |unsent| {
            if let Ok(lease) = unsent {
                lease.return_unused();
            }
        });
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
        let lease =
            LeaseShared::granted(record, terms, &request.span, times, grant, &self.clock, &self.stats);
        let lease = Arc::new(lease);
        Holding { lease, bound_to: request.bound_to.take(), renewer: None }
    }

    /// Counts a new lease, tells its listener, and has it monitored.
    pub(crate) fn note_held(&mut self, lease: &LeaseShared, now: Moment, bound: bool) {
        self.held += 1;
        lease.tell(LeaseChange::Granted);
        self.records.set_timer(lease.record, Some(next_check(lease, now, bound, false)));
    }

    /// Counts the end of a request. Returns the caller and its error; the caller is told last of all.
    pub(crate) fn ended(
        &mut self,
        record: RecordKey,
        end: End,
        failure: Option<AcquireError>,
        now: Moment,
    ) -> Option<Refused> {
        let class = self.records.with(record, |it| it.waiter()?.request.terms.class).flatten();
        let (counted, error) = match (end, failure) {
            (End::Cancelled, _) => (RequestEnd::Cancelled, None),
            (End::TooLate, _) => {
                let ttl =
                    self.records.with(record, |it| Some(it.waiter()?.request.terms.acquisition.ttl))??;
                (RequestEnd::Failed("too_late"), Some(AcquireError::TooLate { ttl }))
            }
            (_, Some(error)) => (RequestEnd::Failed(error.kind()), Some(error)),
            (end, None) => self.last_answer(record, end, now).map(|(end, error)| (end, Some(error)))?,
        };
        self.stats.note(class, CountedEvent::Ended(counted));
        self.end_span(record, counted, now);
        let error = error?;
        self.records.with(record, |it| {
            let (resource, token) = (it.hold.resource.clone(), it.hold.token.prefix());
            tracing::debug!(%resource, %token, attempts = it.decisions.attempts(), %error, "not granted");
            Some((it.waiter()?.reply.clone(), error))
        })?
    }

    /// Ends the span of a request, and traces it. Its record may stay, for others that rely on its ticket.
    fn end_span(&mut self, record: RecordKey, end: RequestEnd, now: Moment) {
        self.trace.ended(&self.records, record, end, now);
        let ended = self.records.with(record, |it| {
            let (attempts, waited) = (it.decisions.attempts(), it.decisions.waited(now));
            let request = &mut it.waiter()?.request;
            Some((std::mem::take(&mut request.span), attempts, waited, request.waits_by_default))
        });
        if let Some((span, attempts, waited, by_default)) = ended.flatten() {
            self.default_waits.timed_out += u64::from(by_default && end == RequestEnd::TimedOut);
            span.ended(end.as_str(), attempts, waited);
        }
    }

    /// Returns the error of a waiter whose wait, or whose attempts, are used up: the last result that it got.
    fn last_answer(
        &mut self,
        record: RecordKey,
        end: End,
        now: Moment,
    ) -> Option<(RequestEnd, AcquireError)> {
        let (told, answer, attempts, waited, ahead, cohort) = self.records.with(record, |it| {
            let (told, attempts, ahead) =
                (it.decisions.told(), it.decisions.attempts(), it.decisions.ahead());
            let (waited, cohort) = (it.decisions.waited(now), it.cohort);
            Some((told, it.waiter()?.answer.clone(), attempts, waited, ahead, cohort))
        })??;
        let answer = match told {
            Told::Behind(_) => cohort.and_then(|cohort| self.in_the_way(cohort, now)),
            Told::Nothing | Told::Refused { .. } | Told::Failed => answer,
        };
        let expected_wait = self.still_expected(record, now);
        Some(match answer.unwrap_or(Err(StoreError::timed_out(waited))) {
            Ok(Refusal { by, remaining }) => {
                let end = if end == End::TimedOut { RequestEnd::TimedOut } else { RequestEnd::Refused };
                let by = Box::new(by);
                (end, AcquireError::Held { by, remaining, ahead, attempts, waited, expected_wait })
            }
            Err(error) => (RequestEnd::Failed(error.kind()), AcquireError::Store(error)),
        })
    }

    /// Keeps the queue ticket of a waiter, without its caller, for its cohort.
    pub(crate) fn abandon(&mut self, record: RecordKey) {
        let abandoned = self.records.with(record, |it| Some((it.cohort?, it.arrival.take()?)));
        if let Some((cohort, arrival)) = abandoned.flatten() {
            self.cohorts.with(cohort, |it| it.abandon(arrival));
        }
    }

    /// Removes a waiter from its cohort. Returns the cohort, if there is one.
    pub(crate) fn leave_cohort(&mut self, record: RecordKey) -> Option<CohortKey> {
        let (cohort, arrival) =
            self.records.with(record, |it| Some((it.cohort?, it.arrival.take()))).flatten()?;
        self.cohorts.with(cohort, |it| it.remove(record, arrival));
        Some(cohort)
    }
}
