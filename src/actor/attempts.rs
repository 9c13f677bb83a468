//! The attempts of waiting requests: sent to the store, answered, scheduled again, given up.

use std::{sync::Arc, time::Duration};

use actix::{Addr, Handler, Message, StreamHandler};

use crate::{
    actor::{
        AcquireError, LockManager, give_back::Executed, shutdown::Errand, stats::RequestEnd, waiters::Last,
        wakes::Wake,
    },
    protocol::{Moment, Token, spread},
    store::{Acquired, Acquisition, Certainty, StoreError},
    world::Roll,
};

/// The time between two waiters of one queue that check for a dead holder one after the other.
const BETWEEN_WAITERS: Duration = Duration::from_millis(20);

/// The minimum time between two attempts of one waiter, however soon a holder ends.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

impl LockManager {
    /// Sends one attempt of a waiter to the store.
    pub(crate) fn attempt(&mut self, token: Token) {
        if let Some(attempt) = self.set_out(token) {
            self.lanes.attempts.push(attempt);
        }
    }

    /// Creates an attempt of a waiter, which is to be sent at once.
    pub(crate) fn set_out(&mut self, token: Token) -> Option<Attempt> {
        let waiter = self.waiters.get_mut(token)?;
        let acquisition = Arc::clone(&waiter.plan.acquisition);
        waiter.attempts += 1;
        waiter.in_flight = true;
        if !std::mem::replace(&mut waiter.stands, true) && waiter.arrival.is_some() {
            self.lines.stand(&acquisition.hold.resource, token);
        }
        self.stats.attempted();
        // Validity counts from here: before anything is queued or sent.
        Some(Attempt {
            acquisition,
            sent: self.clock.now(),
            overtook: false,
            _errand: self.shutdown.errand(),
        })
    }

    /// Makes the next attempt if it is due, or gives up if the wait is over.
    fn attempt_or_give_up(&mut self, token: Token) {
        let now = self.clock.now();
        let Some(waiter) = self.waiters.get_mut(token) else {
            return;
        };
        let left = waiter.left(now);
        if left.is_zero() {
            return self.give_up(token, RequestEnd::TimedOut);
        }
        let waits = waiter.in_flight || !waiter.stands;
        // The wait can end while an attempt is in flight.
        self.waiters.wake_after(token, left);
        if !waits {
            self.attempt(token);
        }
    }

    /// Attempts now because there is news for the waiter, or as soon as the attempt in flight is answered.
    pub(crate) fn attempt_now(&mut self, token: Token) {
        let Some(waiter) = self.waiters.get_mut(token) else {
            return;
        };
        waiter.again = waiter.in_flight;
        self.attempt_or_give_up(token);
    }

    /// Schedules the next attempt of a waiter after one that was not granted, or gives up.
    pub(crate) fn not_granted(&mut self, token: Token) {
        let roll = self.dice.roll(Roll::Attempt);
        let now = self.clock.now();
        let Some(waiter) = self.waiters.get_mut(token) else {
            return;
        };
        let left = waiter.left(now);
        let pause = waiter.plan.backoff.pause(waiter.attempts, roll);
        let Some(pause) = pause.filter(|_| !left.is_zero()) else {
            let timed_out = left.is_zero() && !waiter.plan.wait.is_zero();
            return self.give_up(token, if timed_out { RequestEnd::TimedOut } else { RequestEnd::Refused });
        };
        let looks_again = std::mem::take(&mut waiter.looks_again);
        let pause = match &waiter.last {
            Last::Refused(_, Some(_)) if looks_again => self.settings.grant_window,
            // A notification will announce its turn. Attempts only refresh its queue ticket, and detect a dead holder
            // or head: just after the end, one waiter after the other.
            Last::Refused(refusal, Some(ahead))
                if self.hears && waiter.plan.backoff.max_attempts().is_none() =>
            {
                let in_turn = BETWEEN_WAITERS.mul_f64(*ahead as f64 + roll);
                // All waiters ahead may be dead.
                let at_most = self.settings.grant_window.mul_f64(roll / 4.0);
                (refusal.remaining + in_turn.min(at_most)).min(spread(self.settings.patience / 3, roll))
            }
            // A holder that ends on its own before the pause is over is worth an attempt just after its end.
            Last::Refused(refusal, _) => pause.min(refusal.remaining + pause.mul_f64(roll / 8.0)),
            Last::Failed(_) | Last::Behind(_) | Last::Nothing => pause,
        };
        self.waiters.wake_after(token, pause.max(SHORTEST_PAUSE).min(left));
    }
}

