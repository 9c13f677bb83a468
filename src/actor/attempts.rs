//! The attempts of those who wait: sent to the store, answered, scheduled again, given up.

use std::{sync::Arc, time::Duration};

use actix::{Handler, Message, StreamHandler};

use crate::{
    actor::{
        AcquireError, Lease, LockManager,
        give_back::Executed,
        shutdown::Errand,
        state::{LeaseState, Terms},
        stats::RequestEnd,
        waiters::{Last, Waiter, Wake},
    },
    protocol::{Moment, Token, spread},
    store::{Acquired, Acquisition, Certainty, Grant, StoreError},
    world::Roll,
};

/// How long after one another those that wait look for a holder that died.
const BETWEEN_WAITERS: Duration = Duration::from_millis(20);

/// However soon a holder ends: attempts of one waiter are at least this far apart.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

impl LockManager {
    /// Sends one attempt of a waiter to the store.
    pub(crate) fn attempt(&mut self, token: Token) {
        let Some(waiter) = self.waiters.get_mut(token) else {
            return;
        };
        waiter.attempts += 1;
        waiter.in_flight = true;
        self.stats.attempted();
        let (acquisition, errand) = (Arc::clone(&waiter.plan.acquisition), self.shutdown.errand());
        // Validity counts from here: before anything is queued or sent.
        let sent = self.clock.now();
        self.lanes.attempts.push(Attempt { acquisition, sent, errand });
    }

    /// The next attempt is due, or the wait is over.
    fn attempt_or_give_up(&mut self, token: Token) {
        let now = self.clock.now();
        let Some(waiter) = self.waiters.get_mut(token) else {
            return;
        };
        let left = waiter.deadline().remaining(now);
        if left.is_zero() {
            return self.give_up(token, RequestEnd::TimedOut);
        }
        let in_flight = waiter.in_flight;
        // While an attempt is on its way, the end of the wait still stands.
        self.waiters.wake_after(token, left);
        if !in_flight {
            self.attempt(token);
        }
    }

    /// There is news for a waiter: it attempts now, or as soon as the attempt that is on its way has its answer.
    pub(crate) fn attempt_now(&mut self, token: Token) {
        let Some(waiter) = self.waiters.get_mut(token) else {
            return;
        };
        waiter.again = waiter.in_flight;
        self.attempt_or_give_up(token);
    }

    fn granted(&mut self, token: Token, grant: Grant, sent: Moment) {
        let Some(waiter) = self.waiters.remove(token) else {
            return;
        };
        let Waiter { plan, reply, attempts, asked, perhaps_until, .. } = waiter;
        let (hold, ttl) = (plan.acquisition.hold.clone(), plan.acquisition.ttl);
        let terms = Terms {
            hold: plan.acquisition.hold.clone(),
            mode: plan.acquisition.mode,
            ttl,
            plan: plan.renewal,
            min_hold: plan.min_hold,
            perhaps_until,
            events: plan.events,
        };
        if reply.is_closed() {
            self.give_back(hold, Executed::Certainly, sent + ttl);
            return self.stats.ended(RequestEnd::Cancelled);
        }
        let (clock, stats) = (Arc::clone(&self.clock), Arc::clone(&self.stats));
        let Some(state) = LeaseState::granted(terms, sent, (grant.fence, grant.holds), clock, stats) else {
            self.give_back(hold, Executed::Certainly, sent + ttl);
            self.stats.ended(RequestEnd::Failed("too_late"));
            return drop(reply.send(Err(AcquireError::TooLate { ttl })));
        };
        let state = Arc::new(state);
        let waited = asked.elapsed(self.clock.now());
        self.stats.ended(RequestEnd::Granted { attempts, waited });
        tracing::debug!(
            resource = %hold.resource, token = %token.prefix(), mode = %state.mode, fence = state.fence.map(|f| f.get()),
            attempts, ?waited, "granted"
        );
        state.tell_granted();
        self.leases.insert(Arc::clone(&state), plan.bound_to);
        // If the caller has gone, the lease comes back unsent, and dropping it gives it back.
        drop(reply.send(Ok(Lease::new(state, Arc::clone(&self.address)))));
    }

