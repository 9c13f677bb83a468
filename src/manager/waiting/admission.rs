//! The admission of a request, which becomes an acquisition.

use std::time::Duration;

use crate::{
    core::{Acquisition, Event, InvalidValue, Moment, RecordKey, Terms, Token},
    lease::Lease,
    listeners::statistics::{Class, CountedEvent, RequestEnd},
    manager::{Asked, LockManager, Record, Role, WaitingRequest, is_alone, wanted},
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
            let pending = |record: &RecordKey| self.engine.get(*record).is_some_and(Acquisition::has_caller);
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
        let (wait, acquisition) = (request.wait, &request.terms.acquisition);
        let hold = acquisition.hold.clone();
        let asked = Asked { at: now, wait, counts_attempts: request.pauses.count_attempts() };
        let terms = Terms {
            asked: now,
            wait,
            pauses: request.pauses.clone(),
            ttl: acquisition.ttl,
            ticket_ttl: acquisition.ticket.map_or(Duration::ZERO, |ticket| ticket.ttl),
            grant_window: self.settings.wait.grant_window,
            alone: is_alone(acquisition),
        };
        let record = self.engine.admit(terms, wanted(acquisition, request.give_up_early));
        let waiter = WaitingRequest {
            request,
            reply,
            answer: None,
            grant: None,
            failure: None,
            unsent: false,
            taken: false,
            watch: None,
            attempt: None,
            _in_flight: self.shutdown.in_flight(),
        };
        self.records.name(hold.token, record);
        self.records.insert(record, Record::new(hold, Some(asked), Role::Waiting(Box::new(waiter))));
        self.on_at(record, Event::Requested, now);
        // The end of the wait, and the departure of the caller, count during the first attempt too.
        self.watch(record, wait);
    }
}
