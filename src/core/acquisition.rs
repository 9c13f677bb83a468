//! One acquisition: from its request until its caller has an answer.
//!
//! ```text
//!  Following ──Lead, HandOff──▶ Asking ──Refused, Queued, Failed──▶ Pausing
//!      │                         │  ▲                                  │
//!      │                         │  └──────────Due, HandedOver─────────┤
//!      │                         └──Granted──▶ the lease               │
//!      └───the wait ends, the caller goes, the manager ends it─────────┴──▶ nothing stays in the store
//! ```
//!
//! The shell turns all that happens into an [`Event`], and carries out the [`Steps`] that [`Waiting::on`] returns. Each
//! stage waits for something: a timer, a call in flight, or the leader of its cohort.

mod events;

use std::time::Duration;

pub(crate) use self::events::{Answer, End, Event, Executed, Situation, Steps, Terms, Told};
use crate::core::{Moment, jitter};

/// The distance in time at which waiters check, one after the other, whether a holder died.
const BETWEEN_WAITERS: Duration = Duration::from_millis(20);

/// The shortest pause between two attempts, however soon a holder ends.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

/// An acquisition that has no answer yet.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    terms: Terms,
    stage: Stage,
    attempts: u32,
    told: Told,
    /// True if it attempts again after a grant window, unless the next answer is a grant.
    check_again: bool,
    /// True while the store may keep a queue ticket for it.
    ticket: bool,
    /// True once its caller has an answer, or has gone, and its ticket is kept for the others of its cohort.
    abandoned: bool,
    /// The end of what attempts with an unknown outcome may have left in the store.
    unknown_until: Option<Moment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It waits behind the leader of its cohort, or for its first event.
    Following,
    /// An attempt is in flight. If news came meanwhile, it may be newer than the answer: then another attempt follows.
    Asking { again: bool },
    /// A timer runs until the next attempt.
    Pausing,
}

impl Waiting {
    /// Creates an acquisition that has not begun yet.
    pub(crate) const fn new(terms: Terms) -> Self {
        Self {
            terms,
            stage: Stage::Following,
            attempts: 0,
            told: Told::Nothing,
            check_again: false,
            ticket: false,
            abandoned: false,
            unknown_until: None,
        }
    }

    /// Returns the number of attempts so far.
    pub(crate) const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns the answer that it was given last.
    pub(crate) const fn told(&self) -> Told {
        self.told
    }

    /// Returns the number of waiters that were ahead of it at the last answer.
    pub(crate) const fn ahead(&self) -> Option<u64> {
        match self.told {
            Told::Refused { ahead, .. } => ahead,
            Told::Behind(ahead) => Some(ahead),
            Told::Nothing | Told::Failed => None,
        }
    }

    /// Returns true while only the leader of its cohort asks the store.
    pub(crate) const fn is_following(&self) -> bool {
        matches!(self.stage, Stage::Following)
    }

    /// True while an attempt is in flight. With two of them it would not be clear which answer is the last.
    pub(crate) const fn is_asking(&self) -> bool {
        matches!(self.stage, Stage::Asking { .. })
    }

    /// True if the store may keep a queue ticket for it.
    pub(crate) const fn has_ticket(&self) -> bool {
        self.ticket
    }

    /// True once its caller has an answer, or has gone, and its ticket is kept for the others of its cohort.
    pub(crate) const fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// The end of what attempts with an unknown outcome may have left in the store.
    pub(crate) const fn unknown_until(&self) -> Option<Moment> {
        self.unknown_until
    }

    /// The time left of the wait.
    pub(crate) fn left(&self, now: Moment) -> Duration {
        if self.abandoned {
            // It waits for the others of its cohort, for as long as there are any.
            return self.terms.ticket_ttl;
        }
        (self.terms.asked + self.terms.wait).remaining(now)
    }

    /// Decides the steps that follow an event. `draw` returns a random number in `0.0..1.0`.
    pub(crate) fn on(
        &mut self,
        event: Event,
        now: Moment,
        draw: impl FnOnce() -> f64,
        situation: Situation,
    ) -> Steps {
        match (event, self.stage) {
            (Event::Lead, _) => self.ask(),
            (Event::HandOff, _) => {
                // It travels with the release.
                Steps { ask: false, ..self.ask() }
            }
            (Event::Follow(ahead), _) => {
                self.told = Told::Behind(ahead);
                Steps::default()
            }
            (Event::Answered { sent, answer }, Stage::Asking { again }) => {
                self.stage = Stage::Pausing;
                self.answered(sent, answer, again, now, draw, situation)
            }
            (Event::Due, _) => self.due(now, situation),
            (Event::Next, Stage::Asking { .. }) => self.ask_again(),
            (Event::Next, _) => Steps::wake_after(self.terms.grant_window.min(self.left(now))),
            (Event::HandedOver, _) => self.news(now, situation),
            (Event::GoOn, _) => {
                self.check_again = true;
                self.news(now, situation)
            }
            (Event::Disconnected, Stage::Following | Stage::Pausing) if self.ticket => {
                self.pause(now, draw, situation)
            }
            (Event::CallerGone, _) if !self.abandoned => self.end(End::Cancelled, now, situation),
            (Event::Dismissed, _) => self.end(End::Dismissed, now, situation),
            (Event::LeftAlone, _) => self.remove(None, now),
            (Event::Answered { .. } | Event::Disconnected | Event::CallerGone, _) => Steps::default(),
        }
    }

