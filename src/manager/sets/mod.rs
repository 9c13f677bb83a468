//! Several resources at once: all together if they are free, else one after the other, in the order of their names.
//!
//! All callers take them in the same order, so that they never wait for each other in a circle.

mod one_by_one;
mod set;

use std::{pin::pin, sync::Arc, time::Duration};

use tokio::time::{Instant, timeout};

use self::one_by_one::{names, one_by_one};
pub(crate) use self::set::{Set, Sets, TriedAll};

use crate::{
    core::{InvalidValue, Moment, ResourceName, Validity},
    lease::{Lease, LeaseSet, LeaseShared},
    listeners::{About, LockEvent, RequestEnd},
    manager::{
        Cause, Happening, LockManager, Record, Role,
        dispatch::ask::ask_for_all,
        is_alone,
        waiting::attempts::{NEVER_SENT, front},
        wanted,
    },
    request::{Acquire, AcquireAll, AcquireError, ValidRequest},
    runtime::{
        env::Draw,
        responder::{DeferredReply, Responder},
    },
    store::{self, AcquiredAll, Certainty, Grant, StoreError},
};

impl LockManager {
    pub(crate) fn acquire_all(
        &mut self,
        request: AcquireAll,
    ) -> DeferredReply<Result<LeaseSet, AcquireError>> {
        let (reply, deferred) = Responder::new();
        match self.admit_all(&request) {
            Ok(requests) => {
                let asked = self.clock.now();
                self.try_all(Set { requests, options: request.options, reply, asked, taken: false });
            }
            Err(error) => {
                tracing::debug!(%error, "a request for several resources was refused");
                let class = self.calls.listeners.class(request.options.class.as_deref());
                self.tell_refused(class, 1, &error);
                reply.answer(Err(error));
            }
        }
        deferred
    }

    fn admit_all(&self, request: &AcquireAll) -> Result<Vec<ValidRequest>, AcquireError> {
        self.may_admit()?;
        let class = self.calls.listeners.class(request.options.class.as_deref());
        let validate = |name: &ResourceName| {
            let one = Acquire::with(name.as_bytes(), request.options.clone());
            // The first try does not wait.
            let request = self.check(one, self.random.token(), class)?;
            Ok::<_, InvalidValue>(ValidRequest { waits_by_default: false, ..request })
        };
        Ok(names(&request.resource)?.iter().map(validate).collect::<Result<_, _>>()?)
    }

    fn try_all(&mut self, set: Set) {
        let wait = set.requests[0].wait;
        // The end of the wait counts during the first try too.
        let within = if wait.is_zero() { Duration::MAX } else { wait };
        let tried: Arc<[_]> =
            set.requests.iter().map(|request| Arc::clone(&request.terms.acquisition)).collect();
        let reply = set.reply.clone();
        self.sets.insert(tried[0].hold.token, set);
        self.calls.listeners.tell(About::default(), LockEvent::Attempted);
        let (calls, happenings, in_flight) =
            (self.calls.clone(), self.turn.happenings.clone(), Arc::new(self.shutdown.in_flight()));
        // Validity counts from here: before anything is sent.
        let (sent, began, asked) = (self.clock.now(), Instant::now(), self.single_calls.sets.ask());
        actix_rt::spawn(async move {
            let tell = |outcome| {
                let (tried, _in_flight) = (Arc::clone(&tried), Arc::clone(&in_flight));
                happenings.push(Happening::TriedAll(TriedAll { tried, sent, outcome, _in_flight }));
            };
            let seat = timeout(within, asked.seat()).await;
            if seat.is_err() || reply.is_closed() {
                return tell(Err(StoreError::unavailable(NEVER_SENT)));
            }
            let within = within.saturating_sub(began.elapsed());
            let mut asking = pin!(calls.timed("acquire_all", ask_for_all(&*calls.store, &tried)));
            match timeout(within, &mut asking).await {
                Ok(outcome) => tell(outcome),
                Err(_) => {
                    tell(Err(StoreError::timed_out(within)));
                    tell(asking.await);
                }
            }
        });
    }

    /// Answers all sets whose first try is in flight with this error.
    pub(crate) fn refuse_sets(&mut self, error: &AcquireError) {
        for set in std::mem::take(&mut self.sets).into_values() {
            self.count_set(&set, RequestEnd::Failed(error.kind()));
            set.reply.answer(Err(error.clone()));
        }
    }

    fn count_set(&self, set: &Set, end: RequestEnd) {
        let waited = set.asked.elapsed(self.clock.now());
        let listeners = &self.calls.listeners;
        for request in &set.requests {
            request.requested(listeners);
            request.ended(end, (1, waited), None, listeners);
        }
    }

