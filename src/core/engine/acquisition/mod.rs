//! One acquisition: from its request until its release is certain.
//!
//! ```text
//!  Following ──Lead, HandOff──▶ Asking ──Refused, Queued, Failed──▶ Pausing
//!      │                         │  ▲                                  │
//!      │                         │  └──────────Due, HandedOver─────────┤
//!      │                         └──Granted──▶ Held                    │
//!      │                                        │ Release, Lost        │
//!      └───the wait ends, the caller goes───────┼──────────────────────┘
//!                                               ▼
//!                           over ◀──certain── Releasing ──failed, or perhaps not the last──▶ Repeating
//!                                               ▲                                                │
//!                                               └──────────────────────Due───────────────────────┘
//! ```
//!
//! The engine turns all that happens into an [`Event`], and follows the [`Steps`] that [`Acquisition::on`] returns.
//! Each stage waits for something: a timer, one call in flight, the leader of its cohort, or the holder.

mod events;
mod release;
mod waiting;

use std::time::Duration;

pub(crate) use self::events::{Answer, End, Event, Front, ReleaseStep, Situation, Steps, Terms, Told};
use crate::core::{Doubling, Moment};

#[derive(Clone, Debug)]
pub(crate) struct Acquisition {
    pub(super) terms: Terms,
    stage: Stage,
    caller: Caller,
    pub(crate) attempts: u32,
    pub(super) told: Told,
    /// True if it attempts again after a grant window, unless the next answer is a grant.
    check_again: bool,
    /// True while the store may keep a queue ticket for it.
    ticket: bool,
    /// The end of what attempts with an unknown outcome may have left in the store.
    unknown_until: Option<Moment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It waits behind the leader of its cohort, or for its first event.
    Following,
    /// An attempt is in flight, or waits to be sent.
    Asking { again: Again },
    /// A timer runs until the next attempt.
    Pausing,
    /// Its caller has the lease, since then.
    Held { since: Moment },
    /// A release is in flight.
    Releasing(Repeats),
    /// A timer runs until the next release.
    Repeating(Repeats),
}

/// The attempt that follows the one in flight. News that came meanwhile may be newer than the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Again {
    No,
    Yes,
    /// The store has handed over the resource, and waits for it.
    AtOnce,
}

/// A release, and what is known about its repetition.
///
/// An acquisition with an unknown outcome may be executed *after* a release: a server that was stopped works off what is
/// left in its sockets. An answer is therefore final only if the acquisition was certainly executed before. Even a
/// confirmed release is not final: of two attempts with the same token, the other may still be in flight. The pauses
/// double, so that a TTL of a day costs two dozen releases. A ghost lives for about as long as it was late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Repeats {
    opening: Moment,
    /// The moment at which the store has ended everything in any case.
    end: Moment,
    pauses: Doubling,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    /// It waits for an answer, or has its lease.
    Present,
    /// It has an answer, or has gone, and the ticket is kept for the others of its cohort.
    Abandoned,
    /// It has an answer, or has gone.
    Gone,
}

impl Acquisition {
    /// Creates an acquisition that has not begun yet.
    pub(crate) const fn new(terms: Terms) -> Self {
        Self {
            terms,
            stage: Stage::Following,
            caller: Caller::Present,
            attempts: 0,
            told: Told::Nothing,
            check_again: false,
            ticket: false,
            unknown_until: None,
        }
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

    /// Returns true while an attempt is in flight, or waits to be sent.
    pub(crate) const fn is_asking(&self) -> bool {
        matches!(self.stage, Stage::Asking { .. })
    }

    /// Returns the age of its lease, while it is held.
    pub(crate) fn held_for(&self, now: Moment) -> Option<Duration> {
        if let Stage::Held { since } = self.stage { Some(since.elapsed(now)) } else { None }
    }

    /// Returns true while its caller has the lease.
    pub(crate) const fn is_held(&self) -> bool {
        matches!(self.stage, Stage::Held { .. })
    }

    /// Returns true if it may wait in a cohort. A limited number of attempts ends the wait by itself, and another waiter
    /// cannot use them up for it.
    pub(crate) const fn joins_cohort(&self) -> bool {
        self.terms.alone && !self.is_try() && !self.terms.pauses.count_attempts()
    }

    /// Returns true if it waits, and the store may keep a queue ticket for it.
    pub(crate) const fn has_ticket(&self) -> bool {
        self.ticket && matches!(self.stage, Stage::Following | Stage::Asking { .. } | Stage::Pausing)
    }

    /// Returns true if an attempt with an unknown outcome may have overtaken others.
    pub(crate) const fn has_unknown(&self) -> bool {
        self.unknown_until.is_some()
    }

    /// Returns true until its request has ended: its caller waits for it.
    pub(crate) const fn has_caller(&self) -> bool {
        matches!(self.caller, Caller::Present)
    }

    pub(crate) fn waited(&self, now: Moment) -> Duration {
        self.terms.asked.elapsed(now)
    }

    pub(crate) const fn is_try(&self) -> bool {
        self.terms.wait.is_zero()
    }

    /// Returns the time left of the wait.
    pub(crate) fn left(&self, now: Moment) -> Duration {
        match self.caller {
            Caller::Present => (self.terms.asked + self.terms.wait).remaining(now),
            // It waits for the others of its cohort, for as long as there are any.
            Caller::Abandoned | Caller::Gone => self.terms.ticket_ttl,
        }
    }

    /// Decides the steps that follow an event. `draw` returns a random number in `0.0..1.0`.
    pub(crate) fn on(&mut self, event: Event, here: Situation, draw: impl FnOnce() -> f64) -> Steps {
        match self.stage {
            Stage::Following | Stage::Asking { .. } | Stage::Pausing => self.on_wait(event, here, draw),
            Stage::Held { .. } => self.on_lease(event, here.now),
            Stage::Releasing(repeats) | Stage::Repeating(repeats) => {
                self.on_release(repeats, event, here.now)
            }
        }
    }
}

#[cfg(test)]
mod tests;
