//! The trial of a change: whether the application's figures fell after it.

use std::collections::{BTreeMap, VecDeque};

use leasehold::{Tuning, planted};

use crate::tuner::{messages::TunerRule, window::WindowFigures};

/// The number of windows before a change that are compared with as many after it.
const WINDOWS: usize = 4;
/// The share of a figure that has to be left.
const LEFT: f64 = 0.5;

/// The figures of the application in the last windows, with which a change is compared.
#[derive(Clone, Debug, Default)]
pub(in crate::tuner) struct Gauges(VecDeque<BTreeMap<String, f64>>);

/// A change on trial.
#[derive(Clone, Debug)]
pub(in crate::tuner) struct ChangeTrial {
    pub(in crate::tuner) rule: TunerRule,
    pub(in crate::tuner) from: Tuning,
    before: BTreeMap<String, f64>,
    /// The figures of the windows since in which there was the demand that the change is about.
    since: Gauges,
    windows: usize,
}

impl Gauges {
    /// Adds a window.
    pub(in crate::tuner) fn add(&mut self, gauges: &BTreeMap<String, f64>) {
        self.0.push_back(gauges.clone());
        if self.0.len() > WINDOWS {
            self.0.pop_front();
        }
    }

    /// Returns the mean of a figure over the windows that had it.
    fn mean(&self, name: &str) -> Option<f64> {
        let values = self.0.iter().filter_map(|gauges| gauges.get(name)).filter(|value| value.is_finite());
        let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
        (count > 0).then(|| sum / f64::from(count))
    }

    fn means(&self) -> BTreeMap<String, f64> {
        let names = self.0.iter().flat_map(BTreeMap::keys);
        names.filter_map(|name| Some((name.clone(), self.mean(name)?))).collect()
    }
}

impl ChangeTrial {
    /// Begins the trial of a change that was made after these windows.
    pub(in crate::tuner) fn new(rule: TunerRule, from: Tuning, before: &Gauges) -> Self {
        let before = before.means().into_iter().filter(|(_, mean)| *mean > 0.0 && mean.is_finite()).collect();
        Self { rule, from, before, since: Gauges::default(), windows: 0 }
    }

    /// Adds a window. `has_cause` is true if there was what the change answers. Returns true if that was the last window.
    pub(in crate::tuner) fn add(&mut self, figures: &WindowFigures, has_cause: bool) -> bool {
        self.windows += 1;
        if has_cause || planted!("a change is judged by demand that has gone") {
            self.since.add(&figures.gauges);
        }
        self.windows >= WINDOWS
    }

    /// Returns the figure that fell, in words. One that was not told any more has not fallen, and where demand has gone each figure
    /// falls: then there is no verdict, and the rule itself returns.
    pub(in crate::tuner) fn fallen(&self) -> Option<String> {
        if self.since.0.len() < WINDOWS / 2 {
            return None;
        }
        let fell = |(name, before): (&String, &f64)| {
            let mean = self.since.mean(name)?;
            let kept = planted!("a change that made a figure worse is kept");
            let fell = mean < before * LEFT && !kept;
            fell.then(|| format!("{name} was {before:.1}, and is {mean:.1} since {}", self.rule))
        };
        self.before.iter().find_map(fell)
    }
}
