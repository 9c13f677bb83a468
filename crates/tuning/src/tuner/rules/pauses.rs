//! The pauses between attempts, where waiters poll: doubled while the server is loaded, and halved when it is no more.
//!
//! What a server has to do for others stays, so a server need not be idle for pauses to return. They are tried one step
//! shorter; if that loads it again, they stay for a while.

use std::{fmt::Write, time::Duration};

use leasehold::{Backoff, TunerSettings, Tuning, planted};

use super::{CALM, LONG_REST, REST, Rest, RuleChange, Streak};
use crate::tuner::{messages::TunerRule, window::WindowFigures};

/// The largest number of doublings.
const LEVELS: u32 = 10;
/// The share of a core from which on a server is loaded, and the one up to which it is idle: far enough below half of the other
/// that halved pauses do not load it again.
const LOADED: f64 = 0.75;
const IDLE: f64 = 0.3;
/// The share of its memory from which on a server is loaded, and the one up to which it is idle: where it is full, it refuses to
/// grant anything.
const FULL: f64 = 0.9;
const ROOMY: f64 = 0.8;
/// The factors of the least latency at which an answer is late, and in time again.
const LATE: f64 = 8.0;
const IN_TIME: f64 = 3.0;
/// The number of windows in a row after which a server is loaded. One late answer, of a failover for instance, is none.
const IN_A_ROW: u32 = 2;
/// A latency that is not late in any case, in seconds.
const SHORT: f64 = 0.005;
/// The factors by which the least latency grows in a window, so that a longer way to the server is not for ever late: while it
/// answers in time, and while it does not. At that pace a server that stays slow is late for some 2,000 windows.
const FORGETS: f64 = 1.02;
const FORGETS_WHILE_LATE: f64 = 1.001;

/// The state of the rules for pauses.
#[derive(Clone, Debug, Default)]
pub(in crate::tuner) struct PauseRules {
    /// The number of doublings.
    level: u32,
    /// The windows in a row in which the server was loaded, in which it was not, and in which it was idle.
    loaded: Streak,
    calm: Streak,
    idle: Streak,
    /// True from a step back until the server was calm after it.
    tries: bool,
    /// The windows for which no step back is tried, after one that loaded the server again.
    stays: Rest,
    least_latency: Option<f64>,
    rest: Rest,
}

impl PauseRules {
    /// Decides on the pauses, which are `now`, where the settings are `home` without the tuner.
    pub(in crate::tuner) fn judge(
        &mut self,
        figures: &WindowFigures,
        bounds: &TunerSettings,
        home: &Tuning,
        now: Backoff,
    ) -> Option<RuleChange<Backoff>> {
        let (may_change, may_try) = (self.rest.is_over(), self.stays.is_over());
        let lateness = self.lateness(figures.latency);
        let load = figures.load.filter(|load| load.is_finite());
        let memory = figures.memory.filter(|memory| memory.is_finite());
        let is_late = lateness.is_some_and(|times| times >= LATE);
        let is_full = memory.is_some_and(|memory| memory >= FULL);
        let is_loaded = load.is_some_and(|load| load >= LOADED) || is_late || is_full;
        let is_known = load.is_some() || lateness.is_some();
        let has_room = memory.is_none_or(|memory| memory <= ROOMY);
        let is_idle =
            load.is_none_or(|load| load <= IDLE) && lateness.is_none_or(|it| it <= IN_TIME) && has_room;
        let may_return = !planted!("pauses stay long when the server is idle");
        self.loaded.count(is_loaded);
        self.idle.count(!figures.polls || is_known && is_idle && may_return);
        self.calm.count(is_known && !is_loaded && may_return);
        self.tries &= !self.calm.has(CALM);
        let polls_too_fast = figures.polls && self.loaded.has(IN_A_ROW);
        let level = if polls_too_fast && !planted!("a loaded server is polled as before") {
            self.level.saturating_add(1).min(LEVELS)
        } else if self.idle.has(CALM) || self.calm.has(CALM) && may_try {
            self.level.saturating_sub(1)
        } else {
            self.level
        };
        let (to, is_slower) = (at(home, bounds, level), level > self.level);
        if !may_change || level == self.level || is_slower && to == now {
            return None;
        }
        if is_slower && self.tries {
            self.stays.begin(LONG_REST);
        }
        (self.level, self.tries) = (level, !is_slower);
        (self.idle, self.calm) = Default::default();
        self.rest.begin(REST);
        let rule = if is_slower { TunerRule::PollSlower } else { TunerRule::PollFaster };
        let mut reason = reason(figures.polls, load, lateness);
        if let Some(memory) = memory.filter(|_| is_full && is_slower) {
            let _ = write!(reason, "; {:.0} % of its memory is used", memory * 100.0);
        }
        (to != now).then_some(RuleChange { rule, to, reason })
    }

