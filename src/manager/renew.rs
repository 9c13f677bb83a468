//! Renewals, each together with those of its set.

use std::{sync::Arc, time::Duration};

use actix::Handler;

use crate::{
    core::{LeaseStatus, LossReason},
    lease::{Renew, RenewError, messages::LeaseOver, shared::LeaseShared},
    manager::{LockManager, dispatch::Renewing},
    runtime::responder::{DeferredReply, Responder},
    store::{self, StoreError},
};

impl Handler<Renew> for LockManager {
    type Result = DeferredReply<Result<Duration, RenewError>>;

    fn handle(&mut self, renew: Renew, _: &mut Self::Context) -> Self::Result {
        let (reply, deferred) = Responder::new();
        match self.leases.get(renew.token) {
            None => reply.answer(Err(RenewError::NotFound)),
            Some(lease) if lease.expired() => {
                self.remove_lease(renew.token);
                reply.answer(Err(RenewError::Lost { reason: reason_of(lease.status()) }));
            }
            Some(lease) => {
                self.renew_its_set(&lease);
                self.renew(lease, reply);
            }
        }
        deferred
    }
}

impl LockManager {
    /// Renews the others of a lease's set when it is renewed, so that they travel together.
    fn renew_its_set(&self, lease: &LeaseShared) {
        for &token in lease.set().iter().filter(|token| **token != lease.hold.token) {
            if let Some(other) = self.leases.get(token).filter(|other| other.may_come_along()) {
                let (reply, _nobody) = Responder::new();
                self.renew(other, reply);
            }
        }
    }

    fn renew(&self, lease: Arc<LeaseShared>, reply: Responder<Result<Duration, RenewError>>) {
        // Half of what is left: if no answer comes, there is time to ask again.
        let (hold, ttl, timeout) = (lease.hold.clone(), lease.ttl(), lease.remaining() / 2);
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
            reply.answer(Err(RenewError::Lost { reason: reason_of(lease.status()) }));
        };
        self.dispatch.renewals.push(Renewing { hold, ttl, timeout, then: Box::new(then) });
    }
}

/// Returns the reason why a lease that cannot be renewed is over.
fn reason_of(status: LeaseStatus) -> LossReason {
    match status {
        LeaseStatus::Lost(reason) => reason,
        LeaseStatus::Released | LeaseStatus::Held | LeaseStatus::AtRisk => LossReason::Released,
    }
}
