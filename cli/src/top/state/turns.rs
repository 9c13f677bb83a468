//! Who has held one resource, as far as looks at it have shown, and how near their leases came to their end.
//!
//! A look shows a moment. What happened between two of them is not seen: a grant that came and went is missing, and of a
//! holder that is gone it is not known when it went.

use std::{collections::VecDeque, time::Duration};

use leasehold::{Mode, TokenPrefix};

use crate::top::seen::{Hold, Look, Who};

/// The number of holders that are remembered of a resource, also after they have gone.
const REMEMBERED: usize = 32;
/// The number of looks whose result is remembered for the timeline.
const LOOKS: usize = 200;
/// The least by which the end of a lease has to move to count as renewed: more than answers differ by their way.
const SLACK: Duration = Duration::from_millis(200);

/// One holder, from its grant until it was not there any more.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// Counted from 0.
    pub(crate) number: usize,
    pub(crate) token: TokenPrefix,
    pub(crate) mode: Mode,
    pub(crate) who: Who,
    /// The moment of its grant, or of the first look that found it where the store does not know it.
    pub(crate) since: Duration,
    /// The moment of the last look that found it.
    pub(crate) last: Duration,
    /// True if it was there at the last look.
    pub(crate) holds: bool,
    /// True if it was renewed before, and has now less than a third left of what it had at most.
    pub(crate) late: bool,
    left: Duration,
    most_left: Duration,
    renewed: bool,
}

/// What a look has found at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Free,
    /// The holder with this number.
    Turn(usize),
    /// So many holders.
    Many(u64),
}

/// Events that looks have shown. Each may have happened more often than it was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) grants: u64,
    /// Leases that were late, and were renewed after all.
    pub(crate) near_misses: u64,
    /// Leases that were late, and gone when their time was up.
    pub(crate) ran_out: u64,
}

/// The holders of one resource over time.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    turns: VecDeque<Turn>,
    looks: VecDeque<(Duration, Found)>,
    count: usize,
    top_fence: Option<u64>,
}

impl Turns {
    /// Takes what a look has found at this moment, and returns what is new.
    pub(crate) fn take(&mut self, look: &Look, now: Duration) -> Counts {
        let mut counts = Counts::default();
        let is_first = self.looks.is_empty();
        let all = look.total <= look.holders.len() as u64;
        let before = self.top_fence;
        for turn in self.turns.iter_mut().filter(|turn| turn.holds) {
            match look.holders.iter().find(|hold| hold.token == turn.token && !hold.closed) {
                Some(hold) => counts.near_misses += u64::from(turn.is_still_there(hold, now)),
                None if all => counts.ran_out += u64::from(turn.is_gone(now)),
                // It may be one of the holders that were not returned. Then nothing is concluded, nor that it is still late.
                None => turn.late = false,
            }
        }
        for hold in look.holders.iter().filter(|hold| !hold.closed) {
            if self.turns.iter().any(|turn| turn.holds && turn.token == hold.token) {
                continue;
            }
            self.begin(hold, now);
            // A re-entry has the fence of the hold that it enters, and is no grant.
            let is_grant = hold.fence.is_none_or(|fence| before.is_none_or(|before| fence > before));
            counts.grants += u64::from(is_grant && !is_first);
            self.top_fence = self.top_fence.max(hold.fence);
        }
        self.remember(look, now);
        counts
    }

    /// Returns the holders, the latest first.
    pub(crate) fn latest(&self) -> impl Iterator<Item = &Turn> {
        self.turns.iter().rev()
    }

    /// Returns the number of holders whose renewal is late.
    pub(crate) fn late(&self) -> usize {
        self.turns.iter().filter(|turn| turn.holds && turn.late).count()
    }

    /// Returns what was found in each of `cells` times of this length, the last of which ends now. `None` for a time in which
    /// nobody looked.
    pub(crate) fn timeline(&self, now: Duration, cell: Duration, cells: usize) -> Vec<Option<Found>> {
        let mut line = vec![None; cells];
        for (at, found) in &self.looks {
            let ago = now.saturating_sub(*at).as_nanos() / cell.as_nanos().max(1);
            let place = usize::try_from(ago).ok().and_then(|ago| cells.checked_sub(ago + 1));
            if let Some(place) = place {
                line[place] = Some(*found);
            }
        }
        line
    }

    fn begin(&mut self, hold: &Hold, now: Duration) {
        if self.turns.len() == REMEMBERED {
            self.turns.pop_front();
        }
        self.turns.push_back(Turn {
            number: self.count,
            token: hold.token,
            mode: hold.mode,
            who: hold.who.clone(),
            since: now.saturating_sub(hold.held.unwrap_or_default()),
            last: now,
            holds: true,
            late: false,
            left: hold.left,
            most_left: hold.left,
            renewed: false,
        });
        self.count += 1;
    }

    fn remember(&mut self, look: &Look, now: Duration) {
        let live = look.holders.iter().filter(|hold| !hold.closed).count();
        let closed = look.holders.len() - live;
        let total = look.total.saturating_sub(closed as u64);
        let last = self.turns.iter().rfind(|turn| turn.holds);
        let found = match (total, last) {
            (0, _) | (_, None) => Found::Free,
            (1, Some(turn)) => Found::Turn(turn.number),
            (many, _) => Found::Many(many),
        };
        if self.looks.len() == LOOKS {
            self.looks.pop_front();
        }
        self.looks.push_back((now, found));
    }
}

