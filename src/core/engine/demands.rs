//! The demand for each resource that requests of this manager had to wait for, and the places of those that wait.

use std::{collections::HashMap, time::Duration};

use crate::core::{Demand, LONGEST_MEMORY, Mode, Moment, ResourceName};

/// The largest number of resources of which something is known: about half a megabyte.
const AT_MOST: usize = 1_024;

/// The resources in demand, each with the moment at which somebody had to wait for it last. One that nobody has waited for is
/// not among them, and costs nothing.
#[derive(Default)]
pub(crate) struct Demands(HashMap<ResourceName, (Demand, Moment)>);

impl Demands {
    /// Returns the demand for a resource that somebody has to wait for now.
    pub(crate) fn asked(&mut self, resource: &ResourceName, now: Moment) -> &mut Demand {
        if self.0.len() >= AT_MOST && !self.0.contains_key(resource) {
            self.forget_half();
        }
        let (demand, asked) = self.0.entry(resource.clone()).or_insert_with(|| (Demand::default(), now));
        *asked = now;
        demand
    }

    /// Returns the demand for a resource that somebody has waited for.
    pub(crate) fn get(&self, resource: &ResourceName) -> Option<&Demand> {
        self.0.get(resource).map(|(demand, _)| demand)
    }

    /// Returns the same, to be changed.
    pub(crate) fn known(&mut self, resource: &ResourceName) -> Option<&mut Demand> {
        self.0.get_mut(resource).map(|(demand, _)| demand)
    }

    /// Forgets the resources that nobody has waited for in a long time.
    pub(crate) fn forget_old(&mut self, now: Moment) {
        self.0.retain(|_, (_, asked)| asked.elapsed(now) <= LONGEST_MEMORY);
    }

    /// Forgets the resources that nobody has waited for in the longest time: half of them, so that most cost no search.
    fn forget_half(&mut self) {
        let mut all: Vec<Moment> = self.0.values().map(|(_, asked)| *asked).collect();
        let median = *all.select_nth_unstable(AT_MOST / 2).1;
        self.0.retain(|_, (_, asked)| *asked > median);
    }
}

/// The place of a waiter, as the turns that it waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The moment at which the first place was known, and its turns.
    pub(crate) first: (Moment, f64),
    /// The last place. `None` once nobody can tell how long that takes.
    pub(crate) last: Option<LastPlace>,
    /// True if another waiter led it at first.
    pub(crate) followed: bool,
}

/// The turns that a waiter waits since its last place was known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastPlace {
    pub(crate) since: Moment,
    pub(crate) turns: f64,
    /// The wait that was expected then, if anything was known.
    pub(crate) expected: Option<Duration>,
}

impl Place {
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

impl LastPlace {
    fn expected(&self, demand: &Demand, mode: Mode, now: Moment) -> Option<Duration> {
        self.expected.or_else(|| demand.expected(mode, self.turns, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::made_up::at_millis as at;

    fn name(number: u64) -> ResourceName {
        ResourceName::new(number.to_string()).unwrap()
    }

    #[test]
    fn what_is_remembered_is_bounded_and_what_was_asked_for_lately_stays() {
        let mut demands = Demands::default();
        for number in 0..10_000 {
            demands.asked(&name(number), at(number));
            demands.asked(&name(0), at(number));
            assert!(demands.0.len() <= AT_MOST);
        }
        for (number, known) in [(0, true), (9_999, true), (9_500, true), (8_000, false), (1, false)] {
            assert_eq!(demands.known(&name(number)).is_some(), known, "{number}");
        }
        for of_one_moment in 20_000..23_000 {
            demands.asked(&name(of_one_moment), at(10_000));
            assert!(demands.0.len() <= AT_MOST);
        }
    }

    #[test]
    fn a_resource_that_nobody_waits_for_any_more_is_forgotten() {
        let mut demands = Demands::default();
        demands.asked(&name(1), at(0));
        demands.asked(&name(2), at(1));
        demands.forget_old(Moment::since_origin(LONGEST_MEMORY) + Duration::from_millis(1));
        assert!(demands.known(&name(1)).is_none() && demands.known(&name(2)).is_some());
    }

    #[test]
    fn one_more_than_can_be_remembered_leaves_the_newer_half() {
        let mut demands = Demands::default();
        let most = AT_MOST as u64;
        for number in 0..=most {
            demands.asked(&name(number), at(number));
        }
        let left = (0..=most).filter(|number| demands.get(&name(*number)).is_some());
        assert!(left.eq(most / 2 + 1..=most));
    }

    #[test]
    fn a_place_is_overdue_after_twice_the_wait_that_was_expected_there_and_a_turn() {
        let ms = Duration::from_millis;
        let mut demand = Demand::default();
        demand.held(ms(100), at(0));
        let place = |last| Place { first: (at(0), 3.0), last, followed: false };
        let since_0 = |expected| place(Some(LastPlace { since: at(0), turns: 3.0, expected }));
        let (told, counted) = (since_0(Some(ms(250))), since_0(None));
        for (place, now, left, is_overdue) in [
            (told, 100, Some(150), false),
            (told, 600, Some(0), false),
            (told, 601, None, true),
            (counted, 100, Some(200), false),
            (counted, 700, Some(0), false),
            (counted, 701, None, true),
            (place(None), 0, None, true),
        ] {
            assert_eq!(place.is_overdue(&demand, Mode::Exclusive, at(now)), is_overdue, "{place:?} at {now}");
            assert_eq!(place.left(&demand, Mode::Exclusive, at(now)), left.map(ms), "{place:?} at {now}");
        }
        let unknown = Demand::default();
        assert!(!counted.is_overdue(&unknown, Mode::Exclusive, at(9_000)), "nothing was expected");
        assert_eq!(counted.left(&unknown, Mode::Exclusive, at(0)), None);
    }
}
