//! The turns of a queue, and the rounds of a resource that several processes hand on: how long they take, as grants have shown.

use std::time::Duration;

use crate::core::Moment;

/// The number of turns after which what was seen of the queue counts half.
const HALF_LIFE: f64 = 64.0;

/// The largest number of turns that count as passed between two waits. One sample alone is not to take the place of all others.
const PASSED: f64 = 2.0 * HALF_LIFE;

/// The time after which what was seen tells nothing any more, unless a turn takes longer than a quarter of it. Without an end
/// a wrong estimate would stay for ever where callers give up because of it: nobody waits then who could correct it.
pub(crate) const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

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
}