/// One attempt in flight.
pub(crate) struct Attempt {
    pub(crate) acquisition: Arc<Acquisition>,
    sent: Moment,
    /// True if it was handed the resource although others waited for it.
    pub(crate) overtook: bool,
    /// Keeps a shutdown waiting until the answer has been handled.
    _errand: Errand,
}

/// Attempts that travelled together, with their outcomes from the store.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Attempted(pub(crate) Vec<(Attempt, Result<Acquired, StoreError>)>);

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
/// grant of the store is forgotten.
struct Handling {
    attempts: std::vec::IntoIter<(Attempt, Result<Acquired, StoreError>)>,
    current: Option<Attempt>,
    manager: Arc<Addr<LockManager>>,
}

impl Drop for Handling {
    fn drop(&mut self) {
        if let Some(current) = self.current.take() {
            let lost =
                StoreError::Lost { doing: "acquire: the lock manager panicked".to_owned(), source: None };
            let left = std::iter::once((current, Err(lost))).chain(self.attempts.by_ref()).collect();
            self.manager.do_send(Attempted(left));
        }
    }
}

impl LockManager {
    fn attempted(&mut self, attempt: &Attempt, outcome: Result<Acquired, StoreError>) {
        let Attempt { acquisition, sent, overtook, .. } = attempt;
        let sent = *sent;
        let token = acquisition.hold.token;
        // A queue ticket may outlive the TTL of the lease that it is for.
        let patience = acquisition.place.map_or(Duration::ZERO, |place| place.patience);
        let end_in_store = sent + acquisition.ttl.max(patience);
        let Some(waiter) = self.waiters.get_mut(token) else {
            // The caller has been answered, or has gone.
            return match outcome {
                Ok(Acquired::Granted(_)) => self.relinquish(acquisition, sent, None),
                Ok(Acquired::Queued { .. }) => {
                    self.give_back(acquisition.hold.clone(), Executed::Certainly, end_in_store);
                }
                Err(error) if error.certainty() == Certainty::Unknown => {
                    self.give_back(acquisition.hold.clone(), Executed::Perhaps, end_in_store);
                }
                Ok(Acquired::Refused(_) | Acquired::Full { .. }) | Err(_) => {}
            };
        };
        waiter.in_flight = false;
        match outcome {
            Ok(Acquired::Granted(grant)) => return self.granted(token, grant, (sent, *overtook)),
            Ok(Acquired::Refused(refusal)) => waiter.last = Last::Refused(refusal, None),
            Ok(Acquired::Queued { refusal, ahead }) => waiter.queued(refusal, ahead),
            Ok(Acquired::Full { waiters }) => {
                let error = AcquireError::QueueFull { waiters };
                return self.refuse(token, RequestEnd::Failed(error.kind()), error);
            }
            Err(error) => {
                if error.certainty() == Certainty::Unknown {
                    waiter.perhaps_until = Some(end_in_store);
                }
                if !error.is_transient() {
                    return self.refuse(token, RequestEnd::Failed(error.kind()), AcquireError::Store(error));
                }
                waiter.last = Last::Failed(error);
            }
        }
        if std::mem::take(&mut waiter.again) {
            return self.attempt(token);
        }
        self.not_granted(token);
    }
}

impl StreamHandler<Wake> for LockManager {
    fn handle(&mut self, wake: Wake, _: &mut Self::Context) {
        match wake {
            // The caller of an abandoned waiter is known to have gone.
            Wake::CallerGone(token) if self.waiters.is_orphaned(token) => {}
            Wake::CallerGone(token) => self.dismiss(token, RequestEnd::Cancelled),
            Wake::Grown => self.waiters.watch_grown(self.clock.now()),
            Wake::Attempt(token) => {
                self.waiters.timer_fired(token);
                self.attempt_or_give_up(token);
            }
        }
    }

    /// Does nothing: the stream of wakes has no end.
    fn finished(&mut self, _: &mut Self::Context) {}
}
