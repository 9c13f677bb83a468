//! The demand for one resource as one process has seen it: how long holds take, how fast the queue moves.

use std::time::Duration;

use crate::core::{
    Mode, Moment, TokenPrefix,
    turns::{LONGEST_MEMORY, Rounds, Turn, Turns, is_recent},
};

/// The number of holds that are remembered.
const HOLDS: usize = 16;

/// The demand for a resource: what a waiter's expected wait follows from.
///
/// A wait is a number of *turns*: one for each waiter ahead, and for the holder the share of a turn that it has left. A turn
/// takes as long as the granted waits of this process took, by their turns; as long as none has been seen, as long as a hold.
/// Thus everything that makes a queue fast or slow is in it: hand-overs, waiters that give up, several permits. Permits are
/// granted together, so holds tell nothing of their turns, nor do the waits of those that want all of the resource. Where
/// there are readers nothing is expected: any number of them takes one turn. Only times of this process's own clock are compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demand {
    /// The last exclusive holds, in seconds, the oldest overwritten first.
    holds: [f64; HOLDS],
    /// The number of holds so far.
    held: usize,
    held_at: Option<Moment>,
    /// The number of holds since a wait was granted, for all of the resource.
    since_wait: usize,
    /// The begin of the last hold.
    held_since: Option<Moment>,
    waits: Turns,
    permits: Turns,
    /// The moment at which a reader was seen last.
    read_at: Option<Moment>,
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
        self.since_wait += 1;
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

    /// Notes a reader that has the resource, or wants it.
    pub(crate) const fn read(&mut self, now: Moment) {
        self.read_at = Some(now);
    }

    /// Returns true if a reader was seen lately: nobody tells how many of those ahead are readers, all granted in one turn.
    fn has_readers(&self, now: Moment) -> bool {
        self.read_at.is_some_and(|read| read.elapsed(now) <= LONGEST_MEMORY)
            && !planted!("readers are expected to be served one after the other")
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
        if self.has_readers(now) {
            return;
        }
        if mode != Mode::Exclusive {
            return self.permits.served(turns, waited, None, now);
        }
        if self.has_newer_holds() {
            self.waits = Turns::default();
        }
        self.since_wait = 0;
        self.waits.served(turns, waited, self.mean_hold(now), now);
    }

    /// Notes a wait that ended with a grant in a round: its turns are those of another one.
    pub(crate) const fn served_in_round(&mut self) {
        self.since_wait = 0;
    }

    /// Returns the turns of a waiter with so many ahead. The holder of all of the resource has held for `age`, as far as is known.
    /// `None` if there are readers, or if the holder takes much longer than any hold that has been seen.
    pub(crate) fn turns(&self, ahead: u64, age: Option<Duration>, now: Moment) -> Option<f64> {
        if self.has_readers(now) {
            return None;
        }
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
            Mode::Shared => None,
            Mode::Permits { .. } => self.permits.turn(now),
            Mode::Exclusive if self.has_newer_holds() => self.mean_hold(now),
            Mode::Exclusive => self.waits.turn(now).or_else(|| self.mean_hold(now)),
        }
    }

    /// Returns true if there are holds that began long after the last wait, or as many as are remembered have ended since.
    /// Where nobody waits any more, because a wait of before makes all give up, they show what a turn takes.
    fn has_newer_holds(&self) -> bool {
        self.since_wait >= HOLDS || self.held_since.is_some_and(|since| self.waits.were_long_before(since))
    }

    fn mean_hold(&self, now: Moment) -> Option<f64> {
        let holds = self.recent_holds(now);
        (!holds.is_empty()).then(|| mean(holds))
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
mod tests;