impl Turn {
    /// Returns true if a late lease was renewed.
    fn is_still_there(&mut self, hold: &Hold, now: Duration) -> bool {
        let was_renewed = now + hold.left > self.last + self.left + SLACK;
        self.renewed |= was_renewed;
        self.most_left = self.most_left.max(hold.left);
        let was_late = self.late;
        // Intervals are shorter than half of the TTL, of which `most_left` is a part. So at a third a renewal is missing.
        self.late = self.renewed && hold.left < self.most_left / 3;
        (self.last, self.left) = (now, hold.left);
        was_late && was_renewed
    }

    /// Returns true if its time was up before it could be released: it was late, and has not been seen since.
    fn is_gone(&mut self, now: Duration) -> bool {
        self.holds = false;
        self.late && now >= self.last + self.left
    }
}

#[cfg(test)]
mod tests {
    use leasehold::{ResourceName, Token};

    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn hold(token: u32, fence: u64, left: Duration) -> Hold {
        Hold {
            token: Token::from_bits(u128::from(token) << 96).prefix(),
            mode: Mode::Exclusive,
            closed: false,
            fence: Some(fence),
            left,
            held: None,
            who: Who::default(),
        }
    }

    fn look(holders: &[Hold]) -> Look {
        Look {
            resource: ResourceName::new("r").unwrap(),
            holders: holders.to_vec(),
            total: holders.len() as u64,
            waiting: 0,
            waiters: Vec::new(),
        }
    }

    /// What is new at each of these looks, one a second, with the time that a holder has left.
    fn seen(lefts: &[Option<Duration>]) -> Vec<Counts> {
        let mut turns = Turns::default();
        let looks = lefts.iter().map(|left| left.map(|left| hold(1, 1, left)));
        looks.zip(0..).map(|(hold, at)| turns.take(&look(hold.as_slice()), s(at))).collect()
    }

    #[test]
    fn the_first_look_at_a_resource_is_no_grant() {
        let mut turns = Turns::default();
        assert_eq!(turns.take(&look(&[hold(1, 5, s(9))]), s(0)).grants, 0);
        assert_eq!(turns.take(&look(&[hold(1, 5, s(8))]), s(1)).grants, 0);
        assert_eq!(turns.take(&look(&[hold(2, 6, s(9))]), s(2)).grants, 1);
        assert_eq!(turns.latest().map(|turn| turn.holds).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn a_re_entry_is_no_grant() {
        let mut turns = Turns::default();
        turns.take(&look(&[hold(1, 5, s(9))]), s(0));
        assert_eq!(turns.take(&look(&[hold(1, 5, s(8)), hold(2, 5, s(9))]), s(1)).grants, 0);
    }

    #[test]
    fn a_lease_that_nobody_renews_is_never_late() {
        let new = seen(&[Some(s(9)), Some(s(8)), Some(s(2)), Some(s(1)), None]);
        assert!(new.iter().all(|new| *new == Counts::default()), "{new:?}");
    }

    #[test]
    fn a_late_lease_that_is_renewed_is_a_near_miss() {
        let new = seen(&[s(5), s(9), s(2), s(9), s(8)].map(Some));
        assert_eq!(new.iter().map(|new| new.near_misses).collect::<Vec<_>>(), [0, 0, 0, 1, 0]);
    }

    #[test]
    fn a_late_lease_that_is_gone_has_run_out_only_if_its_time_was_up() {
        let new = seen(&[Some(s(5)), Some(s(9)), Some(s(1)), None]);
        assert_eq!(new[3].ran_out, 1);
        let new = seen(&[Some(s(5)), Some(s(9)), Some(Duration::from_millis(1500)), None]);
        assert_eq!(new[3].ran_out, 0, "it was released");
    }

    #[test]
    fn nothing_is_concluded_from_holders_that_were_not_returned() {
        let mut turns = Turns::default();
        for (left, at) in [(5, 0), (9, 1), (1, 2)] {
            turns.take(&look(&[hold(1, 1, s(left))]), s(at));
        }
        let of_many = Look { total: 2_000, ..look(&[hold(2, 1, s(9))]) };
        assert_eq!(turns.take(&of_many, s(3)).ran_out, 0);
        assert!(turns.latest().all(|turn| turn.holds), "nobody is said to be gone");
    }

    #[test]
    fn a_timeline_has_blanks_where_nobody_looked() {
        let mut turns = Turns::default();
        turns.take(&look(&[hold(1, 1, s(9))]), s(10));
        turns.take(&look(&[]), s(12));
        turns.take(&look(&[hold(2, 2, s(9)), hold(3, 3, s(9))]), s(13));
        let line = turns.timeline(s(13), s(1), 5);
        assert_eq!(line, [None, Some(Found::Turn(0)), None, Some(Found::Free), Some(Found::Many(2))]);
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let mut turns = Turns::default();
        for at in 0..1_000_u32 {
            turns.take(&look(&[hold(at, u64::from(at), s(9))]), s(u64::from(at)));
        }
        assert_eq!((turns.latest().count(), turns.looks.len()), (REMEMBERED, LOOKS));
    }
}
