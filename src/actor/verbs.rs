//! How the manager answers release, renew, and questions: each in a task of its own.

use std::{sync::Arc, time::Duration};

use actix::{Handler, MessageResult, ResponseFuture};

use crate::{
    actor::{
        ForceRelease, Inspect, InspectError, IsHeld, List, LockManager, Release, ReleaseError, Released,
        Renew, RenewError, SetBackoff, Statistics, Stats, ask::ask, give_back::Executed,
        messages::check_limit, state::LeaseState,
    },
    protocol::{LossReason, ResourceName, Standing},
    store::{self, Hold, Inspection, Listing, StoreError},
};

impl Handler<Release> for LockManager {
    type Result = ResponseFuture<Result<Released, ReleaseError>>;

    fn handle(&mut self, release: Release, _: &mut Self::Context) -> Self::Result {
        let Release { resource, token } = release;
        let resource = match ResourceName::new(resource) {
            Ok(resource) => resource,
            Err(error) => return Box::pin(async { Err(error.into()) }),
        };
        let ours = self.leases.get(&token).is_some_and(|lease| lease.hold.resource == resource);
        match ours.then(|| self.forget(token)).flatten() {
            Some(lease) => self.release_ours(lease),
            None => self.release_unknown(Hold { resource, token, owner: None }),
        }
    }
}

impl LockManager {
    fn release_ours(&self, lease: Arc<LeaseState>) -> ResponseFuture<Result<Released, ReleaseError>> {
        let (store, giver) = (Arc::clone(&self.store), self.giver());
        let closed_for = lease.closed_for();
        let before = lease.release();
        Box::pin(async move {
            let answer = ask("release", || store.release(&lease.hold, closed_for)).await;
            // While an unknown attempt may still be executed, one release is not the last word.
            let (executed, until) = match lease.perhaps_until {
                Some(perhaps_until) => (Executed::Perhaps, lease.end_in_store().max(perhaps_until)),
                None => (Executed::Certainly, lease.end_in_store()),
            };
            if answer.is_err() || executed == Executed::Perhaps {
                let opening = lease.clock.now() + lease.closed_for();
                actix_rt::spawn(giver.give_back(lease.hold.clone(), opening, executed, until));
            }
            if let Standing::Lost(reason) = before {
                return Err(ReleaseError::Lost { reason });
            }
            match answer? {
                store::Released::Freed => Ok(Released::Freed),
                store::Released::StillHeld { count } => Ok(Released::StillHeld { count }),
                store::Released::NotHeld { .. } => {
                    lease.found_lost();
                    Err(ReleaseError::Lost { reason: LossReason::NotHeld })
                }
            }
        })
    }

    fn release_unknown(&self, hold: Hold) -> ResponseFuture<Result<Released, ReleaseError>> {
        let (store, giver) = (Arc::clone(&self.store), self.giver());
        let now = self.clock.now();
        let end_at_the_latest = now + self.settings.max_ttl;
        Box::pin(async move {
            let answer = ask("release", || store.release(&hold, Duration::ZERO)).await;
            if answer.is_err() {
                actix_rt::spawn(giver.give_back(hold, now, Executed::Certainly, end_at_the_latest));
            }
            match answer? {
                store::Released::Freed => Ok(Released::Freed),
                store::Released::StillHeld { count } => Ok(Released::StillHeld { count }),
                store::Released::NotHeld { .. } => Err(ReleaseError::NotHolder),
            }
        })
    }
}

impl Handler<Renew> for LockManager {
    type Result = ResponseFuture<Result<Duration, RenewError>>;

    fn handle(&mut self, renew: Renew, _: &mut Self::Context) -> Self::Result {
        let (lease, store) = (self.leases.get(&renew.token).cloned(), Arc::clone(&self.store));
        Box::pin(async move {
            let lease = lease.ok_or(RenewError::Unknown)?;
            if !lease.is_valid() {
                lease.expire();
                return Err(RenewError::Lost { reason: reason_of(lease.standing()) });
            }
            // Half of what is left: if no answer comes, there is time to ask again.
            let patience = lease.remaining() / 2;
            let sent = lease.asks();
            let asked = ask("renew", || store.renew(&lease.hold, lease.ttl()));
            let answer = tokio::time::timeout(patience, asked).await;
            match answer.unwrap_or(Err(StoreError::TimedOut { within: patience })) {
                Ok(store::Renewed::Extended) if lease.renewed(sent) => Ok(lease.remaining()),
                Ok(store::Renewed::Extended) => {
                    lease.expire();
                    Err(RenewError::Lost { reason: reason_of(lease.standing()) })
                }
                Ok(store::Renewed::NotHeld) => {
                    lease.lose(LossReason::NotHeld);
                    Err(RenewError::Lost { reason: reason_of(lease.standing()) })
                }
                Err(error) => {
                    lease.missed(&error);
                    Err(RenewError::Store(error))
                }
            }
        })
    }
}

/// Why a lease that cannot be renewed is over.
fn reason_of(standing: Standing) -> LossReason {
    match standing {
        Standing::Lost(reason) => reason,
        Standing::Released | Standing::Held | Standing::AtRisk => LossReason::Released,
    }
}

impl Handler<Inspect> for LockManager {
    type Result = ResponseFuture<Result<Inspection, InspectError>>;

    fn handle(&mut self, inspect: Inspect, _: &mut Self::Context) -> Self::Result {
        let store = Arc::clone(&self.store);
        Box::pin(async move {
            let resource = ResourceName::new(inspect.resource)?;
            let limit = check_limit(inspect.limit)?;
            Ok(ask("inspect", || store.inspect(&resource, limit)).await?)
        })
    }
}

impl Handler<IsHeld> for LockManager {
    type Result = ResponseFuture<Result<bool, InspectError>>;

    fn handle(&mut self, question: IsHeld, _: &mut Self::Context) -> Self::Result {
        let store = Arc::clone(&self.store);
        Box::pin(async move {
            let resource = ResourceName::new(question.resource)?;
            let hold = Hold { resource, token: question.token, owner: None };
            Ok(ask("is_held", || store.is_held(&hold)).await?)
        })
    }
}

impl Handler<List> for LockManager {
    type Result = ResponseFuture<Result<Listing, InspectError>>;

    fn handle(&mut self, list: List, _: &mut Self::Context) -> Self::Result {
        let store = Arc::clone(&self.store);
        Box::pin(async move {
            let limit = check_limit(list.limit)?;
            Ok(ask("list", || store.list(&list.prefix, limit)).await?)
        })
    }
}

impl Handler<ForceRelease> for LockManager {
    type Result = ResponseFuture<Result<u64, InspectError>>;

    fn handle(&mut self, force: ForceRelease, _: &mut Self::Context) -> Self::Result {
        let store = Arc::clone(&self.store);
        Box::pin(async move {
            let resource = ResourceName::new(force.resource)?;
            let dropped = ask("force_release", || store.force_release(&resource)).await?;
            tracing::info!(%resource, dropped, "released by force");
            Ok(dropped)
        })
    }
}

impl Handler<Stats> for LockManager {
    type Result = MessageResult<Stats>;

    fn handle(&mut self, _: Stats, _: &mut Self::Context) -> MessageResult<Stats> {
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
        let assumed = &mut Arc::make_mut(&mut self.settings).backoff;
        tracing::info!(from = ?assumed, to = ?backoff, "other pauses between attempts");
        MessageResult(std::mem::replace(assumed, backoff))
    }
}
