//! Queries about locks and about the manager's counters.

use actix::MessageResult;

#[cfg(feature = "actix-web")]
use crate::request::queries::IsLocal;
use crate::{
    core::ResourceName,
    manager::{LockManager, dispatch::ask::Calls, seats::Seats},
    request::{
        Inspect, InspectError, IsHeld, List, Stats,
        queries::{UseRegister, check_limit},
    },
    runtime::responder::DeferredReply,
    store::{Hold, Inspection, Listing, Register, StoreError},
};

/// The answer to a query, which comes later.
type Answer<T> = DeferredReply<Result<T, InspectError>>;

impl LockManager {
    pub(super) fn inspect(&mut self, Inspect { resource, limit }: Inspect) -> Answer<Inspection> {
        self.query(&self.seats.questions, async move |calls| {
            let (resource, limit) = (ResourceName::new(resource)?, check_limit(limit)?);
            Ok(calls.ask("inspect", |store| store.inspect(&resource, limit)).await?)
        })
    }

    pub(super) fn is_held(&mut self, IsHeld { resource, token }: IsHeld) -> Answer<bool> {
        self.query(&self.seats.questions, async move |calls| {
            let hold = Hold { resource: ResourceName::new(resource)?, token, owner: None };
            Ok(calls.ask("is_held", |store| store.is_held(&hold)).await?)
        })
    }

    pub(super) fn list(&mut self, List { walk }: List) -> Answer<Listing> {
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
    ) -> Answer<T> {
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
}
