//! Answers to waiting requests: granted, given up, refused.

use std::sync::Arc;

use crate::{
    actor::{
        AcquireError, LockManager,
        give_back::Executed,
        local::is_alone,
        stats::RequestEnd,
        waiters::{Last, Waiter},
    },
    protocol::{Moment, ResourceName, Token},
    store::{Grant, Refusal, StoreError},
};

impl LockManager {
    /// Turns a grant into a lease and answers the caller with it. If the caller has gone, or the lease has run out
    /// already, the grant goes to the next member of the cohort or is released.
    pub(crate) fn granted(&mut self, token: Token, grant: Grant, (sent, overtook): (Moment, bool)) {
        let Some(waiter) = self.waiters.remove(token) else {
            return;
        };
        let Waiter { plan, reply, attempts, asked, perhaps_until, arrival, orphaned, .. } = waiter;
        let (hold, ttl) = (plan.acquisition.hold.clone(), plan.acquisition.ttl);
        self.lines.leave(&hold.resource, token, arrival);
        if is_alone(plan.acquisition.mode, &hold) {
            // An earlier attempt with an unknown outcome may have overtaken others.
            self.lines.granted(&hold.resource, token, overtook || perhaps_until.is_some());
        }
        if reply.is_closed() {
            if !orphaned {
                self.stats.ended(RequestEnd::Cancelled);
            }
            self.lines.over(&hold.resource, token);
            return self.relinquish(&plan.acquisition, sent, perhaps_until);
        }
        let acquisition = Arc::clone(&plan.acquisition);
        let Some(lease) = self.lease(plan, perhaps_until, sent, grant) else {
            self.stats.ended(RequestEnd::Failed("too_late"));
            reply.answer(Err(AcquireError::TooLate { ttl }));
            self.lines.over(&hold.resource, token);
            return self.relinquish(&acquisition, sent, perhaps_until);
        };
        let waited = asked.elapsed(self.clock.now());
        self.stats.ended(RequestEnd::Granted { attempts, waited });
        tracing::debug!(
            resource = %hold.resource, token = %token.prefix(), mode = %lease.mode(), fence = lease.fence().map(|f| f.get()),
            attempts, ?waited, "granted"
        );
        // If the caller has gone, `send` returns the lease.
        if let Err(Ok(lease)) = reply.send(Ok(lease)) {
            lease.return_unused();
        }
        self.keep_in_line(&hold.resource);
    }

    /// Answers a waiter whose wait, or whose attempts, are used up, with the last result that it got.
    pub(crate) fn give_up(&mut self, token: Token, end: RequestEnd) {
        let Some(waiter) = self.waiters.get_mut(token) else {
            return;
        };
        let (attempts, waited) = (waiter.attempts, waiter.asked.elapsed(self.clock.now()));
        let (ahead, resource) = (waiter.ahead(), waiter.plan.acquisition.hold.resource.clone());
        let told = match &waiter.last {
            Last::Refused(refusal, _) => Some(Ok(refusal.clone())),
            Last::Failed(error) => Some(Err(error.clone())),
            Last::Behind(_) => self.in_the_way(&resource),
            Last::Nothing => None,
        };
        let (end, error) = match told.unwrap_or(Err(StoreError::TimedOut { within: waited, server: None })) {
            Ok(Refusal { by, remaining }) => {
                (end, AcquireError::Held { by: Box::new(by), remaining, ahead, attempts, waited })
            }
            Err(error) => (RequestEnd::Failed(error.kind()), AcquireError::Store(error)),
        };
        self.refuse(token, end, error);
    }

    /// Answers a waiter with an error, and removes it.
    pub(crate) fn refuse(&mut self, token: Token, end: RequestEnd, error: AcquireError) {
        let Some(waiter) = self.waiters.get_mut(token) else {
            return;
        };
        let (hold, attempts) = (&waiter.plan.acquisition.hold, waiter.attempts);
        tracing::debug!(resource = %hold.resource, token = %token.prefix(), attempts, %error, "not granted");
        // The end is counted before the reply is sent.
        let reply = waiter.reply.clone();
        self.dismiss(token, end);
        reply.answer(Err(error));
    }

    /// Ends the request of a waiter. The waiter is removed, unless others rely on its queue ticket.
    pub(crate) fn dismiss(&mut self, token: Token, end: RequestEnd) {
        let Some(waiter) = self.waiters.get_mut(token) else {
            return;
        };
        if !waiter.orphaned {
            self.stats.ended(end);
            if self.orphaned(token) {
                return;
            }
        }
        if let Some(resource) = self.take_out(token) {
            self.keep_in_line(&resource);
        }
    }

    /// Removes a waiter, also from its cohort, and returns the resource that it waited for. Its queue ticket, and what the
    /// store may have granted to it, are released. An attempt that is still in flight is released when its answer arrives.
    pub(crate) fn take_out(&mut self, token: Token) -> Option<ResourceName> {
        let Waiter { plan, perhaps_until, placed, arrival, .. } = self.waiters.remove(token)?;
        let hold = plan.acquisition.hold.clone();
        let resource = hold.resource.clone();
        self.lines.leave(&resource, token, arrival);
        match perhaps_until {
            Some(end_in_store) => self.give_back(hold, Executed::Perhaps, end_in_store),
            None if placed => {
                self.give_back(hold, Executed::Certainly, self.clock.now() + self.settings.patience);
            }
            None => {}
        }
        Some(resource)
    }
}
