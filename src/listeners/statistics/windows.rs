//! The last minute and the last hour: a ring of steps each, of which the oldest is forgotten when a new one begins.

use std::time::Duration;

use super::{
    event::CountedEvent,
    tally::{RunningSummary, Summary},
};
use crate::core::Moment;

const STEPS: u32 = 12;
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// The two windows, in 68.5 KiB that are allocated once.
pub(super) struct Windows {
    minute: Ring,
    hour: Ring,
}

impl Windows {
    pub(super) fn new() -> Self {
        Self { minute: Ring::new(MINUTE), hour: Ring::new(HOUR) }
    }

    pub(super) fn note(&mut self, event: &CountedEvent) {
        self.minute.current().note(event);
        self.hour.current().note(event);
    }

    /// Forgets what is too old by now. What is noted afterwards counts as of now.
    pub(super) fn advance(&mut self, now: Moment) {
        self.minute.advance(now);
        self.hour.advance(now);
    }

    pub(super) fn summaries(&self) -> (Summary, Summary) {
        (self.minute.summary(), self.hour.summary())
    }
}

/// The steps of one window: the whole ones, and the one that is being filled.
struct Ring {
    step: Duration,
    tallies: Vec<RunningSummary>,
    current: usize,
    /// The beginning of the current step; `None` until the time is known.
    began: Option<Moment>,
}

impl Ring {
    fn new(window: Duration) -> Self {
        let tallies = vec![RunningSummary::default(); STEPS as usize + 1];
        Self { step: window / STEPS, tallies, current: 0, began: None }
    }

    fn current(&mut self) -> &mut RunningSummary {
        &mut self.tallies[self.current]
    }

    fn advance(&mut self, now: Moment) {
        let mut began = self.began.unwrap_or(now);
        // After a longer time all steps are empty, however many they were.
        for _ in 0..self.tallies.len() {
            if began.elapsed(now) < self.step {
                break;
            }
            began = began + self.step;
            self.current = (self.current + 1) % self.tallies.len();
            *self.current() = RunningSummary::default();
        }
        self.began = Some(if began.elapsed(now) < self.step { began } else { now });
    }

    fn summary(&self) -> Summary {
        let mut sum = RunningSummary::default();
        self.tallies.iter().for_each(|tally| sum.add(tally));
        sum.summary()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::made_up::at_secs as at;

    /// The requests that the two windows know at this time.
    fn requests(windows: &mut Windows, secs: u64) -> (u64, u64) {
        windows.advance(at(secs));
        let (minute, hour) = windows.summaries();
        (minute.requests, hour.requests)
    }

    #[test]
    fn a_window_forgets_what_is_older_and_nothing_that_is_younger() {
        let mut windows = Windows::new();
        windows.advance(at(1_000));
        windows.note(&CountedEvent::Requested);
        windows.advance(at(1_004));
        windows.note(&CountedEvent::Requested);
        assert_eq!(requests(&mut windows, 1_064), (2, 2));
        assert_eq!(requests(&mut windows, 1_065), (0, 2));
        assert_eq!(requests(&mut windows, 1_000 + 3_899), (0, 2));
        assert_eq!(requests(&mut windows, 1_000 + 3_900), (0, 0));
    }

    #[test]
    fn a_long_silence_empties_the_windows_and_they_go_on() {
        let mut windows = Windows::new();
        windows.advance(at(0));
        windows.note(&CountedEvent::Requested);
        assert_eq!(requests(&mut windows, 1_000_000), (0, 0));
        windows.note(&CountedEvent::Requested);
        assert_eq!(requests(&mut windows, 1_000_059), (1, 1));
    }
}
