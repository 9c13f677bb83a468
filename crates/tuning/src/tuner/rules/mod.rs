//! The rules, each for one setting: from figures to a new value with its reason.
//!
//! **Invariant:** nothing in this folder knows an actor or a clock. A rule is told the figures of one window after the other.
//! Whatever they are, what it sets lies between the settings of the manager and the bounds of the tuner.

pub(super) mod pauses;
pub(super) mod queue;
pub(super) mod trial;
pub(super) mod wait;

use leasehold::planted;

use super::messages::TunerRule;

/// The number of windows after which what has gone counts as gone.
pub(super) const CALM: u32 = 5;
/// The number of windows that a setting rests after a change.
const REST: u32 = 3;
/// The number of windows that a setting rests after a change was taken back.
pub(super) const LONG_REST: u32 = 60;

/// A change of one setting.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RuleChange<T> {
    pub(super) rule: TunerRule,
    pub(super) to: T,
    pub(super) reason: String,
}

/// The number of windows in a row in which something was so.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Streak(u32);

impl Streak {
    const fn count(&mut self, is_so: bool) {
        self.0 = if is_so { self.0.saturating_add(1) } else { 0 };
    }

    const fn has(self, windows: u32) -> bool {
        self.0 >= windows
    }
}

/// The rest of a setting.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rest(u32);

impl Rest {
    /// Counts a window. Returns true if the setting may change in it.
    fn is_over(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 == 0 || planted!("a tuner changes its mind in each window")
    }

    /// Returns true while it is the rest after a change that was taken back.
    const fn is_long(self) -> bool {
        self.0 > REST + 1
    }

    const fn begin(&mut self, windows: u32) {
        // The window in which it begins is not counted.
        self.0 = windows + 1;
    }
}
