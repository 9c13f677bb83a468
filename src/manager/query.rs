//! What operators and observers ask: about locks, counters, readiness, and for the trace of requests.

use std::{future::ready, sync::Arc};

use actix::{MessageResult, ResponseFuture};

#[cfg(feature = "actix-web")]
use crate::request::queries::IsLocal;
use crate::{
    core::ResourceName,
    manager::{
        LockManager,
        dispatch::ask::Calls,
        ready::LATELY,
        seats::Seats,
        trace::{BeginTrace, EndTrace},
    },
    request::{
        AcquireError, Inspect, InspectError, IsHeld, List, Ready, Stats,
        queries::{UseRegister, check_limit},
    },
    runtime::responder::{DeferredReply, Responder},
    store::{Hold, Inspection, Listing, Register, StoreError},
};

/// The answer to a query, which comes later.
type QueryAnswer<T> = DeferredReply<Result<T, InspectError>>;

impl LockManager {
    pub(super) fn inspect(&mut self, Inspect { resource, limit }: Inspect) -> QueryAnswer<Inspection> {
        self.query(&self.seats.questions, async move |calls| {
            let (resource, limit) = (ResourceName::new(resource)?, check_limit(limit)?);
            Ok(calls.ask("inspect", |store| store.inspect(&resource, limit)).await?)
        })
    }

    pub(super) fn is_held(&mut self, IsHeld { resource, token }: IsHeld) -> QueryAnswer<bool> {
        self.query(&self.seats.questions, async move |calls| {
            let hold = Hold { resource: ResourceName::new(resource)?, token, owner: None };
            Ok(calls.ask("is_held", |store| store.is_held(&hold)).await?)
        })
    }

    pub(super) fn list(&mut self, List { walk }: List) -> QueryAnswer<Listing> {
        self.query(&self.seats.walks, async move |calls| {
            check_limit(walk.limit)?;
            Ok(calls.ask("list", |store| store.list(&walk)).await?)
        })
    }

    /// Answers a query when there is a seat for it, if its caller still waits.
    fn query<T: 'static>(
        &self,
        seats: &Seats,
        query: impl AsyncFnOnce(Calls) -> Result<T, InspectError> + 'static,
    ) -> QueryAnswer<T> {
        let (calls, busy) = (self.calls(), |pending| InspectError::Busy { pending });
        self.answer_seated(seats, true, busy, async move { query(calls).await })
    }

    pub(super) fn use_register(
        &mut self,
        UseRegister { name, write }: UseRegister,
    ) -> DeferredReply<Result<Register, StoreError>> {
        let calls = self.calls();
        let busy = |pending| StoreError::unavailable(format!("{pending} calls have no answer yet"));
        self.answer_seated(&self.seats.questions, false, busy, async move {
            calls.ask("register", |store| store.register(&name, write.as_ref())).await
        })
    }

    #[cfg(feature = "actix-web")]
    pub(super) fn is_local(&mut self, _: IsLocal) -> bool {
        self.store.is_local()
    }

    pub(super) fn statistics(&mut self, _: Stats) -> MessageResult<Stats> {
        MessageResult(self.stats.snapshot())
    }

    /// Returns the way to the store for calls outside of batches.
    pub(super) fn calls(&self) -> Calls {
        Calls { store: self.store.clone(), outage: self.outage.clone() }
    }

    /// Answers a question to the store when there is a seat for it. If its caller `may_leave`, it is not asked without one.
    fn answer_seated<T: 'static, E: 'static>(
        &self,
        seats: &Seats,
        may_leave: bool,
        busy: impl FnOnce(usize) -> E,
        question: impl Future<Output = Result<T, E>> + 'static,
    ) -> DeferredReply<Result<T, E>> {
        let (reply, deferred) = Responder::new();
        let pending = seats.asked();
        if pending >= self.settings.limits.max_pending {
            reply.answer(Err(busy(pending)));
            return deferred;
        }
        let asked = seats.ask();
        actix_rt::spawn(async move {
            let _seat = asked.seat().await;
            if !may_leave || !reply.is_closed() {
                reply.answer(question.await);
            }
        });
        deferred
    }

    pub(super) fn ready(&mut self, _: Ready) -> ResponseFuture<Result<(), AcquireError>> {
        let answer = match self.may_admit() {
            Ok(()) if !self.outage.served_within(LATELY) => {
                let calls = self.calls();
                return Box::pin(self.readiness.ask(calls, || self.random.token()));
            }
            answer => answer,
        };
        Box::pin(ready(answer))
    }

    pub(super) fn begin_trace(&mut self, BeginTrace(sink): BeginTrace) {
        self.trace.begin(sink, self.clock.now(), Arc::clone(&self.stats));
    }

    pub(super) fn end_trace(&mut self, EndTrace(sink): EndTrace) {
        self.trace.end(&sink, &self.records, self.clock.now());
    }
}