    fn ask(&mut self) -> Steps {
        self.attempts += 1;
        self.stage = Stage::Asking { again: false };
        Steps { ask: true, ..Steps::default() }
    }

    fn ask_again(&mut self) -> Steps {
        self.stage = Stage::Asking { again: true };
        Steps::default()
    }

    /// Handles the end of a pause: the next attempt is due, or the wait is over.
    fn due(&mut self, now: Moment, situation: Situation) -> Steps {
        let left = self.left(now);
        if left.is_zero() {
            return self.end(End::TimedOut, now, situation);
        }
        let steps = if self.stage == Stage::Pausing { self.ask() } else { Steps::default() };
        // The end of the wait also counts while an attempt is in flight.
        Steps { wake_after: Some(left), ..steps }
    }

    /// Handles news: it asks now, or as soon as the attempt in flight has its answer.
    fn news(&mut self, now: Moment, situation: Situation) -> Steps {
        if self.is_asking() {
            self.ask_again();
        }
        self.due(now, situation)
    }

    fn answered(
        &mut self,
        sent: Moment,
        answer: Answer,
        again: bool,
        now: Moment,
        draw: impl FnOnce() -> f64,
        situation: Situation,
    ) -> Steps {
        match answer {
            Answer::Refused { remaining, ahead } => {
                self.ticket |= ahead.is_some();
                self.told = Told::Refused { remaining, ahead };
            }
            Answer::QueueFull => return self.end(End::Failed, now, situation),
            Answer::Failed { unknown, transient } => {
                if unknown {
                    self.unknown_until = Some(self.end_in_store(sent));
                }
                if !transient {
                    return self.end(End::Failed, now, situation);
                }
                self.told = Told::Failed;
            }
        }
        if again { self.ask() } else { self.pause(now, draw, situation) }
    }

    /// The end of what an attempt may have left in the store. A ticket may outlive the lease that it is for.
    fn end_in_store(&self, sent: Moment) -> Moment {
        sent + self.terms.ttl.max(self.terms.ticket_ttl)
    }

    /// Pauses after an attempt without a grant, or ends the request.
    fn pause(&mut self, now: Moment, draw: impl FnOnce() -> f64, situation: Situation) -> Steps {
        let Terms { backoff, grant_window, ticket_ttl, wait, .. } = self.terms;
        let (left, draw) = (self.left(now), draw());
        let Some(pause) = backoff.pause(self.attempts, draw).filter(|_| !left.is_zero()) else {
            let timed_out = left.is_zero() && !wait.is_zero();
            return self.end(if timed_out { End::TimedOut } else { End::Refused }, now, situation);
        };
        let check_again = std::mem::take(&mut self.check_again);
        let pause = match self.told {
            Told::Refused { ahead: Some(_), .. } if check_again => grant_window,
            // It will be notified of its turn. Attempts only refresh its ticket, and find a holder or a head of the
            // queue that died: just after the end, one after the other.
            Told::Refused { remaining, ahead: Some(ahead) }
                if situation.subscribed && backoff.max_attempts().is_none() =>
            {
                let in_turn = BETWEEN_WAITERS.mul_f64(ahead as f64 + draw);
                // All who are ahead may be dead.
                let at_most = grant_window.mul_f64(draw / 4.0);
                (remaining + in_turn.min(at_most)).min(jitter(ticket_ttl / 3, draw))
            }
            // A holder that ends on its own before the pause is over is worth an attempt just after its end.
            Told::Refused { remaining, .. } => pause.min(remaining + pause.mul_f64(draw / 8.0)),
            Told::Failed | Told::Behind(_) | Told::Nothing => pause,
        };
        self.stage = Stage::Pausing;
        Steps::wake_after(pause.max(SHORTEST_PAUSE).min(left))
    }

    /// Ends the request. The ticket stays if others of its cohort rely on it.
    fn end(&mut self, end: End, now: Moment, situation: Situation) -> Steps {
        if self.abandoned {
            return self.remove(None, now);
        }
        if !situation.relied_on || !self.ticket && !self.is_asking() {
            return self.remove(Some(end), now);
        }
        self.abandoned = true;
        // The timer may have been set for the end of the wait. From now on it serves the ticket alone.
        Steps { end: Some(end), abandon: true, wake_after: Some(Duration::ZERO), ..Steps::default() }
    }

    /// Removes the record, and reclaims what the store may hold. An attempt in flight is reclaimed when its answer comes.
    fn remove(&mut self, end: Option<End>, now: Moment) -> Steps {
        let reclaim = match self.unknown_until {
            Some(until) => Some((Executed::Perhaps, until)),
            None => self.ticket.then(|| (Executed::Certainly, now + self.terms.ticket_ttl)),
        };
        Steps { end, remove: true, reclaim, ..Steps::default() }
    }
}

#[cfg(test)]
mod histories;
#[cfg(test)]
mod tests;