    /// Decides what a waiter does after an attempt that got it nothing: pause and attempt again, or give up.
    pub(crate) fn not_granted(&mut self, token: Token) {
        let roll = self.dice.roll(Roll::Attempt);
        let now = self.clock.now();
        let Some(waiter) = self.waiters.get_mut(token) else {
            return;
        };
        let left = waiter.deadline().remaining(now);
        let pause = waiter.plan.backoff.pause(waiter.attempts, roll);
        let Some(pause) = pause.filter(|_| !left.is_zero()) else {
            let timed_out = left.is_zero() && !waiter.plan.wait.is_zero();
            return self.give_up(token, if timed_out { RequestEnd::TimedOut } else { RequestEnd::Refused });
        };
        let pause = match &waiter.last {
            // Its turn will be announced. Attempts only refresh its place, and find a holder or a head that died: just
            // after the end, one after the other.
            Last::Refused(refusal, Some(ahead))
                if self.hears && waiter.plan.backoff.max_attempts().is_none() =>
            {
                let in_turn = BETWEEN_WAITERS.mul_f64(*ahead as f64 + roll);
                (refusal.remaining + in_turn).min(spread(self.settings.patience / 3, roll))
            }
            // A holder that ends on its own before the pause is over is worth an attempt just after its end.
            Last::Refused(refusal, _) => pause.min(refusal.remaining + pause.mul_f64(roll / 8.0)),
            Last::Failed(_) | Last::Nothing => pause,
        };
        self.waiters.wake_after(token, pause.max(SHORTEST_PAUSE).min(left));
    }

    /// Answers a waiter whose wait, or whose attempts, are used up, with what it was told last.
    fn give_up(&mut self, token: Token, end: RequestEnd) {
        let Some(waiter) = self.waiters.get_mut(token) else {
            return;
        };
        let waited = waiter.asked.elapsed(self.clock.now());
        let (end, error) = match std::mem::replace(&mut waiter.last, Last::Nothing) {
            Last::Refused(refusal, ahead) => {
                let (by, remaining) = (Box::new(refusal.by), refusal.remaining);
                (end, AcquireError::Held { by, remaining, ahead, attempts: waiter.attempts, waited })
            }
            Last::Failed(error) => (RequestEnd::Failed(error.kind()), AcquireError::Store(error)),
            Last::Nothing => {
                let error = StoreError::TimedOut { within: waited };
                (RequestEnd::Failed(error.kind()), AcquireError::Store(error))
            }
        };
        self.refuse(token, end, error);
    }

    /// Takes a waiter out and answers it.
    pub(crate) fn refuse(&mut self, token: Token, end: RequestEnd, error: AcquireError) {
        let Some(waiter) = self.dismiss(token, end) else {
            return;
        };
        let hold = &waiter.plan.acquisition.hold;
        tracing::debug!(
            resource = %hold.resource, token = %token.prefix(), attempts = waiter.attempts, %error, "not granted"
        );
        // A caller that has gone needs no answer.
        drop(waiter.reply.send(Err(error)));
    }

    /// Takes a waiter out. Its place in the queue, and what the store may have granted to it, is given back; an attempt
    /// that is still on its way is when its answer comes.
    fn dismiss(&mut self, token: Token, end: RequestEnd) -> Option<Waiter> {
        let waiter = self.waiters.remove(token)?;
        let hold = waiter.plan.acquisition.hold.clone();
        match waiter.perhaps_until {
            Some(end_in_store) => self.give_back(hold, Executed::Perhaps, end_in_store),
            None if waiter.placed => {
                self.give_back(hold, Executed::Certainly, self.clock.now() + self.settings.patience);
            }
            None => {}
        }
        self.stats.ended(end);
        Some(waiter)
    }
}

/// One attempt on its way.
pub(crate) struct Attempt {
    pub(crate) acquisition: Arc<Acquisition>,
    sent: Moment,
    errand: Errand,
}

/// Attempts that travelled together, back from the store.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Attempted(pub(crate) Vec<(Attempt, Result<Acquired, StoreError>)>);

impl Handler<Attempted> for LockManager {
    type Result = ();

    fn handle(&mut self, Attempted(attempts): Attempted, _: &mut Self::Context) {
        for (attempt, outcome) in attempts {
            self.attempted(attempt, outcome);
        }
    }
}

impl LockManager {
    fn attempted(&mut self, attempt: Attempt, outcome: Result<Acquired, StoreError>) {
        let Attempt { acquisition, sent, errand: _until_handled } = attempt;
        let token = acquisition.hold.token;
        let end_in_store = sent + acquisition.ttl;
        let Some(waiter) = self.waiters.get_mut(token) else {
            // Whoever asked has been answered, or has gone.
            return match outcome {
                Ok(Acquired::Granted(_) | Acquired::Queued { .. }) => {
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
            Ok(Acquired::Granted(grant)) => return self.granted(token, grant, sent),
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
            Wake::CallerGone(token) => drop(self.dismiss(token, RequestEnd::Cancelled)),
            Wake::Attempt(token) => {
                self.waiters.timer_fired(token);
                self.attempt_or_give_up(token);
            }
        }
    }

    /// The wakes have no end.
    fn finished(&mut self, _: &mut Self::Context) {}
}
