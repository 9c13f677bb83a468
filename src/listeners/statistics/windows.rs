//! The last minute and the last hour: a ring of steps each, of which the oldest is forgotten when a new one begins.

use std::time::Duration;

use super::tally::{RunningSummary, Summary};
use crate::{core::Moment, listeners::event::LockEvent};

const STEPS: u32 = 12;

/// A window, as its steps: the whole ones, and the one that is being filled. It has 34 KiB, which are allocated once.
#[derive(Clone)]
pub(crate) struct Window {
    step: Duration,
    tallies: Vec<RunningSummary>,
    current: usize,
    /// The beginning of the current step; `None` until the time is known.
    began: Option<Moment>,
}

impl Window {
    /// The last minute, and the last hour.
    pub(super) fn all() -> [Self; 2] {
        [60, 3600].map(|secs| {
            let tallies = vec![RunningSummary::default(); STEPS as usize + 1];
            Self { step: Duration::from_secs(secs) / STEPS, tallies, current: 0, began: None }
        })
    }

    pub(super) fn note(&mut self, event: &LockEvent<'_>) {
        self.tallies[self.current].note(event);
    }

    /// Forgets what is too old by now. What is noted afterwards counts as of now.
    pub(crate) fn advance(&mut self, now: Moment) {
        let mut began = self.began.unwrap_or(now);
        // After a longer time all steps are empty, however many they were.
        for _ in 0..self.tallies.len() {
            if began.elapsed(now) < self.step {
                break;
            }
            began = began + self.step;
            self.current = (self.current + 1) % self.tallies.len();
            self.tallies[self.current] = RunningSummary::default();
        }
        self.began = Some(if began.elapsed(now) < self.step { began } else { now });
    }

    /// Adds what another window knows to the current step.
    #[cfg(feature = "actix-web")]
    pub(super) fn add(&mut self, other: &Self) {
        self.tallies[self.current].add(&other.sum());
    }

    pub(crate) fn summary(&self) -> Summary {
        self.sum().summary()
    }

    fn sum(&self) -> RunningSummary {
        let mut sum = RunningSummary::default();
        self.tallies.iter().for_each(|tally| sum.add(tally));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::made_up::at_secs as at;

    /// The requests that the two windows know at this time, after which so many more come.
    fn requests(windows: &mut [Window; 2], secs: u64, more: usize) -> [u64; 2] {
        windows.each_mut().map(|window| {
            window.advance(at(secs));
            let known = window.summary().requests;
            (0..more).for_each(|_| window.note(&LockEvent::Requested(None)));
            known
        })
    }

    #[test]
    fn a_window_forgets_what_is_older_and_nothing_that_is_younger_also_after_a_long_silence() {
        let mut windows = Window::all();
        for (secs, more, known) in [
            (1_000, 1, [0, 0]),
            (1_004, 1, [1, 1]),
            (1_064, 0, [2, 2]),
            (1_065, 0, [0, 2]),
            (1_000 + 3_899, 0, [0, 2]),
            (1_000 + 3_900, 1, [0, 0]),
            (1_000_000, 1, [0, 0]),
            (1_000_059, 0, [1, 1]),
        ] {
            assert_eq!(requests(&mut windows, secs, more), known, "{secs}");
        }
    }
}
