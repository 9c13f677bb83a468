//! The admission of a request, which becomes an acquisition, and the watch over its caller.

use std::time::Duration;

use crate::{
    core::{Acquisition, Event, InvalidValue, Moment, RecordKey, Terms, Token},
    lease::Lease,
    listeners::{About, Class, LockEvent, RequestEnd},
    manager::{LockManager, Record, Role, WaitingRequest, is_alone, stream::DEFER_FOR, wanted},
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
        let class = self.calls.listeners.class(request.options.class.as_deref());
        match self.may_admit().and_then(|()| Ok(self.check(request, token, class)?)) {
            Ok(request) => self.begin(request, reply, now),
            Err(error) => {
                tracing::debug!(%error, "a request was refused");
                self.tell_refused(class, 0, &error);
                reply.answer(Err(error));
            }
        }
        deferred
    }

    /// Tells the listeners of a request that was not admitted.
    pub(crate) fn tell_refused(&self, class: Option<Class>, attempts: u32, error: &AcquireError) {
        let (end, about) = (RequestEnd::Failed(error.kind()), About { token: None, class });
        let ended = LockEvent::Ended { end, attempts, waited: Duration::ZERO, by_default: false };
        self.calls.listeners.tell(about, LockEvent::Requested(None));
        self.calls.listeners.tell(about, ended);
    }

    /// Checks that there is room for one more request.
    pub(crate) fn may_admit(&self) -> Result<(), AcquireError> {
        if self.shutdown.has_begun() {
            return Err(AcquireError::ShuttingDown);
        }
        let pending = self.unsettled();
        if pending >= self.policy.settings.limits.max_pending {
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
        self.records.len().saturating_sub(self.shutdown.held) + self.sets.len()
    }

    /// Validates a request against the settings of the manager.
    pub(crate) fn check<Kind>(
        &self,
        request: Request<Kind>,
        token: Token,
        class: Option<Class>,
    ) -> Result<ValidRequest, InvalidValue> {
        let own = self.policy.own_pauses.as_ref();
        ValidRequest::check(
            request,
            token,
            &self.policy.settings,
            own,
            (&self.policy.about, self.policy.inbox),
            class,
        )
    }

    fn begin(&mut self, request: ValidRequest, reply: Responder<Result<Lease, AcquireError>>, now: Moment) {
        let (wait, acquisition) = (request.wait, &request.terms.acquisition);
        let hold = acquisition.hold.clone();
        request.admitted(now, &self.calls.listeners);
        let terms = Terms {
            asked: now,
            wait,
            pauses: request.pauses.clone(),
            ttl: acquisition.ttl,
            ticket_ttl: acquisition.ticket.map_or(Duration::ZERO, |ticket| ticket.ttl),
            grant_window: self.policy.settings.wait.grant_window,
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
        self.records.insert(record, Record::new(hold, Role::Waiting(Box::new(waiter))));
        self.on_at(record, Event::Requested, now);
        // The end of the wait, and the departure of the caller, count during the first attempt too.
        self.watch(record, wait);
    }

    /// Wakes an acquisition after `pause`, and a waiter as soon as its caller goes.
    pub(super) fn wake_after(&self, record: RecordKey, pause: Duration) {
        self.records.set_timer(record, Some(pause));
        self.watch_caller(record);
    }

    fn watch_caller(&self, record: RecordKey) {
        self.records.with(record, |it| {
            if let Some(waiter) = it.waiter().filter(|waiter| waiter.watch.is_none()) {
                waiter.watch = Some(self.sources.watch(record, waiter.reply.caller_gone()));
            }
        });
    }

    /// Wakes a new waiter after `wait`, and as soon as its caller goes. The watch may be deferred, and wake a little later.
    /// A try is answered by its attempt, and only its caller is watched.
    pub(super) fn watch(&self, record: RecordKey, wait: Duration) {
        let follows = || self.engine.get(record).is_some_and(Acquisition::is_following);
        if !wait.is_zero() && (wait <= 2 * DEFER_FOR || follows()) {
            return self.wake_after(record, wait);
        }
        self.sources.defer(record);
    }

    /// Starts the watches that were deferred long enough.
    pub(crate) fn watch_deferred(&self, deferred: Vec<RecordKey>) {
        let now = self.clock.now();
        for record in deferred {
            let waits = self.records.with(record, |it| it.timer.is_none() && it.waiter().is_some());
            let Some(acquisition) = self.engine.get(record).filter(|_| waits == Some(true)) else { continue };
            match acquisition.is_try() {
                false => self.wake_after(record, acquisition.left(now)),
                true => self.watch_caller(record),
            }
        }
    }
}
