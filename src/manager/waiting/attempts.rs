//! The attempts of waiters: sent to the store, and answered.

use std::{sync::Arc, time::Duration};

use actix::{Addr, Handler, Message};

use crate::{
    core::{Answer, Event, Executed, Moment, Token},
    manager::{LockManager, shutdown::InFlight},
    request::AcquireError,
    store::{Acquired, Acquisition, Certainty, StoreError},
};

/// One attempt in flight.
pub(crate) struct Attempt {
    pub(crate) acquisition: Arc<Acquisition>,
    sent: Moment,
    /// True if it was handed the resource although others waited for it.
    pub(crate) overtook: bool,
    /// Keeps a shutdown waiting until the answer has been handled.
    _in_flight: InFlight,
}

/// Attempts that travelled together, with their outcomes from the store.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Attempted(pub(crate) Vec<(Attempt, Result<Acquired, StoreError>)>);

impl LockManager {
    /// Creates the attempt of a waiter that decided to ask. If it `followed` until now, it leads its cohort from now on.
    pub(crate) fn start_attempt(&mut self, token: Token, followed: bool) -> Option<Attempt> {
        let waiter = self.waiters.get_mut(token)?;
        let acquisition = Arc::clone(&waiter.request.acquisition);
        if followed && waiter.arrival.is_some() {
            self.cohorts.lead(&acquisition.hold.resource, token);
        }
        self.stats.attempted();
        // Validity counts from here: before anything is queued or sent.
        Some(Attempt {
            acquisition,
            sent: self.clock.now(),
            overtook: false,
            _in_flight: self.shutdown.in_flight(),
        })
    }
}

impl Handler<Attempted> for LockManager {
    type Result = ();

    fn handle(&mut self, Attempted(attempts): Attempted, _: &mut Self::Context) {
        let mut handling =
            Handling { attempts: attempts.into_iter(), current: None, manager: Arc::clone(&self.address) };
        for (attempt, outcome) in handling.attempts.by_ref() {
            let attempt = handling.current.insert(attempt);
            self.attempted(attempt, outcome);
            handling.current = None;
        }
    }
}

/// Attempts that are being handled. If that panics, they are sent again to the manager, which is restarted: no
/// grant of the store is lost.
struct Handling {
    attempts: std::vec::IntoIter<(Attempt, Result<Acquired, StoreError>)>,
    current: Option<Attempt>,
    manager: Arc<Addr<LockManager>>,
}

impl Drop for Handling {
    fn drop(&mut self) {
        if let Some(current) = self.current.take() {
            let lost = StoreError::reply_lost("acquire: the lock manager panicked");
            let left = std::iter::once((current, Err(lost))).chain(self.attempts.by_ref()).collect();
            self.manager.do_send(Attempted(left));
        }
    }
}

impl LockManager {
    fn attempted(&mut self, attempt: &Attempt, outcome: Result<Acquired, StoreError>) {
        let (token, sent) = (attempt.acquisition.hold.token, attempt.sent);
        let Some(waiter) = self.waiters.get_mut(token) else {
            return self.answered_late(attempt, &outcome);
        };
        let mut failure = None;
        let answer = match outcome {
            Ok(Acquired::Granted(grant)) => return self.granted(token, grant, (sent, attempt.overtook)),
            Ok(Acquired::Refused(refusal)) => {
                let remaining = refusal.remaining;
                waiter.answer = Some(Ok(refusal));
                Answer::Refused { remaining, ahead: None }
            }
            Ok(Acquired::Queued { refusal, ahead }) => {
                if waiter.waiting.ahead() != Some(ahead) {
                    waiter.tell_queued(ahead);
                }
                let remaining = refusal.remaining;
                waiter.answer = Some(Ok(refusal));
                Answer::Refused { remaining, ahead: Some(ahead) }
            }
            Ok(Acquired::Full { waiters }) => {
                failure = Some(AcquireError::QueueFull { waiters });
                Answer::QueueFull
            }
            Err(error) => {
                let unknown = error.certainty() == Certainty::Unknown;
                let transient = error.is_transient();
                if transient {
                    waiter.answer = Some(Err(error));
                } else {
                    failure = Some(AcquireError::Store(error));
                }
                Answer::Failed { unknown, transient }
            }
        };
        self.on_or_fail(token, Event::Answered { sent, answer }, failure);
    }

    /// Reclaims what the store may hold after a late answer, whose caller has been answered or has gone.
    fn answered_late(
        &mut self,
        Attempt { acquisition, sent, .. }: &Attempt,
        outcome: &Result<Acquired, StoreError>,
    ) {
        // A ticket may outlive the lease that it is for.
        let ticket_ttl = acquisition.ticket.map_or(Duration::ZERO, |ticket| ticket.ttl);
        let end_in_store = *sent + acquisition.ttl.max(ticket_ttl);
        match outcome {
            Ok(Acquired::Granted(_)) => self.hand_off_or_release(acquisition, *sent, None),
            Ok(Acquired::Queued { .. }) => {
                self.reclaim(acquisition.hold.clone(), Executed::Certainly, end_in_store);
            }
            Err(error) if error.certainty() == Certainty::Unknown => {
                self.reclaim(acquisition.hold.clone(), Executed::Perhaps, end_in_store);
            }
            Ok(Acquired::Refused(_) | Acquired::Full { .. }) | Err(_) => {}
        }
    }
}
