//! Answers to operators and observers: about locks, own leases, counters, readiness, and the trace of requests.

use std::{cmp::Reverse, future::ready, num::NonZeroU32};

use actix::{MessageResult, ResponseFuture};

#[cfg(feature = "actix-web")]
use crate::request::queries::{AskCounts, IsLocal};
use crate::{
    core::{InvalidValue, Moment, RecordKey, ResourceName},
    lease::LeaseShared,
    listeners::trace::{BeginTrace, EndTrace},
    manager::{Calls, LockManager, Seats, dispatch::ask::LATELY},
    request::{
        AcquireError, Inspect, InspectError, IsHeld, Leases, List, OwnLease, OwnLeases, OwnWaiter, Ready,
        SetCapacity, Stats, UseRegister, queries::check_limit,
    },
    runtime::responder::{DeferredReply, Responder},
    store::{Hold, Inspection, Listing, Register, StoreError},
};

/// The answer to a query, which comes later.
type QueryAnswer<T> = DeferredReply<Result<T, InspectError>>;

impl LockManager {
    pub(super) fn inspect(&mut self, Inspect { resource, limit }: Inspect) -> QueryAnswer<Inspection> {
        self.query(&self.single_calls.questions, async move |calls| {
            let (resource, limit) = (ResourceName::new(resource)?, check_limit(limit)?);
            Ok(calls.ask("inspect", |store| store.inspect(&resource, limit)).await?)
        })
    }

    pub(super) fn is_held(&mut self, IsHeld { resource, token }: IsHeld) -> QueryAnswer<bool> {
        self.query(&self.single_calls.questions, async move |calls| {
            let hold = Hold { resource: ResourceName::new(resource)?, token, owner: None };
            Ok(calls.ask("is_held", |store| store.is_held(&hold)).await?)
        })
    }

    pub(super) fn list(&mut self, List { walk }: List) -> QueryAnswer<Listing> {
        self.query(&self.single_calls.walks, async move |calls| {
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
        let (calls, busy) = (self.calls.clone(), |pending| InspectError::Busy { pending });
        self.answer_seated(seats, true, busy, async move { query(calls).await })
    }

    pub(super) fn use_register(
        &mut self,
        UseRegister { name, write }: UseRegister,
    ) -> DeferredReply<Result<Register, StoreError>> {
        let calls = self.calls.clone();
        let busy = |pending| StoreError::unavailable(format!("{pending} calls have no answer yet"));
        self.answer_seated(&self.single_calls.questions, false, busy, async move {
            calls.ask("register", |store| store.register(&name, write.as_ref())).await
        })
    }

    pub(super) fn set_capacity(&mut self, SetCapacity { resource, permits }: SetCapacity) -> QueryAnswer<()> {
        let (calls, busy) = (self.calls.clone(), |pending| InspectError::Busy { pending });
        self.answer_seated(&self.single_calls.questions, false, busy, async move {
            let resource = ResourceName::new(resource)?;
            let invalid = || InvalidValue::new("capacity", 0, "1 or more");
            let permits = permits.map(|permits| NonZeroU32::new(permits).ok_or_else(invalid)).transpose()?;
            Ok(calls.ask("set_capacity", |store| store.set_capacity(&resource, permits)).await?)
        })
    }

    #[cfg(feature = "actix-web")]
    pub(super) fn is_local(&mut self, _: IsLocal) -> bool {
        self.calls.store.is_local()
    }

    #[cfg(feature = "actix-web")]
    pub(super) fn counts(&mut self, _: AskCounts) -> MessageResult<AskCounts> {
        MessageResult(Box::new(self.calls.listeners.counts().clone()))
    }

    pub(super) fn statistics(&mut self, _: Stats) -> MessageResult<Stats> {
        MessageResult(self.calls.listeners.counts().snapshot())
    }

    /// Answers a question to the store when there is a seat for it. If its caller `may_leave`, it is not asked without one.
    pub(super) fn answer_seated<T: 'static, E: 'static>(
        &self,
        seats: &Seats,
        may_leave: bool,
        busy: impl FnOnce(usize) -> E,
        question: impl Future<Output = Result<T, E>> + 'static,
    ) -> DeferredReply<Result<T, E>> {
        let (reply, deferred) = Responder::new();
        let pending = seats.asked();
        if pending >= self.policy.settings.limits.max_pending {
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
            Ok(()) if !self.calls.outage.served_within(LATELY) => {
                let calls = self.calls.clone();
                return Box::pin(self.single_calls.readiness.ask(calls, || self.random.token()));
            }
            answer => answer,
        };
        Box::pin(ready(answer))
    }

    pub(super) fn begin_trace(&mut self, BeginTrace(sink): BeginTrace) {
        let now = self.clock.now();
        self.calls.listeners.trace().begin(sink, now);
    }

    pub(super) fn end_trace(&mut self, EndTrace(sink): EndTrace) {
        self.calls.listeners.trace().end(&sink);
    }

    pub(super) fn leases(&mut self, Leases { limit }: Leases) -> MessageResult<Leases> {
        if let Err(error) = check_limit(limit) {
            return MessageResult(Err(error.into()));
        }
        let now = self.clock.now();
        let mut held = self.records.leases();
        let held_in_all = held.len();
        keep_first(&mut held, limit, |lease| Reverse(lease.held_for_at(now)));
        let in_sets = self.sets.values().flat_map(|set| set.waiters(now));
        let alone = self.records.waiting().into_iter().filter_map(|record| self.waiter(record, now));
        let mut waiting: Vec<OwnWaiter> = alone.chain(in_sets).collect();
        let waiting_in_all = waiting.len();
        keep_first(&mut waiting, limit, |waiter| Reverse(waiter.waited));
        let held = held.iter().map(|lease| described(lease, now)).collect();
        MessageResult(Ok(OwnLeases { held, held_in_all, waiting, waiting_in_all }))
    }

    /// Describes a request that waits. `None` if its caller has gone.
    fn waiter(&self, record: RecordKey, now: Moment) -> Option<OwnWaiter> {
        let it = self.engine.get(record).filter(|it| it.has_caller())?;
        let (waited, attempts, ahead) = (it.waited(now), it.attempts, it.ahead());
        self.records.with(record, |it| {
            let waiter = it.waiter().filter(|waiter| !waiter.reply.is_closed())?;
            Some(OwnWaiter::of(&waiter.request.terms.acquisition, waited, attempts, ahead))
        })?
    }
}

fn described(lease: &LeaseShared, now: Moment) -> OwnLease {
    let hold = lease.hold();
    OwnLease {
        resource: hold.resource.clone(),
        token: hold.token.prefix(),
        mode: lease.terms.acquisition.mode,
        fence: lease.fence,
        owner: hold.owner.clone(),
        status: lease.status_at(now),
        held_for: lease.held_for_at(now),
        valid_for: lease.remaining_at(now),
    }
}

/// Keeps the first of these by a key, in their order. The others are not sorted: there may be many.
fn keep_first<T, K: Ord>(all: &mut Vec<T>, limit: usize, key: impl Fn(&T) -> K) {
    if all.len() > limit {
        all.select_nth_unstable_by_key(limit, &key);
        all.truncate(limit);
    }
    all.sort_by_key(key);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_many_are_kept_in_their_order() {
        for limit in 1..8 {
            let mut numbers = vec![5, 3, 1, 4, 2];
            keep_first(&mut numbers, limit, |number| *number);
            assert_eq!(numbers, (1..=5).take(limit).collect::<Vec<_>>());
        }
    }
}
