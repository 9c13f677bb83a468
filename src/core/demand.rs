//! The demand for one resource as one process has seen it: how long holds take, how fast the queue moves.

use std::time::Duration;

use crate::core::{
    Mode, Moment, TokenPrefix,
    rounds::{Rounds, Turn},
    turns::{Turns, is_recent},
};

/// The number of holds that are remembered.
const HOLDS: usize = 16;

/// The demand for a resource: what a waiter's expected wait follows from.
///
/// A wait is a number of *turns*: one for each waiter ahead, and for the holder the share of a turn that it has left. A turn
/// takes as long as the granted waits of this process took, by their turns; as long as none has been seen, as long as a hold.
/// Thus everything that makes a queue fast or slow is in it: hand-overs, waiters that give up, several permits. Readers and
/// permits are granted together, so holds tell nothing of their turns, nor do the waits of those that want all of the
/// resource. Only times of this process's own clock are compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demand {
    /// The last exclusive holds, in seconds, the oldest overwritten first.
    holds: [f64; HOLDS],
    /// The number of holds so far.
    held: usize,
    held_at: Option<Moment>,
    /// The begin of the last hold.
    held_since: Option<Moment>,
    /// The waits for all of the resource.
    waits: Turns,
    /// The waits for a share of it.
    shares: Turns,
    /// The holder that was seen last, and since when.
    holder: Option<(TokenPrefix, Moment)>,
    rounds: Rounds,
}

impl Demand {
    /// Notes the end of an exclusive hold of this process.
    pub(crate) fn held(&mut self, hold: Duration, now: Moment) {
        if self.recent_holds(now).is_empty() {
            self.held = 0;
        }
        self.holds[self.held % HOLDS] = hold.as_secs_f64();
        self.held += 1;
        self.held_at = Some(now);
        self.held_since = Some(now - hold);
    }

    /// Notes a holder, and returns for how long it has been seen.
    pub(crate) fn holder(&mut self, holder: TokenPrefix, now: Moment) -> Duration {
        let since = match self.holder {
            Some((known, since)) if known == holder => since,
            _ => now,
        };
        self.holder = Some((holder, since));
        since.elapsed(now)
    }

    /// Notes a grant to a member of this process, wanted since then: ahead of others, or in its turn.
    pub(crate) fn granted(&mut self, overtook: bool, wanted: Moment, now: Moment) {
        self.rounds.granted(overtook, wanted, self.held_at, now);
    }

    /// Returns true if members of this process wait in rounds: then the turns of waits are those of whoever leads them.
    pub(crate) fn in_rounds(&self, now: Moment) -> bool {
        self.rounds.are_seen(now)
    }

    /// Returns the expected wait of a member that has so many members of this process ahead. `age` is that of the holder if
    /// that is one of them too. `None` unless they wait in rounds.
    pub(crate) fn in_turn(&self, ahead: u64, age: Option<Duration>, now: Moment) -> Option<Duration> {
        let (holds, hold) = (self.recent_holds(now), self.mean_hold(now)?);
        let turn = match age {
            Some(age) => Turn::Ours(left_of(holds, age.as_secs_f64())? * hold),
            None => Turn::Away(self.held_at),
        };
        Duration::try_from_secs_f64(self.rounds.wait(ahead, hold, turn, now)?).ok()
    }

    /// Notes a wait of so many turns that ended with a grant.
    pub(crate) fn served(&mut self, mode: Mode, turns: f64, waited: Duration, now: Moment) {
        if mode != Mode::Exclusive {
            return self.shares.served(turns, waited, None, now);
        }
        if self.has_newer_holds() {
            self.waits = Turns::default();
        }
        self.waits.served(turns, waited, self.mean_hold(now), now);
    }

    /// Returns the turns of a waiter with so many ahead. `age` is how long the holder, which has all of the resource, has
    /// held it, as far as is known. `None` if the holder takes much longer than any hold that has been seen.
    pub(crate) fn turns(&self, ahead: u64, age: Option<Duration>, now: Moment) -> Option<f64> {
        let holds = self.recent_holds(now);
        let left = match age {
            Some(age) if !holds.is_empty() => left_of(holds, age.as_secs_f64())?,
            _ => 1.0,
        };
        Some(ahead as f64 + left)
    }

    /// Returns the time that so many turns are expected to take. `None` if nothing has been seen that tells.
    pub(crate) fn expected(&self, mode: Mode, turns: f64, now: Moment) -> Option<Duration> {
        Duration::try_from_secs_f64(self.turn(mode, now)? * turns).ok()
    }

