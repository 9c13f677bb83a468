//! The manager's handlers of release, renew, and queries.

use std::{rc::Rc, sync::Arc, time::Duration};

use actix::{ActorFutureExt, Handler, MessageResult, ResponseActFuture, ResponseFuture, WrapFuture};

use crate::{
    actor::{
        ForceRelease, Inspect, InspectError, IsHeld, List, LockManager, Release, ReleaseError, Released,
        Renew, RenewError, SetBackoff, Statistics, Stats,
        again::Again,
        ask::ask,
        attempts::Attempt,
        give_back::Giver,
        lanes::{Passing, Releasing, Renewing},
        leases::LeaseOver,
        local::is_alone,
        messages::check_limit,
        reply::{Later, ReplyTo},
        state::LeaseState,
    },
    protocol::{Executed, LossReason, ResourceName, Standing},
    store::{self, Hold, Inspection, Listing, StoreError},
};

impl Handler<Release> for LockManager {
    type Result = Later<Result<Released, ReleaseError>>;

    fn handle(&mut self, mut release: Release, _: &mut Self::Context) -> Self::Result {
        let (reply, later) = ReplyTo::new();
        match release.resource.clone() {
            Ok(resource) => {
                let ours = self.leases.get(release.token).filter(|lease| lease.hold.resource == resource);
                release.lease = ours.or(release.lease);
                let (lease, token) = (release.lease.clone(), release.token);
                let again = Again::of(release, &self.address);
                match lease {
                    Some(lease) => self.release_ours(lease, reply, again),
                    None => self.release_unknown(Hold { resource, token, owner: None }, reply, again),
                }
            }
            Err(error) => reply.answer(Err(error.into())),
        }
        later
    }
}

impl LockManager {
    fn release_ours(
        &mut self,
        lease: Arc<LeaseState>,
        reply: ReplyTo<Result<Released, ReleaseError>>,
        again: Again,
    ) {
        let (giver, hold) = (self.giver(), lease.hold.clone());
        let (before, mut unconfirmed) = lease.release();
        // Not earlier: a lease that is lost meanwhile keeps its lock delay.
        let closed_for = lease.closed_for();
        let next = self.next_after(&lease, before);
        // Only after everything that may panic: until here the lease is still in the table.
        self.take(hold.token);
        let then = move |answer: Result<store::Released, StoreError>| {
            // While an attempt with an unknown outcome may still be executed, one release is not final.
            let (executed, until) = match lease.perhaps_until() {
                Some(perhaps_until) => (Executed::Perhaps, lease.end_in_store().max(perhaps_until)),
                None => (Executed::Certainly, lease.end_in_store()),
            };
            if answer.is_err() || executed == Executed::Perhaps {
                let opening = lease.clock.now() + lease.closed_for();
                let unconfirmed = unconfirmed.take_if(|_| answer.is_err());
                let giver = Giver { unconfirmed, ..giver };
                actix_rt::spawn(giver.give_back(lease.hold.clone(), opening, executed, until));
            }
            let answer = match (before, answer) {
                (Standing::Lost(reason), _) => Err(ReleaseError::Lost { reason }),
                (Standing::Held | Standing::AtRisk, Ok(store::Released::NotHeld { .. })) => {
                    lease.found_lost(unconfirmed.take());
                    Err(ReleaseError::Lost { reason: LossReason::NotHeld })
                }
                (_, answer) => answer.map_err(ReleaseError::Store).and_then(released),
            };
            drop(unconfirmed);
            again.not();
            reply.answer(answer);
        };
        if let Some((attempt, overtake)) = next {
            self.lanes.passes.push(Passing { from: hold, attempt, overtake, then: Box::new(then) });
        } else {
            let resource = hold.resource.clone();
            self.lanes.releases.push(Releasing { hold, closed_for, then: Box::new(then) });
            self.keep_in_line(&resource);
        }
    }

    /// Returns the attempt to which a released lease is handed off, instead of being released in the store first, and
    /// whether the attempt may overtake others.
    fn next_after(&mut self, lease: &LeaseState, before: Standing) -> Option<(Attempt, bool)> {
        let held = matches!(before, Standing::Held | Standing::AtRisk);
        let for_good = lease.closed_for().is_zero() && lease.perhaps_until().is_none();
        let passes = held && for_good && is_alone(lease.mode, &lease.hold);
        passes.then(|| self.set_out_next(&lease.hold.resource)).flatten()
    }

    fn release_unknown(&self, hold: Hold, reply: ReplyTo<Result<Released, ReleaseError>>, again: Again) {
        let (giver, now, given) = (self.giver(), self.clock.now(), hold.clone());
        let end_at_the_latest = now + self.settings.max_ttl;
        let then = move |answer: Result<store::Released, StoreError>| {
            if answer.is_err() {
                actix_rt::spawn(giver.give_back(given, now, Executed::Certainly, end_at_the_latest));
            }
            again.not();
            reply.answer(answer.map_err(ReleaseError::Store).and_then(released));
        };
        self.lanes.releases.push(Releasing { hold, closed_for: Duration::ZERO, then: Box::new(then) });
    }
}

