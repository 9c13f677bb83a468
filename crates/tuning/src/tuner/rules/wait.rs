//! The wait of requests that do not say how long: halved where most wait in vain, and doubled when that is over.
//!
//! It helps where the waiters of a process compete with one another. Where other processes wait for longer it leads to nothing,
//! and is undone.

use std::time::Duration;

use leasehold::{TunerSettings, planted};

use super::{CALM, LONG_REST, REST, Rest, RuleChange, Streak};
use crate::tuner::{messages::TunerRule, window::WindowFigures};

/// The largest number of halvings.
const LEVELS: u32 = 10;
/// The number of requests in a window below which a rate says little.
const FEW: u64 = 5;
/// The number of windows in a row after which waits in vain are no accident.
const IN_VAIN: u32 = 2;

/// The state of the rules for the wait.
#[derive(Clone, Debug, Default)]
pub(in crate::tuner) struct WaitRules {
    /// The number of halvings.
    level: u32,
    /// The windows in a row in which most waited in vain, and in which they did not.
    in_vain: Streak,
    calm: Streak,
    rest: Rest,
}

impl WaitRules {
    /// Decides on the wait, which is `home` without the tuner.
    pub(in crate::tuner) fn judge(
        &mut self,
        figures: &WindowFigures,
        bounds: &TunerSettings,
        home: Duration,
    ) -> Option<RuleChange<Duration>> {
        let may_change = self.rest.is_over();
        let WindowFigures { granted, timed_out, .. } = *figures;
        let mostly_in_vain = Self::has_cause(figures) && !planted!("waits in vain stay as long");
        // Others wait for longer, and come first: to give up sooner than they do leads to nothing.
        let starves = mostly_in_vain && self.level > 0 && granted == 0;
        self.in_vain.count(mostly_in_vain);
        // A wait that is too short makes some requests wait in vain by itself, so it is not asked for more than this: what does not
        // begin a shorter wait, such as a burst now and then, does not keep it.
        let is_calm = !self.in_vain.has(IN_VAIN) && !planted!("a wait that was shortened stays short");
        self.calm.count(is_calm);
        let level = if starves {
            0
        } else if self.in_vain.has(IN_VAIN) {
            self.level.saturating_add(1).min(LEVELS)
        } else if self.calm.has(CALM) {
            self.level.saturating_sub(1)
        } else {
            self.level
        };
        let (from, to) = (at(home, bounds, self.level), at(home, bounds, level));
        if !may_change || from == to && level >= self.level {
            return None;
        }
        let rule = if level > self.level { TunerRule::GiveUpSooner } else { TunerRule::WaitLonger };
        (self.level, self.in_vain, self.calm) = (level, Streak::default(), Streak::default());
        self.rest.begin(if starves { LONG_REST } else { REST });
        let reason = format!("{timed_out} requests waited in vain, and {granted} were granted");
        (from != to).then_some(RuleChange { rule, to, reason })
    }

    /// Returns true if there is what a shorter wait answers: most wait in vain.
    pub(in crate::tuner) fn has_cause(figures: &WindowFigures) -> bool {
        figures.timed_out > figures.granted && figures.timed_out >= FEW
    }

    /// Notes that a step back was not made.
    pub(in crate::tuner) const fn not_returned(&mut self) {
        self.level += 1;
    }

    /// Has the wait rest one level higher after a change that was taken back.
    pub(in crate::tuner) fn taken_back(&mut self) {
        self.level = self.level.saturating_sub(1);
        self.rest.begin(LONG_REST);
    }
}

/// Returns the wait after so many halvings.
pub(in crate::tuner) fn at(home: Duration, bounds: &TunerSettings, level: u32) -> Duration {
    (home / (1 << level.min(LEVELS))).max(bounds.min_wait.min(home))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: Duration = Duration::from_secs(2);

    /// Feeds windows of so many granted, and in vain. Returns the last wait.
    fn fed(rules: &mut WaitRules, windows: u32, granted: u64, timed_out: u64, before: Duration) -> Duration {
        let (bounds, figures) =
            (TunerSettings::default(), WindowFigures { granted, timed_out, ..WindowFigures::default() });
        (0..windows).fold(before, |wait, _| rules.judge(&figures, &bounds, HOME).map_or(wait, |it| it.to))
    }

    #[test]
    fn a_wait_returns_when_what_made_it_short_is_over_though_it_is_too_short_for_some() {
        let mut rules = WaitRules::default();
        let short = fed(&mut rules, 40, 10, 30, HOME);
        assert_eq!(short, Duration::from_millis(100));
        assert_eq!(fed(&mut rules, 40, 10, 11, short), short);
        // 80 % of what can be served: at the short wait two of five are in vain.
        assert_eq!(fed(&mut rules, 60, 3, 2, short), HOME);
    }

    #[test]
    fn a_shorter_wait_after_which_nobody_is_granted_is_undone_for_a_while() {
        let mut rules = WaitRules::default();
        let short = fed(&mut rules, 3, 10, 30, HOME);
        assert_eq!(short, HOME / 2);
        assert_eq!(fed(&mut rules, 60, 0, 40, short), HOME);
    }
}
