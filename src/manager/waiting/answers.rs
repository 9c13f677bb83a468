//! The answers to waiters: a lease, or the reason for none.

use std::sync::Arc;

use crate::{
    core::{End, Executed, Moment, Token, Told},
    lease::Lease,
    manager::{
        LockManager,
        waiting::{hand_off::is_alone, waiters::Waiter},
    },
    request::AcquireError,
    runtime::responder::Responder,
    statistics::RequestEnd,
    store::{Grant, Refusal, StoreError},
};

/// A caller, and the error that it is to be told.
type Refused = (Responder<Result<Lease, AcquireError>>, AcquireError);

impl LockManager {
    /// Turns a grant into a lease and answers the caller with it. If the caller has gone, or the lease has run out
    /// already, the grant is handed off to the next member of the cohort, or released.
    pub(crate) fn granted(&mut self, token: Token, grant: Grant, (sent, overtook): (Moment, bool)) {
        let Some(waiter) = self.waiters.remove(token) else {
            return;
        };
        let Waiter { request, reply, waiting, asked, arrival, .. } = waiter;
        let (attempts, unknown_until) = (waiting.attempts(), waiting.unknown_until());
        let (hold, ttl) = (request.acquisition.hold.clone(), request.acquisition.ttl);
        self.cohorts.remove(&hold.resource, token, arrival);
        if is_alone(request.acquisition.mode, &hold) {
            // An earlier attempt with an unknown outcome may have overtaken others.
            self.cohorts.granted(&hold.resource, token, overtook || unknown_until.is_some());
        }
        if reply.is_closed() {
            if !waiting.is_abandoned() {
                self.stats.ended(RequestEnd::Cancelled);
            }
            self.cohorts.released(&hold.resource, token);
            return self.hand_off_or_release(&request.acquisition, sent, unknown_until);
        }
        let acquisition = Arc::clone(&request.acquisition);
        let Some(lease) = self.lease(request, unknown_until, sent, grant) else {
            self.stats.ended(RequestEnd::Failed("too_late"));
            reply.answer(Err(AcquireError::TooLate { ttl }));
            self.cohorts.released(&hold.resource, token);
            return self.hand_off_or_release(&acquisition, sent, unknown_until);
        };
        let waited = asked.elapsed(self.clock.now());
        self.stats.ended(RequestEnd::Granted { attempts, waited });
        tracing::debug!(
            resource = %hold.resource, token = %token.prefix(), mode = %lease.mode(), fence = lease.fence().map(|f| f.get()),
            attempts, ?waited, "granted"
        );
        // If the caller has gone, the lease comes back unsent.
        if let Err(Ok(lease)) = reply.send(Ok(lease)) {
            lease.return_unused();
        }
        self.mend_cohort(&hold.resource);
    }

    /// Counts the end of a request. Returns the caller and its error; the caller is told last of all.
    pub(crate) fn ended(
        &mut self,
        token: Token,
        end: End,
        failure: Option<AcquireError>,
        now: Moment,
    ) -> Option<Refused> {
        if end == End::Cancelled {
            self.stats.ended(RequestEnd::Cancelled);
            return None;
        }
        let (counted, error) = match failure {
            Some(error) => (RequestEnd::Failed(error.kind()), error),
            None => self.last_answer(token, end, now)?,
        };
        self.stats.ended(counted);
        let waiter = self.waiters.get_mut(token)?;
        let (hold, attempts) = (&waiter.request.acquisition.hold, waiter.waiting.attempts());
        tracing::debug!(resource = %hold.resource, token = %token.prefix(), attempts, %error, "not granted");
        Some((waiter.reply.clone(), error))
    }

    /// Returns the error of a waiter whose wait, or whose attempts, are used up: the last result that it got.
    fn last_answer(&mut self, token: Token, end: End, now: Moment) -> Option<(RequestEnd, AcquireError)> {
        let waiter = self.waiters.get_mut(token)?;
        let (attempts, waited) = (waiter.waiting.attempts(), waiter.asked.elapsed(now));
        let (ahead, answer) = (waiter.waiting.ahead(), waiter.answer.clone());
        let answer = match waiter.waiting.told() {
            Told::Behind(_) => {
                let resource = waiter.request.acquisition.hold.resource.clone();
                self.in_the_way(&resource)
            }
            Told::Nothing | Told::Refused { .. } | Told::Failed => answer,
        };
        Some(match answer.unwrap_or(Err(StoreError::timed_out(waited))) {
            Ok(Refusal { by, remaining }) => {
                let end = if end == End::TimedOut { RequestEnd::TimedOut } else { RequestEnd::Refused };
                (end, AcquireError::Held { by: Box::new(by), remaining, ahead, attempts, waited })
            }
            Err(error) => (RequestEnd::Failed(error.kind()), AcquireError::Store(error)),
        })
    }

    /// Keeps the queue ticket of a waiter, without its caller, for its cohort.
    pub(crate) fn abandon(&mut self, token: Token) {
        if let Some(waiter) = self.waiters.get_mut(token)
            && let Some(arrival) = waiter.arrival.take()
        {
            self.cohorts.abandon(&waiter.request.acquisition.hold.resource, arrival);
        }
    }

    /// Removes a waiter, also from its cohort, and releases what the store may hold for it. An attempt that is still in
    /// flight is released when its answer arrives.
    pub(crate) fn remove_waiter(&mut self, token: Token, reclaim: Option<(Executed, Moment)>) {
        let Some(Waiter { request, arrival, .. }) = self.waiters.remove(token) else {
            return;
        };
        let hold = &request.acquisition.hold;
        self.cohorts.remove(&hold.resource, token, arrival);
        if let Some((executed, until)) = reclaim {
            self.reclaim(hold.clone(), executed, until);
        }
        self.mend_cohort(&hold.resource);
    }
}
