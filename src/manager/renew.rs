//! Renewals, each together with those of its set.

use std::sync::Arc;

use actix::Handler;

use crate::{
    core::{LeaseStatus, LossReason},
    lease::{Renew, RenewError, shared::LeaseShared},
    manager::{
        LockManager,
        dispatch::Renewing,
        happening::{RenewReply, Renewal},
    },
    runtime::responder::{DeferredReply, Responder},
    store::{Renewed, StoreError},
};

impl Handler<Renew> for LockManager {
    type Result = DeferredReply<RenewReply>;

    fn handle(&mut self, renew: Renew, _: &mut Self::Context) -> Self::Result {
        let (reply, deferred) = Responder::new();
        let record = renew.record.or_else(|| self.records.named(renew.token));
        match record.and_then(|record| self.records.lease(record)) {
            None => reply.answer(Err(RenewError::NotFound)),
            Some(lease) if lease.expired() => {
                self.lost(lease.record);
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
        for &token in lease.set().iter().filter(|token| **token != lease.hold().token) {
            let other = self.records.named(token).and_then(|record| self.records.lease(record));
            if let Some(other) = other.filter(|other| other.may_come_along()) {
                let (reply, _nobody) = Responder::new();
                self.renew(other, reply);
            }
        }
    }

    pub(crate) fn renew(&self, lease: Arc<LeaseShared>, reply: Responder<RenewReply>) {
        // Half of what is left: if no answer comes, there is time to ask again.
        let (timeout, sent) = (lease.remaining() / 2, lease.asks());
        let renewal = Renewal { lease, sent, reply };
        self.sources.send(|dispatch| dispatch.renewals.push(Renewing { renewal, timeout }));
    }

    /// Handles the answer to a renewal.
    pub(crate) fn renewed(&mut self, renewal: Renewal, answer: Result<Renewed, StoreError>) {
        let Renewal { lease, sent, reply } = renewal;
        let late = planted!("validity counted from the reply to a renewal");
        let sent = if late { self.clock.now() } else { sent };
        match answer {
            Ok(Renewed::Extended) if lease.renewed(sent) => return reply.answer(Ok(lease.remaining())),
            Ok(Renewed::Extended) => lease.expire(),
            Ok(Renewed::NotHeld) => drop(lease.lose(LossReason::NotHeld)),
            Err(error) => {
                lease.missed(&error);
                return reply.answer(Err(RenewError::Store(error)));
            }
        }
        self.lost(lease.record);
        reply.answer(Err(RenewError::Lost { reason: reason_of(lease.status()) }));
    }
}

/// Returns the reason why a lease that cannot be renewed is over.
fn reason_of(status: LeaseStatus) -> LossReason {
    match status {
        LeaseStatus::Lost(reason) => reason,
        LeaseStatus::Released | LeaseStatus::Held | LeaseStatus::AtRisk => LossReason::Released,
    }
}
