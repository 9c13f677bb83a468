//! Queries about locks, the manager's counters, and changes while it runs.

use std::{rc::Rc, sync::Arc, time::Duration};

use actix::{Handler, MessageResult};
use tokio::{sync::oneshot, time::timeout};

#[cfg(feature = "actix-web")]
use crate::request::queries::IsLocal;
use crate::{
    core::ResourceName,
    manager::{LockManager, dispatch::ask::ask, happening::Happening},
    request::{
        ForceRelease, ForceReleaseError, Inspect, InspectError, IsHeld, List, SetBackoff, Stats,
        queries::{UseRegister, check_limit},
    },
    runtime::responder::DeferredReply,
    statistics::Statistics,
    store::{Hold, Inspection, Listing, Register, StoreError},
};

/// The longest time that the answer to a forced release waits until the waiters of this manager were seen to.
const HANDLED_WITHIN: Duration = Duration::from_secs(1);

impl Handler<Inspect> for LockManager {
    type Result = DeferredReply<Result<Inspection, InspectError>>;

    fn handle(&mut self, inspect: Inspect, ctx: &mut Self::Context) -> Self::Result {
        self.count_message(ctx);
        let (store, outage) = (Arc::clone(&self.store), Rc::clone(&self.outage));
        let busy = |pending| InspectError::Busy { pending };
        self.answer_seated(&self.seats.questions, true, busy, async move {
            let resource = ResourceName::new(inspect.resource)?;
            let limit = check_limit(inspect.limit)?;
            let answer = ask("inspect", || store.inspect(&resource, limit)).await;
            Ok(outage.seen("inspect", answer)?)
        })
    }
}

impl Handler<IsHeld> for LockManager {
    type Result = DeferredReply<Result<bool, InspectError>>;

    fn handle(&mut self, question: IsHeld, ctx: &mut Self::Context) -> Self::Result {
        self.count_message(ctx);
        let (store, outage) = (Arc::clone(&self.store), Rc::clone(&self.outage));
        let busy = |pending| InspectError::Busy { pending };
        self.answer_seated(&self.seats.questions, true, busy, async move {
            let resource = ResourceName::new(question.resource)?;
            let hold = Hold { resource, token: question.token, owner: None };
            let answer = ask("is_held", || store.is_held(&hold)).await;
            Ok(outage.seen("is_held", answer)?)
        })
    }
}

impl Handler<List> for LockManager {
    type Result = DeferredReply<Result<Listing, InspectError>>;

    fn handle(&mut self, list: List, ctx: &mut Self::Context) -> Self::Result {
        self.count_message(ctx);
        let (store, outage) = (Arc::clone(&self.store), Rc::clone(&self.outage));
        let busy = |pending| InspectError::Busy { pending };
        self.answer_seated(&self.seats.walks, true, busy, async move {
            check_limit(list.walk.limit)?;
            let answer = ask("list", || store.list(&list.walk)).await;
            Ok(outage.seen("list", answer)?)
        })
    }
}

impl Handler<ForceRelease> for LockManager {
    type Result = DeferredReply<Result<u64, ForceReleaseError>>;

    fn handle(&mut self, force: ForceRelease, ctx: &mut Self::Context) -> Self::Result {
        self.count_message(ctx);
        let (store, outage) = (Arc::clone(&self.store), Rc::clone(&self.outage));
        let (happenings, in_flight) = (self.happenings.clone(), self.shutdown.in_flight());
        let busy = |pending| ForceReleaseError::Busy { pending };
        self.answer_seated(&self.seats.questions, false, busy, async move {
            // A shutdown waits for the answer.
            let _in_flight = in_flight;
            let resource = ResourceName::new(force.resource)?;
            let answer = ask("force_release", || store.force_release(&resource)).await;
            let dropped = outage.seen("force_release", answer)?;
            tracing::info!(%resource, dropped, "released by force");
            let (handled, done) = oneshot::channel();
            happenings.push(Happening::Opened(resource, handled));
            drop(happenings);
            // A manager that panicked over it, or that has stopped, handles it no more. What was taken is taken all the same.
            let _ = timeout(HANDLED_WITHIN, done).await;
            Ok(dropped)
        })
    }
}

impl Handler<UseRegister> for LockManager {
    type Result = DeferredReply<Result<Register, StoreError>>;

    fn handle(&mut self, UseRegister { name, write }: UseRegister, ctx: &mut Self::Context) -> Self::Result {
        self.count_message(ctx);
        let (store, outage) = (Arc::clone(&self.store), Rc::clone(&self.outage));
        let busy = |pending| StoreError::unavailable(format!("{pending} calls have no answer yet"));
        self.answer_seated(&self.seats.questions, false, busy, async move {
            let answer = ask("register", || store.register(&name, write.as_ref())).await;
            outage.seen("register", answer)
        })
    }
}

#[cfg(feature = "actix-web")]
impl Handler<IsLocal> for LockManager {
    type Result = bool;

    fn handle(&mut self, _: IsLocal, _: &mut Self::Context) -> bool {
        self.store.is_local()
    }
}

impl Handler<Stats> for LockManager {
    type Result = MessageResult<Stats>;

    fn handle(&mut self, _: Stats, ctx: &mut Self::Context) -> MessageResult<Stats> {
        self.count_message(ctx);
        let snapshot: Statistics = self.stats.snapshot();
        MessageResult(snapshot)
    }
}

impl Handler<SetBackoff> for LockManager {
    type Result = MessageResult<SetBackoff>;

    fn handle(
        &mut self,
        SetBackoff(backoff): SetBackoff,
        _: &mut Self::Context,
    ) -> MessageResult<SetBackoff> {
        self.own_pauses = None;
        let assumed = &mut Arc::make_mut(&mut self.settings).backoff;
        tracing::info!(from = ?assumed, to = ?backoff, "other pauses between attempts");
        MessageResult(std::mem::replace(assumed, backoff))
    }
}
