//! Releases: with a hand-off to the next waiter of the process if there is one, repeated if the outcome is unknown.

use std::sync::Arc;

use crate::{
    core::{self, Acquisition, Event, LeaseStatus, LossReason, Moment, one_line},
    lease::{LeaseShared, RecordKey, Release, ReleaseError, Released},
    listeners::statistics::CountedEvent,
    manager::{Cause, HandOffCall, Happening, LockManager, Record, ReleaseCall, Role, is_alone},
    runtime::{
        batcher::Weight,
        responder::{DeferredReply, Responder},
    },
    store::{self, Hold, StoreError},
};

type ReleaseReply = Responder<Result<Released, ReleaseError>>;

impl LockManager {
    pub(super) fn release_for(&mut self, release: Release) -> DeferredReply<Result<Released, ReleaseError>> {
        let (reply, deferred) = Responder::new();
        self.in_hand = Happening::release_again(&release);
        self.release(release, reply);
        self.in_hand = None;
        deferred
    }

    pub(crate) fn release(&mut self, Release { resource, token, lease, .. }: Release, reply: ReleaseReply) {
        let resource = match resource {
            Ok(resource) => resource,
            Err(error) => return reply.answer(Err(error.into())),
        };
        let ours = match &lease {
            Some(lease) => self.records.lease(lease.record),
            None => self.records.named(token).and_then(|record| self.records.lease(record)),
        };
        match ours.filter(|lease| lease.hold().resource == resource).or(lease) {
            Some(lease) => self.release_lease(lease, reply),
            None => {
                let (hold, opening) = (Hold { resource, token, owner: None }, self.clock.now());
                let end = opening + self.settings.limits.max_ttl;
                self.release_unheld(hold, Acquisition::held(None), Cause::Token { reply }, (opening, end));
            }
        }
    }

    fn release_lease(&mut self, lease: Arc<LeaseShared>, reply: ReleaseReply) {
        let now = self.clock.now();
        let (before, unconfirmed) = lease.release(now);
        // Not earlier: a lease that is lost meanwhile keeps its lock delay.
        let (cooldown, end) = (lease.cooldown(now), lease.end_in_store());
        // Only after everything that may panic: until here the lease is still in the table.
        let held = matches!(before, LeaseStatus::Held | LeaseStatus::AtRisk);
        let hand_off = held && cooldown.is_zero() && is_alone(&lease.terms.acquisition);
        let (hold, is_ours) = (lease.hold().clone(), self.records.lease(lease.record).is_some());
        let mut record = lease.record;
        if held && is_ours {
            // A lease that was lost tells nothing of how long holds take: it may have ended because the machine was suspended.
            self.note_over(&lease, now);
        }
        let role = self.releasing(Cause::Lease { lease, before, unconfirmed, reply });
        if is_ours {
            self.end_lease(record, role, now);
        } else {
            record = self.records.insert(Record::new(hold, Acquisition::held(None), role));
        }
        let cohort = self.find_cohort(record);
        self.on_at(record, Event::Release { opening: now + cooldown, end, hand_off }, now);
        if let Some(cohort) = cohort {
            self.mend_cohort(cohort, now);
        }
    }

    /// Releases a token that nobody wants, until that is certain or until `end`. An attempt with it may still be executed if its
    /// outcome is `unknown`.
    pub(crate) fn reclaim(&mut self, hold: Hold, unknown: bool, end: Moment) {
        let decisions = Acquisition::held(unknown.then_some(end));
        self.release_unheld(hold, decisions, Cause::Reclaim(None), (self.clock.now(), end));
    }

    /// Releases what is no lease of this manager.
    fn release_unheld(
        &mut self,
        hold: Hold,
        decisions: Acquisition,
        cause: Cause,
        (opening, end): (Moment, Moment),
    ) {
        let role = self.releasing(cause);
        let record = self.records.insert(Record::new(hold, decisions, role));
        self.on_at(record, Event::Release { opening, end, hand_off: false }, opening);
    }

    pub(crate) fn releasing(&self, cause: Cause) -> Role {
        Role::Releasing { cause, _in_flight: self.shutdown.in_flight() }
    }

    /// Gives the record of a lease another role. The cohort that waits for the lease is not served yet.
    fn end_lease(&mut self, record: RecordKey, role: Role, now: Moment) {
        self.trace.lease(&self.records, record, now, true);
        self.records.with(record, |it| it.role = role);
        self.held -= 1;
        self.shutdown.held(self.held);
        if let Some(cohort) = self.find_cohort(record) {
            self.cohorts.with(cohort, |it| it.released(record));
        }
    }

