//! The tick that is due: which of the missed ones are made up for, and how long one waits for its jitter.

use std::iter::successors;

use super::{plan::TickPlan, time::Millis};

/// The policy for ticks that were missed: nobody ran the schedule, the store was away, or the run before them was still
/// going on. Ticks of a pause are not missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misfire {
    /// None is made up for. A tick that is at most a second late counts as not missed, unless the next one is due.
    Skip,
    /// One run makes up for all of them: that of the latest.
    #[default]
    Once,
    /// Each of them is run, the earliest first, but only the latest so many (1 to 1,000).
    All(u32),
}

#[derive(Clone, Debug)]
pub(super) struct DueRules {
    pub(super) misfire: Misfire,
    /// The longest time that a tick waits. It is less than the period; of a cron expression it is not known if it is less
    /// than the shortest time between two ticks, and then a tick may be late by the interval of the looks.
    pub(super) jitter: Millis,
    /// A number of the schedule, so that not all schedules wait alike.
    pub(super) seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Now(Millis),
    /// Nothing is due before this time. `None`: never again.
    At(Option<Millis>),
}

/// The time for which a tick counts as not missed.
const TOLERANCE: Millis = 1_000;

impl DueRules {
    /// Returns the tick to run now, after the one that was run `last`.
    pub(super) fn due(&self, plan: &TickPlan, last: Millis, now: Millis) -> Due {
        let mut next = plan.after(last.max(now));
        let mut due = plan.at_or_before(now).filter(|tick| *tick > last);
        // Its jitter may not be over.
        while let Some(tick) = due.filter(|tick| self.start(*tick) > now) {
            next = Some(tick);
            due = self.earlier(plan, tick, last);
        }
        let wait = Due::At(next.map(|tick| self.start(tick)));
        let Some(latest) = due else { return wait };
        match self.misfire {
            Misfire::Skip if now - self.start(latest) > TOLERANCE => wait,
            Misfire::Skip | Misfire::Once => Due::Now(latest),
            Misfire::All(most) => Due::Now(self.earliest(plan, latest, last, most)),
        }
    }

    /// Returns the earliest of the `most` latest ticks up to `latest`.
    fn earliest(&self, plan: &TickPlan, latest: Millis, last: Millis, most: u32) -> Millis {
        let up_to_latest = successors(Some(latest), |tick| self.earlier(plan, *tick, last));
        up_to_latest.take(most as usize).last().unwrap_or(latest)
    }

    fn earlier(&self, plan: &TickPlan, tick: Millis, last: Millis) -> Option<Millis> {
        plan.before(tick).filter(|earlier| *earlier > last)
    }

    /// Returns the time at which a tick may start. It is the same in every process.
    fn start(&self, tick: Millis) -> Millis {
        let share = mixed(self.seed ^ mixed(tick)) % (self.jitter + 1);
        tick.saturating_add(share)
    }
}

pub(super) fn seed_of(name: &[u8]) -> u64 {
    name.iter().fold(0, |seed, byte| mixed(seed ^ u64::from(*byte)))
}

/// Returns a number in which each bit depends on all bits of the given one (the finalizer of SplitMix64).
const fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    const PLAN: TickPlan = TickPlan::Every(100);

    fn rules(misfire: Misfire, jitter: Millis) -> DueRules {
        DueRules { misfire, jitter, seed: 7 }
    }

    fn due(misfire: Misfire, last: Millis, now: Millis) -> Due {
        rules(misfire, 0).due(&PLAN, last, now)
    }

    #[test]
    fn a_tick_is_due_from_its_time_on_until_it_ran() {
        for misfire in [Misfire::Skip, Misfire::Once, Misfire::All(5)] {
            assert_eq!(due(misfire, 1_000, 1_099), Due::At(Some(1_100)));
            assert_eq!(due(misfire, 1_000, 1_100), Due::Now(1_100));
            assert_eq!(due(misfire, 1_100, 1_100), Due::At(Some(1_200)));
        }
    }

    #[test]
    fn missed_ticks_are_skipped_run_once_or_made_up_for() {
        assert_eq!(due(Misfire::Once, 1_000, 1_550), Due::Now(1_500));
        assert_eq!(due(Misfire::Skip, 1_000, 1_550), Due::Now(1_500), "50 ms late is not missed");
        assert_eq!(due(Misfire::All(3), 1_000, 1_550), Due::Now(1_300));
        assert_eq!(due(Misfire::All(100), 1_000, 1_550), Due::Now(1_100));
        let rare = TickPlan::Every(10_000);
        let skip = rules(Misfire::Skip, 0);
        assert_eq!(skip.due(&rare, 0, 11_000), Due::Now(10_000));
        assert_eq!(skip.due(&rare, 0, 11_001), Due::At(Some(20_000)));
    }

    #[test]
    fn a_clock_that_went_back_runs_nothing_again() {
        for misfire in [Misfire::Skip, Misfire::Once, Misfire::All(5)] {
            assert_eq!(due(misfire, 1_000, 500), Due::At(Some(1_100)));
        }
    }

    #[test]
    fn each_tick_starts_within_its_jitter_and_in_order() {
        let mut random = StdRng::seed_from_u64(1);
        for case in 0..1_000 {
            let (seed, last) = (random.random(), random.random_range(0..10_000));
            let rules = DueRules { misfire: Misfire::Once, jitter: 99, seed };
            let Due::At(Some(start)) = rules.due(&PLAN, last, last) else { panic!("{case}: due too soon") };
            let tick = PLAN.after(last).unwrap();
            assert!((tick..tick + 100).contains(&start), "{case}: {start} for {tick}");
            assert_eq!(rules.due(&PLAN, last, start), Due::Now(tick), "{case}");
            assert!(start == tick || rules.due(&PLAN, last, start - 1) == Due::At(Some(start)), "{case}");
        }
    }

    #[test]
    fn no_tick_is_run_twice_and_all_that_are_run_are_of_the_plan() {
        let mut random = StdRng::seed_from_u64(2);
        for case in 0..1_000 {
            let all = Misfire::All(random.random_range(1..6));
            let misfire = [Misfire::Skip, Misfire::Once, all][random.random_range(0..3)];
            let rules = rules(misfire, random.random_range(0..100));
            let (mut last, mut now) = (5_000, 5_000);
            for _ in 0..random.random_range(1..60) {
                now += random.random_range(0..700);
                while let Due::Now(tick) = rules.due(&PLAN, last, now) {
                    assert!(tick > last && tick <= now && tick % 100 == 0, "{case}: {tick} after {last}");
                    last = tick;
                }
            }
        }
    }
}