    /// Returns true if there still is what longer pauses answer: waiters poll, and the server has something to do.
    pub(in crate::tuner) fn has_cause(&self, figures: &WindowFigures) -> bool {
        let late = |(latency, least): (f64, f64)| latency >= SHORT && latency > least * IN_TIME;
        let is_late = figures.latency.zip(self.least_latency).is_some_and(late);
        let is_full = figures.memory.is_some_and(|memory| memory > ROOMY);
        figures.polls && (figures.load.is_some_and(|load| load > IDLE) || is_late || is_full)
    }

    /// Has the pauses rest one level lower after a change that was taken back.
    pub(in crate::tuner) fn taken_back(&mut self) {
        self.level = self.level.saturating_sub(1);
        self.rest.begin(LONG_REST);
    }

    /// Notes that a step back was not made.
    pub(in crate::tuner) const fn not_returned(&mut self) {
        self.level += 1;
    }

    /// Returns the latency as a multiple of the least one, which is 1 for a short one.
    fn lateness(&mut self, latency: Option<f64>) -> Option<f64> {
        let latency = latency.filter(|latency| latency.is_finite() && *latency >= 0.0)?;
        let forgets = |least: f64| if latency > least * IN_TIME { FORGETS_WHILE_LATE } else { FORGETS };
        let least = self.least_latency.map_or(latency, |least| (least * forgets(least)).min(latency));
        self.least_latency = Some(least);
        let times = latency / least;
        Some(if latency < SHORT || !times.is_finite() { 1.0 } else { times })
    }
}

/// Returns the figures that led to a change, in words.
fn reason(polls: bool, load: Option<f64>, lateness: Option<f64>) -> String {
    match (load, lateness) {
        _ if !polls => "waiters are notified again".to_owned(),
        (Some(load), Some(times)) => {
            format!("the server needs {load:.2} of a core, and answers in {times:.1} times its best")
        }
        (Some(load), None) => format!("the server needs {load:.2} of a core"),
        (None, times) => format!("the server answers in {:.1} times its best", times.unwrap_or(1.0)),
    }
}

