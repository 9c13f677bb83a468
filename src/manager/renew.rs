//! Renewals, each together with those of its set, and the start of the renewers that send them.

use std::{sync::Arc, time::Duration};

use actix::Handler;

use crate::{
    core::RecordKey,
    lease::{LeaseShared, Renew, RenewError},
    manager::{Happening, Holding, LockManager, RenewalCall, weight},
    runtime::responder::{DeferredReply, Responder},
};

impl Handler<Renew> for LockManager {
    type Result = DeferredReply<Result<Duration, RenewError>>;

    fn handle(&mut self, renew: Renew, ctx: &mut Self::Context) -> Self::Result {
        let (reply, deferred) = Responder::new();
        let record = renew.record.or_else(|| self.records.named(renew.token));
        match record.and_then(|record| self.records.lease(record)) {
            None => {
                self.count_message(ctx);
                reply.answer(Err(RenewError::NotFound));
            }
            // The renewer sent several while the manager was down.
            Some(lease) if renew.due.is_some_and(|due| lease.has_asked_since(due)) => {}
            Some(lease) => {
                self.turn.in_hand = Some(Happening::RenewalMissed(lease.record));
                if lease.expired_at(self.clock.now()) {
                    self.count_message(ctx);
                    self.lost(lease.record);
                    reply.answer(Err(lease.not_renewed()));
                } else {
                    // Not counted: those of one tick are one turn.
                    self.renew_its_set(&lease);
                    self.renew(lease, Some(reply));
                }
                self.turn.in_hand = None;
            }
        }
        deferred
    }
}

impl LockManager {
    /// Starts the renewer of a lease whose first renewal is due, unless it has one.
    pub(crate) fn start_renewer(&self, record: RecordKey) {
        self.records.with(record, |it| {
            if let Some(Holding { lease, renewer, .. }) = it.holding()
                && renewer.is_none()
            {
                *renewer = self.renewers.start(lease);
            }
        });
    }

    /// Has the renewer of a lease renew it again soon.
    pub(crate) fn renewal_missed(&self, record: RecordKey) {
        self.start_renewer(record);
        self.records.with(record, |it| {
            if let Some(Holding { renewer: Some(renewer), .. }) = it.holding() {
                renewer.missed();
            }
        });
    }

    /// Starts the renewer of a lease again, if it has one, after a time in which its timer stood still.
    pub(crate) fn restart_renewer(&self, record: RecordKey) {
        let had = self.records.with(record, |it| it.holding().and_then(|holding| holding.renewer.take()));
        if had.flatten().is_some() {
            self.start_renewer(record);
        }
    }

    /// Renews the others of a set when its first is renewed, so that they travel together.
    fn renew_its_set(&self, lease: &LeaseShared) {
        for &token in lease.set().strip_prefix(&[lease.hold().token]).unwrap_or_default() {
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
        // It may come before it is due: its holder wants it, or another of its set is renewed.
        self.start_renewer(lease.record);
        let (sent, timeout) = lease.asks();
        let weight = weight(&lease.terms.acquisition);
        let call = RenewalCall { told: lease.untold(), lease, sent, timeout, reply };
        self.sources.send(|dispatch| dispatch.renewals.push(call, weight));
    }
}