    /// Returns the time of a turn, in seconds.
    fn turn(&self, mode: Mode, now: Moment) -> Option<f64> {
        match mode {
            Mode::Shared | Mode::Permits { .. } => self.shares.turn(now),
            Mode::Exclusive if self.has_newer_holds() => self.mean_hold(now),
            Mode::Exclusive => self.waits.turn(now).or_else(|| self.mean_hold(now)),
        }
    }

    /// Returns true if there are holds that began long after the last wait. Where nobody waits any more, because a wait of
    /// before makes all give up, they show what a turn takes.
    fn has_newer_holds(&self) -> bool {
        self.held_since.is_some_and(|since| self.waits.were_long_before(since))
    }

    fn mean_hold(&self, now: Moment) -> Option<f64> {
        match self.recent_holds(now) {
            [] => None,
            holds => Some(mean(holds)),
        }
    }

    fn recent_holds(&self, now: Moment) -> &[f64] {
        let holds = &self.holds[..self.held.min(HOLDS)];
        if !holds.is_empty() && is_recent(self.held_at, mean(holds), now) { holds } else { &[] }
    }
}

/// Returns what is left, on average, of a hold that has lasted for `age`, as a share of the mean: the mean residual life, from
/// the holds that took longer. One that takes a little longer than all others may be of any length.
fn left_of(holds: &[f64], age: f64) -> Option<f64> {
    let longest = holds.iter().copied().fold(0.0, f64::max);
    let (mut sum, mut count) = (0.0, 0_u32);
    for hold in holds.iter().filter(|hold| **hold > age) {
        sum += hold - age;
        count += 1;
    }
    match count {
        0 if age > 2.0 * longest => None,
        0 => Some(1.0),
        _ => Some(sum / f64::from(count) / mean(holds)),
    }
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Token;

    fn at(millis: u64) -> Moment {
        Moment::since_origin(ms(millis))
    }

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// A resource that this process has held for these times, until now.
    fn after_holds(holds: &[u64], now: u64) -> Demand {
        let mut demand = Demand::default();
        holds.iter().for_each(|hold| demand.held(ms(*hold), at(now)));
        demand
    }

    /// The expected wait in milliseconds.
    fn expected(demand: &Demand, ahead: u64, age: Option<u64>, now: u64) -> Option<u128> {
        let turns = demand.turns(ahead, age.map(ms), at(now))?;
        demand.expected(Mode::Exclusive, turns, at(now)).map(|expected| expected.as_millis())
    }

    #[test]
    fn nothing_seen_is_nothing_known() {
        assert_eq!(expected(&Demand::default(), 0, None, 0), None);
        assert_eq!(expected(&Demand::default(), 7, Some(5), 0), None);
    }

    #[test]
    fn holds_alone_tell_what_is_left_of_the_holder_and_how_long_those_ahead_take() {
        let demand = after_holds(&[100; 20], 0);
        assert_eq!(expected(&demand, 0, None, 0), Some(100), "a holder of which nothing is known");
        assert_eq!(expected(&demand, 0, Some(70), 0), Some(30));
        assert_eq!(expected(&demand, 3, Some(70), 0), Some(330));
        let uneven = after_holds(&[50, 150], 0);
        assert_eq!(expected(&uneven, 0, Some(0), 0), Some(100));
        assert_eq!(expected(&uneven, 0, Some(60), 0), Some(90), "it is a long one");
    }

    #[test]
    fn a_holder_that_takes_much_longer_than_any_before_makes_the_wait_unknown() {
        let demand = after_holds(&[100; 3], 0);
        assert_eq!(expected(&demand, 0, Some(110), 0), Some(100), "it may be a longer one");
        assert_eq!(expected(&demand, 5, Some(201), 0), None);
    }

    #[test]
    fn the_last_holds_count_and_those_before_are_forgotten() {
        let mut demand = after_holds(&[1_000; 16], 0);
        (0..16).for_each(|_| demand.held(ms(10), at(0)));
        assert_eq!(expected(&demand, 9, None, 0), Some(100));
    }

    #[test]
    fn waits_that_were_seen_count_more_than_holds() {
        let mut demand = after_holds(&[100], 0);
        for served in 1..=50 {
            demand.served(Mode::Exclusive, 4.0, ms(80), at(served * 20));
        }
        let found = expected(&demand, 9, None, 1_000).unwrap();
        assert!((200..=215).contains(&found), "four hold it at a time, or give up: {found}");
        let mut only_waits = Demand::default();
        only_waits.served(Mode::Exclusive, 2.0, ms(30), at(0));
        assert_eq!(
            expected(&only_waits, 3, Some(500), 0),
            Some(60),
            "no hold is known to compare the age with"
        );
    }

    #[test]
    fn what_changes_is_learned_within_some_turns() {
        let mut demand = Demand::default();
        for served in 1..=1_000 {
            demand.served(Mode::Exclusive, 1.0, ms(10), at(served * 10));
        }
        for served in 1..=200 {
            demand.served(Mode::Exclusive, 1.0, ms(40), at(10_000 + served * 40));
        }
        let found = expected(&demand, 0, None, 18_000).unwrap();
        assert!((35..=40).contains(&found), "{found}");
    }

    #[test]
    fn what_was_seen_long_ago_tells_nothing_and_does_not_mix_with_what_is_seen_next() {
        let mut demand = after_holds(&[100], 0);
        demand.served(Mode::Exclusive, 1.0, ms(100), at(0));
        assert_eq!(expected(&demand, 0, None, 60_000), Some(100));
        assert_eq!(expected(&demand, 0, None, 60_001), None);
        demand.served(Mode::Exclusive, 1.0, ms(7), at(70_000));
        assert_eq!(expected(&demand, 0, None, 70_000), Some(7));
        demand.held(ms(9), at(140_000));
        assert_eq!(expected(&demand, 0, None, 140_000), Some(9));
        let slow = after_holds(&[3_600_000], 0);
        assert_eq!(expected(&slow, 0, None, 600_000), Some(3_600_000), "turns of an hour are seen seldom");
        assert_eq!(expected(&slow, 0, None, 600_001), None, "but there is an end");
    }

    #[test]
    fn a_wait_of_an_hour_behind_a_holder_that_hung_is_not_believed_for_long() {
        let (hour, minute) = (3_600_000, 60_000);
        let mut demand = after_holds(&[10; 16], 0);
        demand.served(Mode::Exclusive, 1.0, ms(hour), at(hour));
        assert_eq!(
            expected(&demand, 0, None, hour + 10 * minute),
            Some(u128::from(hour)),
            "nothing else is known"
        );
        assert_eq!(expected(&demand, 0, None, hour + 10 * minute + 1), None);
        demand.held(ms(10), at(hour + 10));
        assert_eq!(
            expected(&demand, 0, None, hour + minute),
            Some(u128::from(hour)),
            "that was its own hold"
        );
        demand.held(ms(10), at(hour + minute + 11));
        assert_eq!(expected(&demand, 0, None, hour + minute + 11), Some(10), "holds go on as before");
        demand.served(Mode::Exclusive, 1.0, ms(20), at(hour + minute + 40));
        assert_eq!(expected(&demand, 0, None, hour + minute + 40), Some(15), "the hour is forgotten");
    }

    #[test]
    fn readers_and_permits_learn_from_waits_for_a_share_alone() {
        let mut demand = after_holds(&[10_000; 3], 0);
        demand.served(Mode::Exclusive, 1.0, ms(10_000), at(0));
        for share in [Mode::Shared, Mode::permits(1, 50).unwrap()] {
            assert_eq!(demand.expected(share, 20.0, at(0)), None, "they may all be granted together");
        }
        demand.served(Mode::Shared, 20.0, ms(10_000), at(0));
        assert_eq!(demand.expected(Mode::Shared, 20.0, at(0)), Some(ms(10_000)));
        assert_eq!(demand.expected(Mode::Exclusive, 1.0, at(0)), Some(ms(10_000)));
    }

    #[test]
    fn a_holder_is_as_old_as_it_has_been_seen() {
        let (one, other) = (Token::from_bits(1 << 96).prefix(), Token::from_bits(2 << 96).prefix());
        let mut demand = Demand::default();
        let ages = [(one, 10), (one, 35), (other, 40), (one, 41)].map(|(it, now)| demand.holder(it, at(now)));
        assert_eq!(ages, [ms(0), ms(25), ms(0), ms(0)]);
    }

    #[test]
    fn odd_times_lead_to_no_panic() {
        let mut demand = after_holds(&[0; 3], 0);
        assert_eq!(expected(&demand, 0, Some(0), 0), Some(0));
        demand.served(Mode::Exclusive, 0.0, ms(0), at(0));
        demand.served(Mode::Exclusive, f64::MAX, Duration::MAX, at(0));
        demand.served(Mode::Exclusive, 1e-300, Duration::MAX, at(1));
        assert_eq!(demand.expected(Mode::Exclusive, f64::MAX, at(2)), None);
        assert!(demand.turns(u64::MAX, Some(Duration::ZERO), at(0)).is_some());
    }
}
