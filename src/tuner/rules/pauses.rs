//! The pauses between attempts, where waiters poll: doubled while the server is loaded, and halved when it is idle.

use std::time::Duration;

use super::{CALM, Change, LONG_REST, REST, Rest};
use crate::{
    core::Backoff,
    request::TunerSettings,
    tuner::{TunerRule, window::Figures},
};

/// The largest number of doublings.
const LEVELS: u32 = 10;
/// The share of a core above which a server is loaded, and the one below which it is idle: far enough below half of the other
/// that halved pauses do not load it again.
const LOADED: f64 = 0.75;
const IDLE: f64 = 0.3;
/// The factors of the least latency at which an answer is late, and in time again.
const LATE: f64 = 8.0;
const IN_TIME: f64 = 3.0;
/// A latency that is not late in any case, in seconds.
const SHORT: f64 = 0.005;
/// The factors by which the least latency grows in a window, so that a longer way to the server is not for ever late: while it
/// answers in time, and while it does not. At that pace a server that stays slow is late for an hour.
const FORGETS: f64 = 1.02;
const FORGETS_WHILE_LATE: f64 = 1.001;

/// The state of the rules for pauses.
#[derive(Clone, Debug, Default)]
pub(in crate::tuner) struct PauseRules {
    /// The number of doublings.
    level: u32,
    /// The windows in a row in which the server was idle.
    idle: u32,
    least_latency: Option<f64>,
    rest: Rest,
}

impl PauseRules {
    /// Decides on the pauses, which are `home` without the tuner.
    pub(in crate::tuner) fn judge(
        &mut self,
        figures: &Figures,
        bounds: &TunerSettings,
        home: Backoff,
    ) -> Option<Change<Backoff>> {
        let may_change = self.rest.is_over();
        let lateness = self.lateness(figures.latency);
        let load = figures.load.filter(|load| load.is_finite());
        let is_late = lateness.is_some_and(|times| times >= LATE);
        let is_loaded = load.is_some_and(|load| load >= LOADED) || is_late;
        let is_known = load.is_some() || lateness.is_some();
        let is_idle =
            is_known && load.is_none_or(|load| load <= IDLE) && lateness.is_none_or(|it| it <= IN_TIME);
        let returns = !figures.polls || is_idle && !planted!("pauses stay long when the server is idle");
        self.idle = if returns { self.idle.saturating_add(1) } else { 0 };
        let level = if figures.polls && is_loaded && !planted!("a loaded server is polled as before") {
            self.level.saturating_add(1).min(LEVELS)
        } else if self.idle >= CALM {
            self.level.saturating_sub(1)
        } else {
            self.level
        };
        let (from, to) = (at(home, bounds, self.level), at(home, bounds, level));
        if !may_change || from == to && level >= self.level {
            return None;
        }
        let rule = if level > self.level { TunerRule::PollSlower } else { TunerRule::PollFaster };
        (self.level, self.idle) = (level, 0);
        self.rest.begin(REST);
        let reason = match (load, lateness) {
            _ if !figures.polls => "waiters are notified again".to_owned(),
            (Some(load), Some(times)) => {
                format!("the server needs {load:.2} of a core, and answers in {times:.1} times its best")
            }
            (Some(load), None) => format!("the server needs {load:.2} of a core"),
            (None, times) => format!("the server answers in {:.1} times its best", times.unwrap_or(1.0)),
        };
        (from != to).then_some(Change { rule, to, reason })
    }

    /// Has the pauses rest one level lower after a change that was taken back.
    pub(in crate::tuner) fn taken_back(&mut self) {
        self.level = self.level.saturating_sub(1);
        self.rest.begin(LONG_REST);
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

/// Returns the pauses after so many doublings.
pub(in crate::tuner) fn at(home: Backoff, bounds: &TunerSettings, level: u32) -> Backoff {
    let factor = 1_u32 << level.min(LEVELS);
    let grown = |pause: Duration| pause.saturating_mul(factor).min(bounds.max_pause.max(pause));
    Backoff {
        initial: grown(home.initial),
        max: grown(home.max),
        attempts: home.attempts.map(|most| (most / factor).max(bounds.min_attempts).min(most)),
        ..home
    }
}
