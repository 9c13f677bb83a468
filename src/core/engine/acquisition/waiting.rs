//! The waiting of an acquisition: attempts, the pauses between them, and the end of the wait.

use std::time::Duration;

use super::{Acquisition, Again, Answer, Caller, End, Event, Situation, Stage, Steps, Terms, Told};
use crate::core::{Moment, Validity, jitter};

/// The distance in time at which waiters check, one after the other, whether a holder died.
const BETWEEN_WAITERS: Duration = Duration::from_millis(20);

/// The shortest pause between two attempts, however soon a holder ends.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

impl Acquisition {
    pub(super) fn on_wait(&mut self, event: Event, here: Situation, draw: impl FnOnce() -> f64) -> Steps {
        match (event, self.stage) {
            (Event::Answered { sent, answer }, Stage::Asking { again }) => {
                self.stage = Stage::Pausing;
                self.answered(sent, answer, again, here, draw)
            }
            (Event::Unsent, Stage::Asking { .. }) => {
                self.stage = Stage::Pausing;
                self.leave(None, here.now)
            }
            // All that is left to do waits for the answer to the attempt in flight.
            _ if self.caller == Caller::Gone => Steps::default(),
            (Event::Lead, _) => self.ask(),
            // It travels with the release.
            (Event::HandOff, _) => Steps { ask: false, ..self.ask() },
            (Event::Follow(ahead), _) => {
                self.told = Told::Behind(ahead);
                Steps::default()
            }
            (Event::Due, _) => self.due(here),
            (Event::Next, Stage::Asking { again }) => self.ask_again(again.max(Again::Yes)),
            (Event::Next, _) => Steps::wake_after(self.terms.grant_window.min(self.left(here.now))),
            (Event::HandedOver, _) => {
                let steps = self.news(Again::AtOnce, here);
                Steps { is_urgent: self.is_asking(), ..steps }
            }
            (Event::Subscribed, _) => self.news(Again::Yes, here),
            (Event::GoOn, _) => {
                self.check_again = true;
                self.news(Again::Yes, here)
            }
            (Event::Disconnected, Stage::Following | Stage::Pausing) if self.ticket => self.pause(here, draw),
            (Event::CallerGone, _) if self.caller == Caller::Present => self.end(End::Cancelled, here),
            (Event::Hopeless, _) if self.caller == Caller::Present => self.end(End::Refused, here),
            (Event::QueueFull { waiters }, _) => self.end(End::QueueFull { waiters }, here),
            (Event::Dismissed, _) => self.end(End::Dismissed, here),
            (Event::LeftAlone, _) => self.leave(None, here.now),
            _ => Steps::default(),
        }
    }

    fn ask(&mut self) -> Steps {
        self.attempts += 1;
        self.stage = Stage::Asking { again: Again::No };
        Steps { ask: true, ..Steps::default() }
    }

    fn ask_again(&mut self, again: Again) -> Steps {
        let forgets = planted!("news that come during an attempt are forgotten");
        self.stage = Stage::Asking { again: if forgets { Again::No } else { again } };
        Steps::default()
    }

    /// Handles the end of a pause: the next attempt is due, or the wait is over.
    fn due(&mut self, here: Situation) -> Steps {
        let left = self.left(here.now);
        if left.is_zero() {
            return self.end(End::TimedOut, here);
        }
        let steps = if self.stage == Stage::Pausing { self.ask() } else { Steps::default() };
        // The end of the wait also counts while an attempt is in flight.
        Steps { wake_after: Some(left), ..steps }
    }

    /// Handles news: it asks now, or as soon as the attempt in flight has its answer.
    fn news(&mut self, then: Again, here: Situation) -> Steps {
        if let Stage::Asking { again } = self.stage {
            self.ask_again(again.max(then));
        }
        self.due(here)
    }

