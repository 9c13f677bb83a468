//! The plan of a schedule: when its ticks are by the time of the store, which one is due, and which missed ones are made up for.

use std::{iter::successors, time::Duration};

#[cfg(feature = "cron")]
use super::cron::Cron;
use super::tick::{Gap, Millis, whole_millis};
use crate::core::{InvalidValue, exact, in_range};

#[derive(Clone, Debug)]
pub(super) enum TickPlan {
    /// Each multiple of this many milliseconds since 1970, more than zero.
    Every(Millis),
    /// The times that a cron expression names.
    #[cfg(feature = "cron")]
    Cron(std::sync::Arc<Cron>),
}

impl TickPlan {
    pub(super) fn every(period: Duration) -> Result<Self, InvalidValue> {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        in_range("schedule.every", period, Duration::from_millis(10), 366 * DAY)?;
        whole_millis("schedule.every", period).map(Self::Every)
    }

    #[cfg(feature = "cron")]
    pub(super) fn cron(expression: &str, zone: &str) -> Result<Self, InvalidValue> {
        use std::time::SystemTime;
        // No tick depends on it: it says which years an expression must have one in.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Cron::new(expression, zone, super::tick::millis(now))
            .map(|cron| Self::Cron(std::sync::Arc::new(cron)))
    }

    /// Returns the gap in which this time lies.
    pub(super) fn gap(&self, time: Millis) -> Gap {
        match self {
            Self::Every(period) => {
                let last = time - time % period;
                Gap { last: Some(last), next: last.checked_add(*period) }
            }
            #[cfg(feature = "cron")]
            Self::Cron(cron) => cron.gap(time),
        }
    }

    /// Returns the longest jitter that leaves ticks in their order.
    pub(super) fn longest_jitter(&self) -> Duration {
        match self {
            Self::Every(period) => Duration::from_millis(period.saturating_sub(1)),
            #[cfg(feature = "cron")]
            Self::Cron(_) => Duration::from_secs(60 * 60),
        }
    }

    /// Returns the plan as other processes are told it.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Every(period) => format!("every {}", exact(Duration::from_millis(*period))),
            #[cfg(feature = "cron")]
            Self::Cron(cron) => cron.words.clone(),
        }
    }
}

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

/// The time for which a tick counts as not missed.
const TOLERANCE: Millis = 1_000;

#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) plan: TickPlan,
    pub(super) misfire: Misfire,
    /// The longest time that a tick waits. It is less than the period; of a cron expression it is not known if it is less
    /// than the shortest time between two ticks, and then a tick may be late by the interval of the looks.
    pub(super) jitter: Millis,
    /// A number of the schedule, so that not all schedules wait alike.
    pub(super) seed: u64,
    /// The shortest time between the starts of two runs.
    pub(super) at_least: Millis,
    pub(super) at_once: usize,
    pub(super) history: usize,
    /// The number of times that a tick is run again if its run did not end.
    pub(super) repeats: u32,
    /// The number of failures in a row after which the schedule pauses. Zero: it does not.
    pub(super) pause_after: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Claim(WantedTick),
    /// Nothing before this time. `None`: until something changes.
    Wait(Option<Millis>),
    /// A later runner has claimed a tick: this one is none any more.
    Overtaken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WantedTick {
    pub(super) scheduled_for: Millis,
    pub(super) asked: bool,
    /// The number of attempts before this one.
    pub(super) repeats: u32,
}

#[cfg(test)]
impl Rules {
    /// The rules of a schedule with a tick each second, and no options.
    pub(super) const fn each_second() -> Self {
        Self {
            plan: TickPlan::Every(1_000),
            misfire: Misfire::Once,
            jitter: 0,
            seed: 0,
            at_least: 0,
            at_once: 1,
            history: 2,
            repeats: 0,
            pause_after: 0,
        }
    }
}

impl Rules {
    /// Returns the claim of the tick of the plan to run now, after the one that was run `last`, or the wait for the next one.
    pub(super) fn due(&self, last: Millis, now: Millis) -> Step {
        let mut next = self.plan.gap(last.max(now)).next;
        let mut due = self.plan.gap(now).last.filter(|tick| *tick > last);
        // Its jitter may not be over.
        while let Some(tick) = due.filter(|tick| self.start(*tick) > now) {
            next = Some(tick);
            due = self.earlier(tick, last);
        }
        let wait = Step::Wait(next.map(|tick| self.start(tick)));
        let Some(latest) = due else { return wait };
        let scheduled_for = match self.misfire {
            Misfire::Skip if now - self.start(latest) > TOLERANCE => return wait,
            Misfire::Skip | Misfire::Once => latest,
            Misfire::All(most) => {
                let backward = successors(Some(latest), |tick| self.earlier(*tick, last));
                backward.take(most as usize).last().unwrap_or(latest)
            }
        };
        Step::Claim(WantedTick { scheduled_for, asked: false, repeats: 0 })
    }

