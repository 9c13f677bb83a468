//! The end of an acquisition: its lease, and the release that is repeated until it is certain.

use std::time::Duration;

use super::{Acquisition, Event, ReleaseStep, Repeats, Stage, Steps, Terms};
use crate::core::{Backoff, Doubling, Moment, Pauses};

/// The pause before the first repetition of a release.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

impl Acquisition {
    /// Creates an acquisition that did not wait here: the store holds something for it, or may do so until the end of an
    /// attempt with an unknown outcome.
    pub(crate) fn held(unknown_until: Option<Moment>, alone: bool, since: Moment) -> Self {
        let terms = Terms {
            asked: since,
            wait: Duration::ZERO,
            pauses: Pauses::BuiltIn(Backoff::DEFAULT),
            ttl: Duration::ZERO,
            ticket_ttl: Duration::ZERO,
            grant_window: Duration::ZERO,
            alone,
        };
        Self { stage: Stage::Held { since }, unknown_until, ..Self::new(terms) }
    }

    /// Returns the moment until which an attempt with an unknown outcome may still matter. `None` if there is none.
    fn perhaps_until(&self, now: Moment) -> Option<Moment> {
        self.unknown_until.filter(|until| *until > now)
    }

    pub(super) fn on_lease(&mut self, event: Event, now: Moment) -> Steps {
        match event {
            Event::Release { opening, end, in_time } => {
                let hand_off = in_time && opening <= now && self.terms.alone;
                self.release(opening, end, hand_off, now)
            }
            Event::Lost { opening } => match self.perhaps_until(now) {
                Some(until) if !planted!("an unknown attempt is forgotten with its lease") => {
                    self.release(opening, until, false, now)
                }
                _ => Steps { remove: true, ..Steps::default() },
            },
            _ => Steps::default(),
        }
    }

    /// Releases the token, until that is certain or until `end`. Nothing is handed off while an attempt with an unknown
    /// outcome may still be executed.
    pub(super) fn release(&mut self, opening: Moment, end: Moment, hand_off: bool, now: Moment) -> Steps {
        let pauses = Doubling::new(FIRST_PAUSE, Duration::MAX);
        self.stage = Stage::Releasing(Repeats { opening, end, pauses });
        let unknown = self.perhaps_until(now).is_some() && !planted!("a hand-off beside an unknown attempt");
        let hand_off = hand_off && !unknown;
        Steps { release: Some(ReleaseStep { opening, hand_off }), ..Steps::default() }
    }

    pub(super) fn on_release(&mut self, mut repeats: Repeats, event: Event, now: Moment) -> Steps {
        match (event, self.stage) {
            (Event::Released { certain }, Stage::Releasing(_)) => {
                let certain = certain || planted!("a release is not repeated after an unknown answer");
                let perhaps_until = self.perhaps_until(now);
                let is_last = perhaps_until.is_none() || planted!("the first release is the last word");
                let pause = repeats.pauses.next();
                let end = perhaps_until.map_or(repeats.end, |until| until.max(repeats.end));
                if certain && is_last || now + pause >= end {
                    return Steps { remove: true, ..Steps::default() };
                }
                self.stage = Stage::Repeating(repeats);
                Steps::wake_after(pause)
            }
            (Event::Due, Stage::Repeating(_)) => {
                self.stage = Stage::Releasing(repeats);
                let release = ReleaseStep { opening: repeats.opening, hand_off: false };
                Steps { release: Some(release), ..Steps::default() }
            }
            _ => Steps::default(),
        }
    }
}
