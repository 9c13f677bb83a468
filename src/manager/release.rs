//! Releases: with a hand-off to the next waiter of the process if there is one, repeated if the outcome is unknown.

use std::{sync::Arc, time::Duration};

use actix::Handler;

use crate::{
    core::{Executed, LeaseStatus, LossReason},
    lease::{Release, ReleaseError, Released, shared::LeaseShared},
    manager::{
        LockManager,
        dispatch::{HandingOff, Releasing},
        reclaim::Reclaimer,
        resend::Resend,
        waiting::{attempts::Attempt, hand_off::is_alone},
    },
    runtime::responder::{DeferredReply, Responder},
    store::{self, Hold, StoreError},
};

impl Handler<Release> for LockManager {
    type Result = DeferredReply<Result<Released, ReleaseError>>;

    fn handle(&mut self, mut release: Release, _: &mut Self::Context) -> Self::Result {
        let (reply, deferred) = Responder::new();
        match release.resource.clone() {
            Ok(resource) => {
                let ours = self.leases.get(release.token).filter(|lease| lease.hold.resource == resource);
                release.lease = ours.or(release.lease);
                let (lease, token) = (release.lease.clone(), release.token);
                let again = Resend::of(release, &self.address);
                match lease {
                    Some(lease) => self.release_ours(lease, reply, again),
                    None => self.release_unknown(Hold { resource, token, owner: None }, reply, again),
                }
            }
            Err(error) => reply.answer(Err(error.into())),
        }
        deferred
    }
}

impl LockManager {
    fn release_ours(
        &mut self,
        lease: Arc<LeaseShared>,
        reply: Responder<Result<Released, ReleaseError>>,
        again: Resend,
    ) {
        let (reclaimer, hold) = (self.reclaimer(), lease.hold.clone());
        let (before, mut unconfirmed) = lease.release();
        // Not earlier: a lease that is lost meanwhile keeps its lock delay.
        let cooldown = lease.cooldown();
        let next = self.next_after(&lease, before);
        // Only after everything that may panic: until here the lease is still in the table.
        self.take_lease(hold.token);
        let then = move |answer: Result<store::Released, StoreError>| {
            // While an attempt with an unknown outcome may still be executed, one release is not final.
            let (executed, until) = match lease.perhaps_until() {
                Some(perhaps_until) => (Executed::Perhaps, lease.end_in_store().max(perhaps_until)),
                None => (Executed::Certainly, lease.end_in_store()),
            };
            if answer.is_err() || executed == Executed::Perhaps {
                let opening = lease.clock.now() + lease.cooldown();
                let unconfirmed = unconfirmed.take_if(|_| answer.is_err());
                let reclaimer = Reclaimer { unconfirmed, ..reclaimer };
                actix_rt::spawn(reclaimer.reclaim(lease.hold.clone(), opening, executed, until));
            }
            let answer = match (before, answer) {
                (LeaseStatus::Lost(reason), _) => Err(ReleaseError::Lost { reason }),
                (LeaseStatus::Held | LeaseStatus::AtRisk, Ok(store::Released::NotHeld { .. })) => {
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
            self.dispatch.hand_offs.push(HandingOff { from: hold, attempt, overtake, then: Box::new(then) });
        } else {
            let resource = hold.resource.clone();
            self.dispatch.releases.push(Releasing { hold, cooldown, then: Box::new(then) });
            self.mend_cohort(&resource);
        }
    }

    /// Returns the attempt to which a released lease is handed off, instead of being released in the store first, and
    /// whether the attempt may overtake others.
    fn next_after(&mut self, lease: &LeaseShared, before: LeaseStatus) -> Option<(Attempt, bool)> {
        let held = matches!(before, LeaseStatus::Held | LeaseStatus::AtRisk);
        let for_good = lease.cooldown().is_zero() && lease.perhaps_until().is_none();
        let hands_off = held && for_good && is_alone(lease.mode, &lease.hold);
        hands_off.then(|| self.start_hand_off(&lease.hold.resource)).flatten()
    }

    fn release_unknown(&self, hold: Hold, reply: Responder<Result<Released, ReleaseError>>, again: Resend) {
        let (reclaimer, now, reclaimed) = (self.reclaimer(), self.clock.now(), hold.clone());
        let end_at_the_latest = now + self.settings.limits.max_ttl;
        let then = move |answer: Result<store::Released, StoreError>| {
            if answer.is_err() {
                actix_rt::spawn(reclaimer.reclaim(reclaimed, now, Executed::Certainly, end_at_the_latest));
            }
            again.not();
            reply.answer(answer.map_err(ReleaseError::Store).and_then(released));
        };
        self.dispatch.releases.push(Releasing { hold, cooldown: Duration::ZERO, then: Box::new(then) });
    }
}

fn released(released: store::Released) -> Result<Released, ReleaseError> {
    match released {
        store::Released::Freed => Ok(Released::Freed),
        store::Released::StillHeld { count } => Ok(Released::StillHeld { count }),
        store::Released::NotHeld { .. } => Err(ReleaseError::NotHolder),
    }
}