fn released(released: store::Released) -> Result<Released, ReleaseError> {
    match released {
        store::Released::Freed => Ok(Released::Freed),
        store::Released::StillHeld { count } => Ok(Released::StillHeld { count }),
        store::Released::NotHeld { .. } => Err(ReleaseError::NotHolder),
    }
}

impl Handler<Renew> for LockManager {
    type Result = Later<Result<Duration, RenewError>>;

    fn handle(&mut self, renew: Renew, _: &mut Self::Context) -> Self::Result {
        let (reply, later) = ReplyTo::new();
        match self.leases.get(renew.token) {
            None => reply.answer(Err(RenewError::Unknown)),
            Some(lease) if lease.expired() => {
                self.forget(renew.token);
                reply.answer(Err(RenewError::Lost { reason: reason_of(lease.standing()) }));
            }
            Some(lease) => {
                self.renew_its_set(&lease);
                self.renew(lease, reply);
            }
        }
        later
    }
}

impl LockManager {
    pub(crate) fn renew(&self, lease: Arc<LeaseState>, reply: ReplyTo<Result<Duration, RenewError>>) {
        // Half of what is left: if no answer comes, there is time to ask again.
        let (hold, ttl, patience) = (lease.hold.clone(), lease.ttl(), lease.remaining() / 2);
        let (sent, manager) = (lease.asks(), Arc::clone(&self.address));
        let then = move |answer: Result<store::Renewed, StoreError>| {
            match answer {
                Ok(store::Renewed::Extended) if lease.renewed(sent) => {
                    return reply.answer(Ok(lease.remaining()));
                }
                Ok(store::Renewed::Extended) => lease.expire(),
                Ok(store::Renewed::NotHeld) => drop(lease.lose(LossReason::NotHeld)),
                Err(error) => {
                    lease.missed(&error);
                    return reply.answer(Err(RenewError::Store(error)));
                }
            }
            manager.do_send(LeaseOver { token: lease.hold.token });
            reply.answer(Err(RenewError::Lost { reason: reason_of(lease.standing()) }));
        };
        self.lanes.renewals.push(Renewing { hold, ttl, patience, then: Box::new(then) });
    }
}

/// Returns the reason why a lease that cannot be renewed is over.
fn reason_of(standing: Standing) -> LossReason {
    match standing {
        Standing::Lost(reason) => reason,
        Standing::Released | Standing::Held | Standing::AtRisk => LossReason::Released,
    }
}

impl Handler<Inspect> for LockManager {
    type Result = ResponseFuture<Result<Inspection, InspectError>>;

    fn handle(&mut self, inspect: Inspect, _: &mut Self::Context) -> Self::Result {
        let (store, outage) = (Arc::clone(&self.store), Rc::clone(&self.outage));
        Box::pin(async move {
            let resource = ResourceName::new(inspect.resource)?;
            let limit = check_limit(inspect.limit)?;
            let answer = ask("inspect", || store.inspect(&resource, limit)).await;
            Ok(outage.seen("inspect", answer)?)
        })
    }
}

impl Handler<IsHeld> for LockManager {
    type Result = ResponseFuture<Result<bool, InspectError>>;

    fn handle(&mut self, question: IsHeld, _: &mut Self::Context) -> Self::Result {
        let (store, outage) = (Arc::clone(&self.store), Rc::clone(&self.outage));
        Box::pin(async move {
            let resource = ResourceName::new(question.resource)?;
            let hold = Hold { resource, token: question.token, owner: None };
            let answer = ask("is_held", || store.is_held(&hold)).await;
            Ok(outage.seen("is_held", answer)?)
        })
    }
}

impl Handler<List> for LockManager {
    type Result = ResponseFuture<Result<Listing, InspectError>>;

    fn handle(&mut self, list: List, _: &mut Self::Context) -> Self::Result {
        let (store, outage) = (Arc::clone(&self.store), Rc::clone(&self.outage));
        Box::pin(async move {
            let limit = check_limit(list.limit)?;
            let answer = ask("list", || store.list(&list.prefix, limit)).await;
            Ok(outage.seen("list", answer)?)
        })
    }
}

impl Handler<ForceRelease> for LockManager {
    type Result = ResponseActFuture<Self, Result<u64, InspectError>>;

    fn handle(&mut self, force: ForceRelease, _: &mut Self::Context) -> Self::Result {
        let (store, outage) = (Arc::clone(&self.store), Rc::clone(&self.outage));
        let forced = async move {
            let resource = ResourceName::new(force.resource)?;
            let answer = ask("force_release", || store.force_release(&resource)).await;
            Ok((resource, outage.seen("force_release", answer)?))
        };
        Box::pin(forced.into_actor(self).map(|forced: Result<_, InspectError>, this, _| {
            let (resource, dropped) = forced?;
            tracing::info!(%resource, dropped, "released by force");
            this.opened(&resource);
            Ok(dropped)
        }))
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