    fn answered(
        &mut self,
        sent: Moment,
        answer: Answer,
        again: Again,
        here: Situation,
        draw: impl FnOnce() -> f64,
    ) -> Steps {
        match answer {
            Answer::Granted { caller_gone, .. } => return self.granted(sent, here.now, caller_gone),
            Answer::Refused { remaining, ahead, .. } => {
                self.ticket |= ahead.is_some();
                self.told = Told::Refused { remaining, ahead };
            }
            Answer::QueueFull { waiters } => return self.end(End::QueueFull { waiters }, here),
            Answer::Failed { unknown, transient } => {
                if unknown {
                    // A ticket may outlive the lease that it is for.
                    self.unknown_until = Some(sent + self.terms.ttl.max(self.terms.ticket_ttl));
                }
                if !transient {
                    return self.end(End::Failed, here);
                }
                self.told = Told::Failed;
            }
        }
        match (self.caller, again) {
            (Caller::Gone, _) => self.leave(None, here.now),
            (_, Again::No) => self.pause(here, draw),
            (_, again) => Steps { is_urgent: again == Again::AtOnce, ..self.ask() },
        }
    }

    /// Makes a lease of a grant. If nobody receives it, or its time has run out already, it is handed off or released.
    fn granted(&mut self, sent: Moment, now: Moment, caller_gone: bool) -> Steps {
        self.ticket = false;
        let in_time = Validity::granted(sent, self.terms.ttl).is_valid(now)
            || planted!("a grant that comes too late is handed out");
        let end = match self.caller {
            Caller::Present if caller_gone => Some(End::Cancelled),
            Caller::Present if !in_time => Some(End::TooLate),
            Caller::Present => {
                self.stage = Stage::Held { since: now };
                return Steps { hold: true, leave: true, ..Steps::default() };
            }
            Caller::Abandoned | Caller::Gone => None,
        };
        self.caller = Caller::Gone;
        if planted!("the grant of a caller that went away is kept") {
            return Steps { end, leave: true, remove: true, ..Steps::default() };
        }
        let alone = self.terms.alone || planted!("a shared hold is handed off");
        let steps = self.release(now, now + self.terms.ttl, alone, now);
        Steps { end, leave: true, ..steps }
    }

    /// Pauses after an attempt without a grant, or ends the request.
    fn pause(&mut self, here: Situation, draw: impl FnOnce() -> f64) -> Steps {
        let Terms { ref pauses, grant_window, ticket_ttl, wait, .. } = self.terms;
        let (left, draw) = (self.left(here.now), draw());
        let Some(pause) = pauses.pause(self.attempts, draw).filter(|_| !left.is_zero()) else {
            let timed_out = left.is_zero() && !wait.is_zero();
            return self.end(if timed_out { End::TimedOut } else { End::Refused }, here);
        };
        let check_again = std::mem::take(&mut self.check_again);
        let pause = match self.told {
            Told::Refused { ahead: Some(_), .. } if check_again => grant_window,
            // It will be notified of its turn. Attempts only refresh its ticket, and find a holder or a head of the
            // queue that died: just after the end, one after the other.
            Told::Refused { remaining, ahead: Some(ahead) }
                if here.subscribed && !pauses.count_attempts() =>
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
    fn end(&mut self, end: End, here: Situation) -> Steps {
        match self.caller {
            Caller::Present if here.relied_on && (self.ticket || self.is_asking()) => {
                self.caller = Caller::Abandoned;
                // The timer may have been set for the end of the wait. From now on it serves the ticket alone.
                let wake_after = Some(Duration::ZERO);
                Steps { end: Some(end), abandon: true, wake_after, ..Steps::default() }
            }
            Caller::Present => self.leave(Some(end), here.now),
            Caller::Abandoned | Caller::Gone => self.leave(None, here.now),
        }
    }

    /// Leaves the cohort, and releases what the store may hold. An attempt in flight has to be answered before, or taken back.
    fn leave(&mut self, end: Option<End>, now: Moment) -> Steps {
        self.caller = Caller::Gone;
        let steps = if self.is_asking() {
            Steps::default()
        } else if self.ticket && !planted!("a waiter that gives up keeps its place") || self.has_unknown() {
            self.release(now, now + self.terms.ticket_ttl, false, now)
        } else {
            Steps { remove: true, ..Steps::default() }
        };
        Steps { end, leave: true, ..steps }
    }
}
