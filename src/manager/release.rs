//! Releases: with a hand-off to the next waiter of the process if there is one, repeated if the outcome is unknown.

use std::{sync::Arc, time::Duration};

use crate::{
    core::{Event, LeaseStatus, LossReason, Mode, Moment, RecordKey, Wanted, one_line},
    lease::{LeaseShared, Release, ReleaseError, Released},
    listeners::{About, LockEvent},
    manager::{Cause, HandOffCall, Happening, LockManager, Record, ReleaseCall, Role, is_alone, wanted},
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
        self.turn.in_hand = Happening::release_again(&release);
        self.release(release, reply);
        self.turn.in_hand = None;
        deferred
    }

    pub(crate) fn release(&mut self, Release { resource, token, lease, .. }: Release, reply: ReleaseReply) {
        let resource = match resource {
            Ok(resource) => resource,
            Err(error) => return reply.answer(Err(error.into())),
        };
        self.adoptions.end(token);
        let holding = || self.records.named(token).and_then(|record| self.records.lease(record));
        let ours = match &lease {
            // It was lost, and its ticket was adopted here again.
            Some(lost) if lost.is_over() && holding().is_some_and(|it| it.record != lost.record) => {
                return reply.answer(Err(ReleaseError::NotHolder));
            }
            Some(lease) => self.records.lease(lease.record),
            None => holding(),
        };
        match ours.filter(|lease| lease.hold().resource == resource).or(lease) {
            Some(lease) => self.release_lease(lease, reply),
            None => {
                let (hold, opening) = (Hold { resource, token, owner: None }, self.clock.now());
                let end = opening + self.policy.settings.limits.max_ttl;
                self.release_unheld(hold, None, Cause::Token { reply }, (opening, end));
            }
        }
    }

    /// Releases a lease whose owner has died, unless it was released or handed over meanwhile.
    pub(crate) fn owner_gone(&mut self, record: RecordKey) {
        if let Some(lease) = self.records.lease(record) {
            drop(self.release_for(Release::of(&lease)));
        }
    }

    fn release_lease(&mut self, lease: Arc<LeaseShared>, reply: ReleaseReply) {
        let now = self.clock.now();
        let (before, unconfirmed) = lease.release(now);
        // Not earlier: a lease that is lost meanwhile keeps its lock delay.
        let (cooldown, end) = (lease.cooldown(now), lease.end_in_store());
        // Only after everything that may panic: until here the lease is still in the table.
        let was_held = matches!(before, LeaseStatus::Held | LeaseStatus::AtRisk);
        let is_ours = self.records.lease(lease.record).is_some();
        let (mut record, asked) = (lease.record, Arc::clone(&lease.terms.acquisition));
        let role = self.releasing(Cause::Lease { lease, before, unconfirmed, reply });
        if is_ours {
            self.end_lease(record, role);
        } else {
            record = self.engine.adopt(wanted(&asked, false), is_alone(&asked), None, now);
            self.records.insert(record, Record::new(asked.hold.clone(), role));
            self.records.name(asked.hold.token, record);
        }
        // A lease that was lost, or is in the table no more, tells nothing of how long holds take: it may have ended because the
        // machine was suspended.
        let in_time = was_held && is_ours;
        self.on_at(record, Event::Release { opening: now + cooldown, end, in_time }, now);
    }

    /// Releases a token that nobody wants, until that is certain or until `end`. An attempt with it may still be executed if its
    /// outcome is `unknown`.
    pub(crate) fn reclaim(&mut self, hold: Hold, unknown: bool, end: Moment) {
        let unknown_until = unknown.then_some(end);
        self.release_unheld(hold, unknown_until, Cause::Reclaim(None), (self.clock.now(), end));
    }

    /// Releases what is no lease of this manager.
    fn release_unheld(
        &mut self,
        hold: Hold,
        unknown_until: Option<Moment>,
        cause: Cause,
        (opening, end): (Moment, Moment),
    ) {
        let role = self.releasing(cause);
        let (resource, token) = (hold.resource.clone(), hold.token);
        let wanted = Wanted { resource, token: token.prefix(), mode: Mode::Exclusive, give_up_early: false };
        let record = self.engine.adopt(wanted, false, unknown_until, opening);
        self.records.insert(record, Record::new(hold, role));
        // Nobody adopts the token here while its release is repeated.
        self.records.name(token, record);
        self.on_at(record, Event::Release { opening, end, in_time: false }, opening);
    }

    pub(crate) fn releasing(&self, cause: Cause) -> Role {
        Role::Releasing { cause, _in_flight: self.shutdown.in_flight() }
    }

    /// Gives the record of a lease another role.
    fn end_lease(&mut self, record: RecordKey, role: Role) {
        self.records.with(record, |it| it.role = role);
        self.shutdown.set_held(self.shutdown.held - 1);
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
        self.end_lease(record, role);
        self.on_at(record, Event::Lost { opening }, now);
    }

    /// Sends a release. The resource opens at `opening`.
    pub(super) fn send_release(&self, record: RecordKey, opening: Moment, now: Moment) {
        if let Some((from, weight)) = self.release_call(record, opening.remaining(now)) {
            self.sources.send(|dispatch| dispatch.releases.push(from, weight));
        }
    }

    /// Sends a release that hands the resource off to a waiter.
    pub(super) fn send_hand_off(&self, record: RecordKey, to: RecordKey, overtake: bool, now: Moment) {
        let Some((from, weight)) = self.release_call(record, Duration::ZERO) else { return };
        let attempt = self.new_attempt(to, now);
        self.sources.send(|dispatch| match attempt {
            Some(attempt) => dispatch.hand_offs.push(HandOffCall { from, attempt, overtake }, Weight::LIGHT),
            None => dispatch.releases.push(from, weight),
        });
    }

    fn release_call(&self, record: RecordKey, cooldown: Duration) -> Option<(ReleaseCall, Weight)> {
        self.records.set_timer(record, None);
        let (hold, weight) = self.records.with(record, |it| {
            let weight = it.weight_of_release();
            if it.waiter().is_some() {
                it.role = self.releasing(Cause::Reclaim(None));
            }
            (it.hold.clone(), weight)
        })?;
        Some((ReleaseCall { record, hold, cooldown }, weight))
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
                reply.answer_in_turn(&mut self.turn.answers, answer, drop);
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
                self.calls.listeners.tell(About::default(), LockEvent::Reclaimed);
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
