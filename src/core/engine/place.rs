//! The place of a waiter: the turns that it waits, and what is left of the wait that was expected.

use std::time::Duration;

use crate::core::{Demand, Mode, Moment};

/// The place of a waiter, as the turns that it waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The moment at which the first place was known, and its turns.
    pub(crate) first: (Moment, f64),
    /// The last place. `None` once nobody can tell how long that takes.
    last: Option<Last>,
    /// True if another waiter led it at first.
    pub(crate) followed: bool,
}

/// The last place of a waiter.
#[derive(Clone, Copy, Debug)]
struct Last {
    since: Moment,
    turns: f64,
    /// The wait that was expected then, if anything was known.
    expected: Option<Duration>,
}

impl Place {
    /// Creates the first place of a waiter.
    pub(crate) const fn new(turns: f64, followed: bool, now: Moment) -> Self {
        Self { first: (now, turns), last: None, followed }
    }

    /// Notes the turns that it waits from now on, and the time that these are expected to take.
    pub(crate) const fn update(&mut self, turns: f64, expected: Option<Duration>, now: Moment) {
        self.last = Some(Last { since: now, turns, expected });
    }

    /// Notes that nobody can tell how long it waits.
    pub(crate) const fn lose(&mut self) {
        self.last = None;
    }

    /// Returns the turns that it waits since its last place was known.
    pub(crate) fn turns(&self) -> Option<f64> {
        self.last.map(|last| last.turns)
    }

    /// Returns what is left of the expected wait. `None` if nothing is known, or if it is overdue.
    pub(crate) fn left(&self, demand: &Demand, mode: Mode, now: Moment) -> Option<Duration> {
        if self.is_overdue(demand, mode, now) {
            return None;
        }
        let last = self.last?;
        Some(last.expected(demand, mode, now)?.saturating_sub(last.since.elapsed(now)))
    }

    /// Returns true if it has waited for so much longer than was expected that somebody ahead must be stuck: twice that, and
    /// a turn. It is not if nothing was expected.
    pub(crate) fn is_overdue(&self, demand: &Demand, mode: Mode, now: Moment) -> bool {
        let Some(last) = self.last else { return true };
        let (expected, turn) = (last.expected(demand, mode, now), demand.expected(mode, 1.0, now));
        let (Some(expected), Some(turn)) = (expected, turn) else { return false };
        last.since.elapsed(now) > expected.saturating_mul(2).saturating_add(turn)
    }
}

impl Last {
    fn expected(&self, demand: &Demand, mode: Mode, now: Moment) -> Option<Duration> {
        self.expected.or_else(|| demand.expected(mode, self.turns, now))
    }
}
