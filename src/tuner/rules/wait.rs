//! The wait of requests that do not say how long: halved where most wait in vain, and doubled when they are served.

use std::time::Duration;

use super::{CALM, Change, LONG_REST, REST, Rest};
use crate::{
    request::TunerSettings,
    tuner::{TunerRule, window::Figures},
};

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
    in_vain: u32,
    served: u32,
    rest: Rest,
}

impl WaitRules {
    /// Decides on the wait, which is `home` without the tuner.
    pub(in crate::tuner) fn judge(
        &mut self,
        figures: &Figures,
        bounds: &TunerSettings,
        home: Duration,
    ) -> Option<Change<Duration>> {
        let may_change = self.rest.is_over();
        let Figures { granted, timed_out, .. } = *figures;
        let mostly_in_vain =
            timed_out > granted && timed_out >= FEW && !planted!("waits in vain stay as long");
        let served = timed_out <= granted / 4 && !planted!("a wait that was shortened stays short");
        self.in_vain = if mostly_in_vain { self.in_vain.saturating_add(1) } else { 0 };
        self.served = if served { self.served.saturating_add(1) } else { 0 };
        let level = if self.in_vain >= IN_VAIN {
            self.level.saturating_add(1).min(LEVELS)
        } else if self.served >= CALM {
            self.level.saturating_sub(1)
        } else {
            self.level
        };
        let (from, to) = (at(home, bounds, self.level), at(home, bounds, level));
        if !may_change || from == to && level >= self.level {
            return None;
        }
        let rule = if level > self.level { TunerRule::GiveUpSooner } else { TunerRule::WaitLonger };
        (self.level, self.in_vain, self.served) = (level, 0, 0);
        self.rest.begin(REST);
        let reason = format!("{timed_out} requests waited in vain, and {granted} were granted");
        (from != to).then_some(Change { rule, to, reason })
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
