//! The turns of a queue, and the rounds of a resource that several processes hand on: how long they take, as grants have shown.

use std::time::Duration;

use crate::core::Moment;

/// The number of turns after which what was seen of the queue counts half.
const HALF_LIFE: f64 = 64.0;

/// The largest number of turns that count as passed between two waits. One sample alone is not to take the place of all others.
const PASSED: f64 = 2.0 * HALF_LIFE;

/// The weight of the last round in the means of all.
const WEIGHT: f64 = 0.25;

/// The time after which what was seen tells nothing any more, unless a turn takes longer than a quarter of it. Without an end
/// a wrong estimate would stay for ever where callers give up because of it: nobody waits then who could correct it.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// The time after which everything is forgotten, also turns of hours, which one holder that hangs for hours makes.
pub(crate) const LONGEST_MEMORY: Duration = Duration::from_mins(10);

/// The granted waits in seconds, and their turns, older ones with less weight.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    waited: f64,
    turns: f64,
    served_at: Option<Moment>,
}

impl Turns {
    /// Notes a wait of so many turns that was granted. The first may be a small part of one: then a known `hold` counts too.
    pub(crate) fn served(&mut self, turns: f64, waited: Duration, hold: Option<f64>, now: Moment) {
        (self.waited, self.turns) = match (self.served_at, self.turn(now)) {
            (Some(last), Some(turn)) => {
                let passed = (last.elapsed(now).as_secs_f64() / turn.max(1e-6)).min(PASSED);
                let kept = 0.5_f64.powf(passed / HALF_LIFE);
                (self.waited * kept, self.turns * kept)
            }
            _ => hold.map_or((0.0, 0.0), |hold| (hold, 1.0)),
        };
        self.waited += waited.as_secs_f64();
        self.turns += turns;
        self.served_at = Some(now);
    }

    /// Returns the time of a turn in seconds. `None` if nothing was seen lately.
    pub(crate) fn turn(&self, now: Moment) -> Option<f64> {
        let turn = self.waited / self.turns;
        (self.turns > 0.0 && is_recent(self.served_at, turn, now)).then_some(turn)
    }

    /// Returns true if it was forgotten, or might have been, by the time of this moment.
    pub(crate) fn were_long_before(&self, moment: Moment) -> bool {
        self.served_at.is_some_and(|served| served.elapsed(moment) > FORGOTTEN_AFTER)
    }
}

/// Returns true if what was seen at this moment still tells something, where a turn takes so many seconds.
pub(crate) fn is_recent(seen: Option<Moment>, turn: f64, now: Moment) -> bool {
    let enough = (4.0 * turn).clamp(FORGOTTEN_AFTER.as_secs_f64(), LONGEST_MEMORY.as_secs_f64());
    seen.is_some_and(|seen| seen.elapsed(now).as_secs_f64() <= enough)
}

/// The rounds of a resource that several processes hand on, each among its own waiters first: a *run* of this process's grants,
/// hand-offs ahead of the waiters of others, and then the resource is *away* until it comes round again.
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

    #[test]
    fn a_turn_is_remembered_for_four_of_it_but_for_no_less_than_a_minute_and_no_more_than_ten() {
        for (turn, enough) in [(0.01, 60), (15.0, 60), (100.0, 400), (3_600.0, 600), (f64::MAX, 600)] {
            assert!(is_recent(Some(at(0)), turn, at(enough)), "{turn}");
            assert!(!is_recent(Some(at(0)), turn, at(enough + 1)), "{turn}");
        }
        assert!(!is_recent(None, 1.0, at(0)) && !is_recent(Some(at(0)), f64::NAN, at(601)));
    }

    #[test]
    fn the_first_wait_counts_with_a_hold_and_the_next_ones_with_each_other() {
        let mut turns = Turns::default();
        assert_eq!(turns.turn(at(0)), None);
        turns.served(1.0, Duration::from_secs(1), Some(3.0), at(1));
        assert_eq!(turns.turn(at(1)), Some(2.0));
        turns.served(2.0, Duration::from_secs(8), Some(100.0), at(1));
        assert_eq!(turns.turn(at(1)), Some(3.0));
        assert!(!turns.were_long_before(at(61)) && turns.were_long_before(at(62)));
        let mut no_turns = Turns::default();
        no_turns.served(0.0, Duration::from_secs(1), None, at(0));
        assert_eq!(no_turns.turn(at(0)), None);
    }

    #[test]
    fn one_wait_after_a_long_pause_does_not_take_the_place_of_all_others() {
        let mut turns = Turns::default();
        for _ in 0..1_000 {
            turns.served(1.0, Duration::from_millis(10), None, at(0));
        }
        turns.served(1.0, Duration::from_secs(10), None, at(50));
        let turn = turns.turn(at(50)).unwrap();
        assert!((0.04..0.06).contains(&turn), "{turn}");
    }

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
        // The holder is the first of four.
        let wait = |ahead| rounds.wait(ahead, 1.0, Turn::Ours(0.5), at(140));
        assert_eq!([0, 2, 3, 6, 7].map(wait), [0.5, 2.5, 13.5, 16.5, 27.5].map(Some));
    }

    #[test]
    fn while_it_is_away_what_has_passed_counts() {
        let rounds = rounds();
        let wait = |(ahead, now)| rounds.wait(ahead, 1.0, Turn::Away(Some(at(144))), at(now));
        let waits = [(0, 144), (0, 150), (3, 150), (4, 150), (0, 170)].map(wait);
        assert_eq!(waits, [10.0, 4.0, 7.0, 18.0, 1.0].map(Some));
    }

    #[test]
    fn there_are_no_rounds_where_nobody_is_overtaken_or_it_was_long_ago() {
        let mut alone = Rounds::default();
        (0..10).for_each(|now| alone.granted(false, at(0), Some(at(now)), at(now)));
        assert!(!alone.are_seen(at(10)) && alone.wait(1, 1.0, Turn::Ours(0.5), at(10)).is_none());
        assert!(rounds().are_seen(at(200)) && !rounds().are_seen(at(201)));
    }

    #[test]
    fn a_round_counts_a_quarter_if_it_was_wanted_before_the_run_ended() {
        let mut rounds = Rounds::default();
        rounds.granted(false, at(0), Some(at(0)), at(10));
        assert!(!rounds.are_seen(at(10)), "no run has ended");
        for (grants, wanted, released, now, run, away) in [
            (4, 20, 20, 30, 4, 10.0),
            (8, 40, 40, 60, 5, 12.5),
            // It was not wanted while it was away.
            (9, 71, 70, 80, 5, 12.5),
        ] {
            (1..grants).for_each(|_| rounds.granted(true, at(0), None, at(0)));
            rounds.granted(false, at(wanted), Some(at(released)), at(now));
            let waits = [run - 1, run].map(|ahead| rounds.wait(ahead, 0.0, Turn::Away(None), at(now)));
            assert_eq!(waits, [Some(away), Some(2.0 * away)], "the next run, or the one after it");
        }
    }

    #[test]
    fn runs_of_one_and_a_half_are_no_rounds() {
        let mut rounds = Rounds::default();
        rounds.granted(false, at(0), Some(at(0)), at(0));
        for (grants, are_seen) in [(1, false), (3, false), (2, true)] {
            (1..grants).for_each(|_| rounds.granted(true, at(0), None, at(0)));
            rounds.granted(false, at(0), Some(at(0)), at(0));
            assert_eq!(rounds.are_seen(at(0)), are_seen, "after a run of {grants}");
        }
    }
}
