//! Renewals, each together with those of its set.

use std::{sync::Arc, time::Duration};

use actix::Handler;

use crate::{
    lease::{RecordKey, Renew, RenewError, shared::LeaseShared},
    manager::{LockManager, dispatch::renewals::Renewing, record::weight},
    runtime::responder::{DeferredReply, Responder},
};

impl Handler<Renew> for LockManager {
    type Result = DeferredReply<Result<Duration, RenewError>>;

    fn handle(&mut self, renew: Renew, ctx: &mut Self::Context) -> Self::Result {
        self.count_message(ctx);
        let (reply, deferred) = Responder::new();
        let record = renew.record.or_else(|| self.records.named(renew.token));
        match record.and_then(|record| self.records.lease(record)) {
            None => reply.answer(Err(RenewError::NotFound)),
            Some(lease) if lease.expired() => {
                self.lost(lease.record);
                reply.answer(Err(RenewError::Lost { reason: lease.loss() }));
            }
            Some(lease) => {
                self.renew_its_set(&lease);
                self.renew(lease, Some(reply));
            }
        }
        deferred
    }
}

impl LockManager {
    /// Renews the leases that are due at this tick.
    pub(crate) fn renew_all(&mut self, records: Vec<RecordKey>) {
        let now = self.clock.now();
        for record in records {
            match self.records.lease(record) {
                Some(lease) if lease.expired_at(now) => self.lost(record),
                // One may have taken it along just now.
                Some(lease) if lease.is_to_be_sent(now) => {
                    self.renew_its_set(&lease);
                    self.renew(lease, None);
                }
                None | Some(_) => {}
            }
        }
    }

    /// Has the renewers of these leases take over, because a renewal was missed.
    pub(crate) fn leave_to_renewers(&self, records: &[RecordKey]) {
        for &record in records {
            if let Some(lease) = self.records.lease(record) {
                lease.leave_to_renewer();
                self.records.set_timer(record, Duration::ZERO);
            }
        }
    }

    /// Renews the others of a lease's set when it is renewed, so that they travel together.
    fn renew_its_set(&self, lease: &LeaseShared) {
        for &token in lease.set().iter().filter(|token| **token != lease.hold().token) {
            let other = self.records.named(token).and_then(|record| self.records.lease(record));
            if let Some(other) = other.filter(|other| other.may_come_along()) {
                self.renew(other, None);
            }
        }
    }

    pub(crate) fn renew(
        &self,
        lease: Arc<LeaseShared>,
        reply: Option<Responder<Result<Duration, RenewError>>>,
    ) {
        // Half of what is left: if no answer comes, there is time to ask again.
        let (timeout, sent) = (lease.remaining() / 2, lease.asks());
        let weight = weight(&lease.acquisition);
        self.sources
            .send(|dispatch| dispatch.renewals.push(Renewing { lease, sent, timeout, reply }, weight));
    }
}
