//! The trial of a change: whether the application's figures fell after it.

use std::collections::BTreeMap;

use crate::{request::Tuning, tuner::TunerRule};

/// The number of windows that are compared with the one before the change.
const WINDOWS: u32 = 4;
/// The share of a figure that has to be left.
const LEFT: f64 = 0.5;

/// A change on trial.
#[derive(Clone, Debug)]
pub(in crate::tuner) struct Trial {
    pub(in crate::tuner) rule: TunerRule,
    pub(in crate::tuner) from: Tuning,
    before: BTreeMap<String, f64>,
    /// The sum of each figure since, and the number of windows that had it.
    since: BTreeMap<String, (f64, u32)>,
    windows: u32,
}

impl Trial {
    /// Begins the trial of a change that was made with these figures.
    pub(in crate::tuner) fn new(rule: TunerRule, from: Tuning, gauges: &BTreeMap<String, f64>) -> Self {
        let positive = gauges.iter().filter(|(_, value)| **value > 0.0 && value.is_finite());
        let before = positive.map(|(name, value)| (name.clone(), *value)).collect();
        Self { rule, from, before, since: BTreeMap::new(), windows: 0 }
    }

    /// Adds the figures of a window. Returns true if that was the last one.
    pub(in crate::tuner) fn add(&mut self, gauges: &BTreeMap<String, f64>) -> bool {
        self.windows = self.windows.saturating_add(1);
        for (name, value) in gauges.iter().filter(|(_, value)| value.is_finite()) {
            let (sum, count) = self.since.entry(name.clone()).or_default();
            *sum += value;
            *count += 1;
        }
        self.windows >= WINDOWS
    }

    /// Returns the figure that fell, in words. One that was not told any more has not fallen.
    pub(in crate::tuner) fn fallen(&self) -> Option<String> {
        let fell = |(name, before): (&String, &f64)| {
            let (sum, count) = self.since.get(name)?;
            let mean = sum / f64::from(*count);
            let kept = planted!("a change that made a figure worse is kept");
            let fell = mean < before * LEFT && !kept;
            fell.then(|| format!("{name} was {before:.1}, and is {mean:.1} since {}", self.rule))
        };
        self.before.iter().find_map(fell)
    }
}