    /// Handles the loss of a lease. What the store may still grant to its token is reclaimed, which does not open the
    /// resource earlier than the end of the lease and its lock delay do.
    pub(crate) fn lost(&mut self, record: RecordKey) {
        let Some(lease) = self.records.lease(record) else { return };
        let now = self.clock.now();
        let opening = lease.opens_at(now);
        let early = planted!("a reclaimed token cuts its lock delay short");
        let opening = if early { now } else { opening };
        let role = self.releasing(Cause::Reclaim(None));
        self.end_lease(record, role, now);
        let cohort = self.find_cohort(record);
        self.on_at(record, Event::Lost { opening }, now);
        if let Some(cohort) = cohort {
            self.mend_cohort(cohort, now);
        }
    }

    /// Sends a release, or hands the resource off to the next of its cohort.
    pub(crate) fn send_release(&mut self, record: RecordKey, release: core::ReleaseStep, now: Moment) {
        self.records.set_timer(record, None);
        let found = self.records.with(record, |it| {
            let weight = it.weight_of_release();
            if it.waiter().is_some() {
                it.role = self.releasing(Cause::Reclaim(None));
            }
            (it.hold.clone(), weight)
        });
        let Some((hold, weight)) = found else { return };
        let cohort = if release.hand_off { self.find_cohort(record) } else { None };
        let next = cohort.and_then(|cohort| self.start_hand_off(cohort, now));
        let from = ReleaseCall { record, hold, cooldown: release.opening.remaining(now) };
        self.sources.send(|dispatch| match next {
            Some((attempt, overtake)) => {
                dispatch.hand_offs.push(HandOffCall { from, attempt, overtake }, Weight::LIGHT)
            }
            None => dispatch.releases.push(from, weight),
        });
    }

    /// Handles the answer to a release: the first one is told, and it is repeated until it is certain.
    pub(crate) fn released(&mut self, record: RecordKey, answer: Result<store::Released, StoreError>) {
        let now = self.clock.now();
        let cause = self.records.with(record, |it| match &mut it.role {
            Role::Releasing { cause, .. } => Some(std::mem::replace(cause, Cause::Reclaim(None))),
            Role::Waiting(_) | Role::Holding(_) => None,
        });
        let certain = answer.is_ok();
        let unconfirmed = match cause.flatten() {
            Some(Cause::Lease { lease, before, mut unconfirmed, reply }) => {
                if planted!("a renewer that goes on after the release") {
                    self.renew(Arc::clone(&lease), None);
                }
                let answer = match (before, answer) {
                    (LeaseStatus::Lost(reason), _) => Err(ReleaseError::Lost { reason }),
                    (LeaseStatus::Held | LeaseStatus::AtRisk, Ok(store::Released::NotHeld { .. })) => {
                        lease.found_lost(unconfirmed.take());
                        Err(ReleaseError::Lost { reason: LossReason::NotHeld })
                    }
                    (_, answer) => answer.map_err(ReleaseError::Store).and_then(told),
                };
                reply.answer_in_turn(&mut self.answers, answer, drop);
                unconfirmed
            }
            Some(Cause::Token { reply }) => {
                reply.answer(answer.map_err(ReleaseError::Store).and_then(told));
                None
            }
            Some(Cause::Reclaim(unconfirmed)) => {
                self.note_repeated(record, &answer);
                unconfirmed
            }
            None => None,
        };
        if let Some(unconfirmed) = unconfirmed.filter(|_| !certain) {
            self.records.with(record, |it| it.role = self.releasing(Cause::Reclaim(Some(unconfirmed))));
        }
        self.on_at(record, Event::Released { certain }, now);
    }

    /// Counts what a repeated release, or the release of a token that nobody wanted, has shown.
    fn note_repeated(&self, record: RecordKey, answer: &Result<store::Released, StoreError>) {
        let hold = self.records.with(record, |it| it.hold.clone());
        let Some(Hold { resource, token, .. }) = hold else { return };
        match answer {
            Ok(store::Released::NotHeld { .. }) => {}
            Ok(_) => {
                self.stats.note(None, CountedEvent::Reclaimed);
                tracing::debug!(%resource, token = %token.prefix(), "reclaimed a token");
            }
            Err(error) => tracing::debug!(
                %resource, token = %token.prefix(), error = one_line(error),
                "could not reclaim a token; trying again until its end"
            ),
        }
    }
}

fn told(released: store::Released) -> Result<Released, ReleaseError> {
    match released {
        store::Released::Freed => Ok(Released::Freed),
        store::Released::StillHeld { count } => Ok(Released::StillHeld { count }),
        store::Released::NotHeld { .. } => Err(ReleaseError::NotHolder),
    }
}
