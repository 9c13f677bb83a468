//! The rounds of a resource that several processes hand on, each among its own waiters first.

use std::time::Duration;

use crate::core::{Moment, turns::is_recent};

/// The weight of the last round.
const WEIGHT: f64 = 0.25;

/// The rounds of a resource, as one process sees them: a *run* of its own grants, hand-offs ahead of the waiters of others, and
/// then the resource is *away* until it comes round again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    /// The number of grants of the current run, or of the last one.
    run: u32,
    /// The means of the last rounds: the grants of a run, and the seconds away.
    means: Option<(f64, f64)>,
    seen_at: Option<Moment>,
}

/// The state of the resource: held by this process, or away.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn {
    /// This process holds it, and is expected to for this many seconds more.
    Ours(f64),
    /// It has been away since this process released it at this moment, if it ever did.
    Away(Option<Moment>),
}

impl Rounds {
    /// Notes a grant. One that did not overtake anybody begins a run; if it was already wanted when this process released the
    /// resource at `released`, the resource was away in between.
    pub(crate) fn granted(&mut self, overtook: bool, wanted: Moment, released: Option<Moment>, now: Moment) {
        if overtook {
            self.run += 1;
            return;
        }
        if let Some(released) = released.filter(|released| wanted <= *released && self.run > 0) {
            let seen = (f64::from(self.run), released.elapsed(now).as_secs_f64());
            let mean = |before: f64, seen: f64| before + (seen - before) * WEIGHT;
            let (run, away) = self.means.unwrap_or(seen);
            self.means = Some((mean(run, seen.0), mean(away, seen.1)));
            self.seen_at = Some(now);
        }
        self.run = 1;
    }

    /// Returns the time until a member of this process is served, with so many members ahead, where a hold takes so many
    /// seconds. `None` unless this process and others hand the resource on in turn.
    pub(crate) fn wait(&self, ahead: u64, hold: f64, turn: Turn, now: Moment) -> Option<f64> {
        let (run, away) = self.seen(now)?;
        let ahead = ahead as f64;
        let until_ours = |before: f64| (before / run).floor() * away;
        Some(match turn {
            Turn::Ours(left) => {
                let in_this_run = (run - f64::from(self.run)).max(0.0);
                let later = if ahead < in_this_run { 0.0 } else { away + until_ours(ahead - in_this_run) };
                left + ahead * hold + later
            }
            Turn::Away(since) => {
                let elapsed = since.map_or(Duration::ZERO, |since| since.elapsed(now)).as_secs_f64();
                // It may come round with each hold that ends.
                (away - elapsed).max(hold) + ahead * hold + until_ours(ahead)
            }
        })
    }

    fn seen(&self, now: Moment) -> Option<(f64, f64)> {
        self.means.filter(|(run, away)| *run > 1.5 && is_recent(self.seen_at, *away, now))
    }

    /// Returns true while others wait for this process's runs to end, as far as was seen lately.
    pub(crate) fn are_seen(&self, now: Moment) -> bool {
        self.seen(now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::made_up::at_secs as at;

    /// Rounds of 4 grants, a second each, after which the resource is away for 10 s. The last run began at 126 s.
    fn rounds() -> Rounds {
        let mut rounds = Rounds::default();
        for round in 0..10 {
            let begins = at(round * 14);
            rounds.granted(false, at(0), (round > 0).then(|| begins - Duration::from_secs(10)), begins);
            (0..3).for_each(|_| rounds.granted(true, at(0), Some(begins), begins));
        }
        rounds.granted(false, at(0), Some(at(130)), at(140));
        rounds
    }

    #[test]
    fn a_run_is_served_at_once_and_the_rest_when_it_comes_round_again() {
        let rounds = rounds();
        let wait = |ahead| rounds.wait(ahead, 1.0, Turn::Ours(0.5), at(140));
        // The holder is the first of four.
        assert_eq!([wait(0), wait(2)], [Some(0.5), Some(2.5)]);
        assert_eq!([wait(3), wait(6), wait(7)], [Some(13.5), Some(16.5), Some(27.5)]);
    }

    #[test]
    fn while_it_is_away_what_has_passed_counts() {
        let rounds = rounds();
        let wait = |ahead, now| rounds.wait(ahead, 1.0, Turn::Away(Some(at(144))), at(now));
        assert_eq!([wait(0, 144), wait(0, 150), wait(3, 150)], [Some(10.0), Some(4.0), Some(7.0)]);
        assert_eq!([wait(4, 150), wait(0, 170)], [Some(18.0), Some(1.0)]);
    }

    #[test]
    fn there_are_no_rounds_where_nobody_is_overtaken_or_it_was_long_ago() {
        let mut alone = Rounds::default();
        (0..10).for_each(|now| alone.granted(false, at(0), Some(at(now)), at(now)));
        assert!(!alone.are_seen(at(10)) && alone.wait(1, 1.0, Turn::Ours(0.5), at(10)).is_none());
        assert!(rounds().are_seen(at(200)) && !rounds().are_seen(at(201)));
    }
}