    pub(crate) fn tried_all(&mut self, TriedAll { tried, sent, outcome, _in_flight }: TriedAll) {
        let Some(set) = self.sets.remove(&tried[0].hold.token) else {
            // The caller has been answered.
            return self.reclaim_all(&tried, &outcome);
        };
        if set.reply.is_closed() {
            self.reclaim_all(&tried, &outcome);
            return self.count_set(&set, RequestEnd::Cancelled);
        }
        let blame = |which: usize, error: AcquireError| error.of(&tried[which].hold.resource);
        let outcome = match outcome {
            Ok(AcquiredAll::Granted(_)) if set.taken => {
                Err(StoreError::reply_lost("acquire_all: taken away before the answer was here"))
            }
            outcome => outcome,
        };
        let error = match outcome {
            Ok(AcquiredAll::Granted(grants)) => return self.all_granted(set, grants, sent),
            Ok(AcquiredAll::Refused { which, refusal }) => {
                let (by, remaining) = (Box::new(refusal.by), refusal.remaining);
                let now = self.clock.now();
                let waited = set.asked.elapsed(now);
                let store::Acquisition { hold, mode, .. } = &*tried[which];
                let expected_wait = self.engine.expect_unknown(&hold.resource, *mode, front(&by), now);
                let ahead = None;
                blame(which, AcquireError::Held { by, remaining, ahead, attempts: 1, waited, expected_wait })
            }
            Ok(AcquiredAll::Failed { which, error }) => blame(which, error.into()),
            Err(error) => {
                self.reclaim_all(&tried, &Err(error.clone()));
                error.into()
            }
        };
        let refused = matches!(error.cause(), AcquireError::Held { .. });
        let end = if refused { RequestEnd::Refused } else { RequestEnd::Failed(error.kind()) };
        let ValidRequest { wait, pauses, .. } = &set.requests[0];
        let left = (set.asked + *wait).remaining(self.clock.now());
        if !left.is_zero() && !pauses.are_none(|| self.random.draw(Draw::Attempt)) {
            // An error that waiting cannot cure comes back at once.
            return self.one_after_the_other(set, end);
        }
        tracing::debug!(%error, "several resources were not granted");
        self.count_set(&set, end);
        set.reply.answer(Err(error));
    }

    fn reclaim_all(&mut self, tried: &[Arc<store::Acquisition>], outcome: &Result<AcquiredAll, StoreError>) {
        let unknown = match outcome {
            Ok(AcquiredAll::Granted(_)) => false,
            Err(error) if error.certainty() == Certainty::Unknown => true,
            Ok(_) | Err(_) => return,
        };
        for tried in tried {
            self.reclaim(tried.hold.clone(), unknown, self.clock.now() + tried.ttl);
        }
    }

    fn all_granted(&mut self, set: Set, grants: Vec<Grant>, sent: Moment) {
        let Set { requests, reply, asked, .. } = set;
        let (now, durability) = (self.clock.now(), self.calls.store.durability());
        let waited = asked.elapsed(now);
        let ttl = requests[0].terms.acquisition.ttl;
        let mut leases = Vec::with_capacity(requests.len());
        let mut too_late = None;
        let in_time = Validity::granted(sent, ttl).is_valid(now);
        for (request, grant) in requests.into_iter().zip(grants) {
            if in_time {
                let state = self.hold_one(request, (asked, sent), grant, now);
                leases.push(Lease::new(state, Arc::clone(&self.renewers.manager), durability));
            } else {
                request.requested(&self.calls.listeners);
                request.ended(RequestEnd::Failed("too_late"), (1, waited), None, &self.calls.listeners);
                let hold = request.terms.acquisition.hold.clone();
                too_late = Some(AcquireError::TooLate { ttl }.of(&hold.resource));
                self.reclaim(hold, false, now + ttl);
            }
        }
        let set = LeaseSet::of(leases);
        match too_late {
            None => hand_out(set, &reply),
            Some(error) => {
                set.return_unused();
                reply.answer(Err(error));
            }
        }
    }

    /// Makes the lease of a request that was asked and sent at these moments, without an acquisition that waited for it.
    pub(crate) fn hold_one(
        &mut self,
        mut request: ValidRequest,
        (asked, sent): (Moment, Moment),
        grant: Grant,
        now: Moment,
    ) -> Arc<LeaseShared> {
        let hold = request.terms.acquisition.hold.clone();
        let reclaiming = self.releasing(Cause::Reclaim(None));
        let acquisition = &request.terms.acquisition;
        let record = self.engine.adopt(wanted(acquisition, false), is_alone(acquisition), None, now);
        self.records.insert(record, Record::new(hold.clone(), reclaiming));
        self.records.name(hold.token, record);
        let fence = grant.fence;
        let holding = self.lease(record, &mut request, sent, grant, now);
        let (lease, bound) = (Arc::clone(&holding.lease), holding.bound_to.is_some());
        self.records.with(record, |it| it.role = Role::Holding(holding));
        self.engine.keep_cohort_waiting(record);
        self.note_held(&lease, now, bound);
        request.admitted(asked, &self.calls.listeners);
        request.ended(RequestEnd::Granted, (1, asked.elapsed(now)), fence, &self.calls.listeners);
        lease
    }

    /// Takes the resources one after the other, after a first try of all that ended like this.
    fn one_after_the_other(&self, set: Set, first_try: RequestEnd) {
        let Set { mut requests, options, reply, asked, .. } = set;
        for request in &mut requests {
            // From here on each resource is a request with a span of its own.
            let waited = asked.elapsed(self.clock.now());
            std::mem::take(&mut request.span).ended(first_try.as_str(), (1, waited), None);
        }
        let (manager, clock) = (Arc::clone(&self.address), Arc::clone(&self.clock));
        let in_flight = self.shutdown.in_flight();
        actix_rt::spawn(async move {
            let deadline = asked + requests[0].wait;
            let taking = one_by_one(&manager, &*clock, &requests, &options, deadline);
            tokio::select! {
                biased;
                // Leases that have been taken are released by being dropped.
                () = reply.caller_gone() => {}
                answer = taking => match answer {
                    Ok(set) => hand_out(set, &reply),
                    Err(error) => reply.answer(Err(error)),
                },
            }
            drop(in_flight);
        });
    }
}

/// Hands a set to its caller. If the caller has gone, the set is released.
fn hand_out(set: LeaseSet, reply: &Responder<Result<LeaseSet, AcquireError>>) {
    set.hand_out();
    if let Err(Ok(set)) = reply.send(Ok(set)) {
        set.return_unused();
    }
}
