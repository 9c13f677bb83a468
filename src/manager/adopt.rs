//! The hand-over of a lease to another manager, and its adoption there.

use std::sync::Arc;

use tokio::time::timeout;

use crate::{
    core::{LossReason, Moment, Token, Validity},
    lease::{HandOver, Lease, Release},
    manager::{Adopting, Happening, LockManager, dispatch::ask::ask},
    request::{Adopt, AdoptError, Adopted, ValidRequest},
    runtime::{env::Draw, responder::DeferredReply},
    store::{Grant, Renewed, StoreError},
};

impl LockManager {
    /// Ends a lease here, and not in the store, which the waiters of this manager ask from here on.
    pub(super) fn hand_over(&mut self, HandOver(lease): HandOver) -> Result<Moment, LossReason> {
        let now = self.clock.now();
        let end = now + lease.remaining_at(now);
        // One that is not in the table was lost, or a shutdown is releasing it.
        if self.records.lease(lease.record).is_none() || lease.end().is_some() {
            return Err(lease.end().unwrap_or(LossReason::ShutDown));
        }
        // After a panic nobody has a ticket.
        self.turn.in_hand = Happening::release_again(&Release::of(&lease));
        drop(lease.release(now));
        let Self { engine, random, .. } = self;
        engine.opened(&lease.hold().resource, now, &mut || random.draw(Draw::Attempt));
        engine.forget(lease.record);
        self.records.remove(lease.record);
        self.shutdown.set_held(self.shutdown.held - 1);
        self.carry_out(now);
        self.turn.in_hand = None;
        Ok(end)
    }

    pub(super) fn adopt(&mut self, adopt: Adopt) -> DeferredReply<Result<Lease, AdoptError>> {
        let request = self.check_adoption(&adopt);
        let grant = Grant { fence: adopt.0.fence(), holds: adopt.0.holds, slot: adopt.0.slot };
        let (calls, clock) = (self.calls.clone(), Arc::clone(&self.clock));
        let manager = Arc::clone(&self.address);
        let busy = |pending| StoreError::unavailable(format!("{pending} calls have no answer yet")).into();
        self.answer_seated(&self.single_calls.questions, true, busy, async move {
            let (request, _adopting) = request?;
            let (asked, sent) = (&request.terms.acquisition, clock.now());
            let (hold, within) = (&asked.hold, asked.ttl / 2);
            let renewed = timeout(within, ask("renew", || calls.store.renew(hold, asked.ttl)));
            let renewed = async { renewed.await.unwrap_or(Err(StoreError::timed_out(within))) };
            if calls.timed("renew", renewed).await? == Renewed::NotHeld {
                return Err(AdoptError::NotHeld);
            }
            let answer = manager.send(Adopted(request, grant, sent)).await;
            let unanswered =
                || if manager.connected() { AdoptError::AlreadyHeld } else { AdoptError::ShuttingDown };
            answer.unwrap_or_else(|_| Err(unanswered()))
        })
    }

    /// Makes the lease of a hold that the store has renewed. If nobody waits for it any more, it is released.
    pub(super) fn adopted(&mut self, Adopted(request, grant, sent): Adopted) -> Result<Lease, AdoptError> {
        let asked = Arc::clone(&request.terms.acquisition);
        let hold = &asked.hold;
        self.may_adopt(hold.token)?;
        if self.adoptions.is_over(hold.token) {
            return Err(AdoptError::NotHeld);
        }
        // After a panic nobody has the lease.
        self.turn.in_hand = Happening::release_again(&Release::new(hold.resource.as_bytes(), hold.token));
        let now = self.clock.now();
        let lease = if Validity::granted(sent, asked.ttl).is_valid(now) {
            let state = self.hold_one(*request, (sent, sent), grant, now);
            Ok(Lease::new(state, Arc::clone(&self.renewers.manager), self.calls.store.durability()))
        } else {
            Err(StoreError::timed_out(sent.elapsed(now)).into())
        };
        self.turn.in_hand = None;
        lease
    }

    fn check_adoption(&self, adopt: &Adopt) -> Result<(Box<ValidRequest>, Adopting), AdoptError> {
        let hold = adopt.0.hold()?;
        self.may_adopt(hold.token)?;
        let request = Box::new(self.check(adopt.request(&hold), hold.token, None)?);
        Ok((request, self.adoptions.begin(hold.token).ok_or(AdoptError::AlreadyHeld)?))
    }

    fn may_adopt(&self, token: Token) -> Result<(), AdoptError> {
        match self.records.named(token) {
            _ if self.shutdown.has_begun() => Err(AdoptError::ShuttingDown),
            Some(_) => Err(AdoptError::AlreadyHeld),
            None => Ok(()),
        }
    }
}
