//! The admission of a request, which becomes an acquisition.

use std::time::Duration;

use crate::{
    core::{Acquisition, Event, InvalidValue, Moment, Terms, Token},
    lease::{Lease, RecordKey},
    listeners::statistics::{Class, CountedEvent, RequestEnd},
    manager::{LockManager, Record, Role, WaitingRequest, is_alone},
    request::{AcquireError, Request, ValidRequest},
    runtime::responder::{DeferredReply, Responder},
};

impl LockManager {
    pub(crate) fn acquire<Kind>(
        &mut self,
        request: Request<Kind>,
    ) -> DeferredReply<Result<Lease, AcquireError>> {
        let (reply, deferred) = Responder::new();
        let (token, now) = (self.random.token(), self.clock.now());
        let class = self.stats.class(request.options.class.as_deref());
        self.stats.note(class, CountedEvent::Requested);
        match self.may_admit().and_then(|()| Ok(self.check(request, token, class)?)) {
            Ok(request) => self.begin(request, reply, now),
            Err(error) => {
                tracing::debug!(%error, "a request was refused");
                self.stats.note(class, CountedEvent::Ended(RequestEnd::Failed(error.kind())));
                reply.answer(Err(error));
            }
        }
        deferred
    }

    /// Checks that there is room for one more request.
    pub(crate) fn may_admit(&self) -> Result<(), AcquireError> {
        if self.shutdown.has_begun() {
            return Err(AcquireError::ShuttingDown);
        }
        let pending = self.unsettled();
        if pending >= self.settings.limits.max_pending {
            return Err(AcquireError::Busy { pending });
        }
        Ok(())
    }

    /// Returns the number of requests that have no answer yet, or an attempt or a release without one.
    pub(crate) fn unsettled(&self) -> usize {
        if planted!("what is over and unanswered does not count") {
            let is_pending = |it: &mut Record| it.waiter().is_some() && it.decisions.has_caller();
            let pending = |record: &RecordKey| self.records.with(*record, is_pending) == Some(true);
            return self.records.waiting().into_iter().filter(pending).count() + self.sets.len();
        }
        self.records.len().saturating_sub(self.held) + self.sets.len()
    }

    /// Validates a request against the settings of the manager.
    pub(crate) fn check<Kind>(
        &self,
        request: Request<Kind>,
        token: Token,
        class: Option<Class>,
    ) -> Result<ValidRequest, InvalidValue> {
        let own = self.own_pauses.as_ref();
        ValidRequest::check(request, token, &self.settings, own, (&self.about, self.inbox), class)
    }

    fn begin(&mut self, request: ValidRequest, reply: Responder<Result<Lease, AcquireError>>, now: Moment) {
        let (wait, joins_cohort) = (request.wait, self.joins_cohort(&request));
        let (hold, ttl) = (request.terms.acquisition.hold.clone(), request.terms.acquisition.ttl);
        let decisions = Acquisition::new(Terms {
            asked: now,
            wait,
            pauses: request.pauses.clone(),
            ttl,
            ticket_ttl: request.terms.acquisition.ticket.map_or(Duration::ZERO, |ticket| ticket.ttl),
            grant_window: self.settings.wait.grant_window,
            alone: is_alone(&request.terms.acquisition),
        });
        let (resource, token) = (hold.resource.clone(), hold.token);
        let waiter = WaitingRequest {
            request,
            reply,
            answer: None,
            taken: false,
            place: None,
            watch: None,
            attempt: None,
            _in_flight: self.shutdown.in_flight(),
        };
        let record = self.records.insert(Record::new(hold, decisions, Role::Waiting(Box::new(waiter))));
        self.records.name(token, record);
        if joins_cohort {
            self.join_cohort(record, &resource, now);
        } else {
            self.on_at(record, Event::Lead, now);
        }
        // The end of the wait, and the departure of the caller, count during the first attempt too.
        self.watch(record, wait);
    }
}