    /// Returns the tick before this one, if it is later than the `last` that was run.
    fn earlier(&self, tick: Millis, last: Millis) -> Option<Millis> {
        self.plan.gap(tick.checked_sub(1)?).last.filter(|earlier| *earlier > last)
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

    use super::{super::Schedule, *};

    const PLAN: TickPlan = TickPlan::Every(100);

    fn rules(misfire: Misfire, jitter: Millis) -> Rules {
        Rules { plan: PLAN, misfire, jitter, seed: 7, ..Rules::each_second() }
    }

    fn due(misfire: Misfire, last: Millis, now: Millis) -> Step {
        rules(misfire, 0).due(last, now)
    }

    fn claim(scheduled_for: Millis) -> Step {
        Step::Claim(WantedTick { scheduled_for, asked: false, repeats: 0 })
    }

    #[test]
    fn a_tick_is_due_from_its_time_on_until_it_ran_and_not_again_for_a_clock_that_went_back() {
        for misfire in [Misfire::Skip, Misfire::Once, Misfire::All(5)] {
            assert_eq!(due(misfire, 1_000, 1_099), Step::Wait(Some(1_100)));
            assert_eq!(due(misfire, 1_000, 1_100), claim(1_100));
            assert_eq!(due(misfire, 1_100, 1_100), Step::Wait(Some(1_200)));
            assert_eq!(due(misfire, 1_000, 500), Step::Wait(Some(1_100)));
        }
    }

    #[test]
    fn missed_ticks_are_skipped_run_once_or_made_up_for() {
        assert_eq!(due(Misfire::Once, 1_000, 1_550), claim(1_500));
        assert_eq!(due(Misfire::Skip, 1_000, 1_550), claim(1_500), "50 ms late is not missed");
        assert_eq!(due(Misfire::All(3), 1_000, 1_550), claim(1_300));
        assert_eq!(due(Misfire::All(100), 1_000, 1_550), claim(1_100));
        let rare = Rules { plan: TickPlan::Every(10_000), ..rules(Misfire::Skip, 0) };
        assert_eq!(rare.due(0, 11_000), claim(10_000));
        assert_eq!(rare.due(0, 11_001), Step::Wait(Some(20_000)));
    }

    #[test]
    fn each_tick_starts_within_its_jitter_and_in_order() {
        let mut random = StdRng::seed_from_u64(1);
        for case in 0..1_000 {
            let (seed, last) = (random.random(), random.random_range(0..10_000));
            let rules = Rules { seed, ..rules(Misfire::Once, 99) };
            let Step::Wait(Some(start)) = rules.due(last, last) else { panic!("{case}: due too soon") };
            let tick = PLAN.gap(last).next.unwrap();
            assert!((tick..tick + 100).contains(&start), "{case}: {start} for {tick}");
            assert_eq!(rules.due(last, start), claim(tick), "{case}");
            assert!(start == tick || rules.due(last, start - 1) == Step::Wait(Some(start)), "{case}");
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
                while let Step::Claim(WantedTick { scheduled_for: tick, .. }) = rules.due(last, now) {
                    assert!(tick > last && tick <= now && tick % 100 == 0, "{case}: {tick} after {last}");
                    last = tick;
                }
            }
        }
    }

    #[test]
    fn a_schedule_may_be_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Schedule>();
    }

    #[test]
    fn a_plan_is_told_in_few_words() {
        assert_eq!(TickPlan::Every(90_000).in_words(), "every 1m 30s");
        #[cfg(feature = "cron")]
        {
            let cron = |expression: &str| TickPlan::cron(expression, "UTC").unwrap().in_words();
            assert_eq!(cron(" 0 30  8 * * MON-FRI"), "0 30 8 * * MON-FRI UTC");
            let long = format!("{}0 * * * * *", "0,".repeat(500));
            assert_eq!(cron(&long).len(), crate::leading::schedule::cron::LONGEST_WORDS);
        }
    }
}