/// Returns the pauses after so many doublings. They are at most a quarter of the wait, else a request that waits asks too few times
/// to get anything. Without a wait of the settings only requests with one of their own poll. Pauses that are wrong already stay.
pub(in crate::tuner) fn at(home: &Tuning, bounds: &TunerSettings, level: u32) -> Backoff {
    let (factor, backoff) = (1_u32 << level.min(LEVELS), home.backoff);
    let longest = if home.wait.is_zero() { bounds.max_pause } else { bounds.max_pause.min(home.wait / 4) };
    let grown = |pause: Duration| pause.saturating_mul(factor).min(longest.max(pause));
    let fewer = |most: u32| (most / factor).max(bounds.min_attempts).min(most);
    let slower = Backoff::new(grown(backoff.initial()), grown(backoff.max()))
        .and_then(|it| it.multiplier(backoff.factor()))
        .and_then(|it| backoff.max_attempts().map_or(Ok(it), |most| it.attempts(fewer(most))));
    slower.map_or(backoff, |it| it.jitter(backoff.jitter_of_pauses()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuner::tests::tuning;

    /// The settings of a manager whose waiters ask each 100 ms, with this wait.
    fn home(wait: Duration) -> Tuning {
        let pause = Duration::from_millis(100);
        tuning(Backoff::new(pause, pause).unwrap(), wait, 10_000)
    }

    const WAIT: Duration = Duration::from_secs(2);

    /// Lets a tuner see a server that others need for a share `base` of a core, and waiters for `polling` of one at the pauses of
    /// the settings. Returns the last level, and the number of changes.
    fn fed(rules: &mut PauseRules, windows: u32, base: f64, polling: f64) -> (u32, u32) {
        let (bounds, home) = (TunerSettings::default(), home(WAIT));
        let mut now = at(&home, &bounds, rules.level);
        let mut changes = 0;
        for _ in 0..windows {
            let load = base + polling * home.backoff.max().as_secs_f64() / now.max().as_secs_f64();
            let figures = WindowFigures { polls: true, load: Some(load), ..WindowFigures::default() };
            if let Some(change) = rules.judge(&figures, &bounds, &home, now) {
                (now, changes) = (change.to, changes + 1);
            }
        }
        (rules.level, changes)
    }

    #[test]
    fn pauses_return_when_waiters_have_gone_though_others_keep_the_server_busy() {
        let mut rules = PauseRules::default();
        let (level, _) = fed(&mut rules, 30, 0.4, 1.2);
        assert_eq!(level, 2, "0.7 of a core with pauses four times as long");
        assert_eq!(fed(&mut rules, 120, 0.4, 0.0).0, 0);
    }

    #[test]
    fn a_step_back_that_loads_the_server_again_is_not_tried_again_for_a_while() {
        let mut rules = PauseRules::default();
        fed(&mut rules, 20, 0.4, 1.2);
        let (level, changes) = fed(&mut rules, 10 * LONG_REST, 0.4, 1.2);
        assert!(level >= 1 && changes <= 2 * 11, "level {level}, {changes} changes");
    }

    #[test]
    fn a_server_that_is_nearly_full_is_asked_less_until_it_has_room() {
        let (bounds, home, mut rules) = (TunerSettings::default(), home(WAIT), PauseRules::default());
        let mut now = home.backoff;
        let mut after = |memory: f64, windows: u32| {
            for _ in 0..windows {
                let (load, memory) = (Some(0.1), Some(memory));
                let figures = WindowFigures { polls: true, load, memory, ..WindowFigures::default() };
                now = rules.judge(&figures, &bounds, &home, now).map_or(now, |change| change.to);
            }
            now.max()
        };
        assert_eq!(after(0.89, 10), home.backoff.max());
        assert!(after(0.95, 10) >= 2 * home.backoff.max());
        assert_eq!(after(0.5, 60), home.backoff.max());
    }

    #[test]
    fn one_late_answer_is_no_slow_server() {
        let (bounds, home, mut rules) = (TunerSettings::default(), home(WAIT), PauseRules::default());
        let mut after = |latency: f64| {
            let figures = WindowFigures { polls: true, latency: Some(latency), ..WindowFigures::default() };
            rules.judge(&figures, &bounds, &home, home.backoff).map(|change| change.rule)
        };
        let one_of_four = [0.001, 0.001, 0.001, 0.5].into_iter().cycle().take(40);
        assert_eq!(one_of_four.filter_map(&mut after).collect::<Vec<_>>(), []);
        assert_eq!([0.001, 0.5, 0.5].map(&mut after), [None, None, Some(TunerRule::PollSlower)]);
    }

    #[test]
    fn pauses_are_a_quarter_of_the_wait_at_most() {
        let bounds = TunerSettings::default();
        let longest = |wait: Duration| at(&home(wait), &bounds, LEVELS).max();
        assert_eq!(longest(WAIT), Duration::from_millis(500));
        assert_eq!(longest(Duration::ZERO), bounds.max_pause);
        assert_eq!(
            longest(Duration::from_millis(1)),
            Duration::from_millis(100),
            "they are never shorter than at home"
        );
    }
}
