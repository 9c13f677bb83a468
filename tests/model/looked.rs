//! A world and how far it is looked at, with all rules and without one of them.

use leasehold_sim::checked::{Checked, Way};

/// A world, and the steps of it that are looked at. A planted bug has to be found in the steps that are found clean.
#[derive(Clone)]
pub(crate) struct Looked<W> {
    pub(crate) world: W,
    pub(crate) steps: usize,
}

impl<W: Checked> Looked<W> {
    /// Asserts that this world breaks this property without a rule. Returns the way to that.
    pub(crate) fn found(&self, property: &'static str, without: W::Rules) -> Way {
        self.leads_to(self.world.clone().under(without), property)
    }

    /// Asserts that it does, on a way with a step of this name.
    pub(crate) fn found_by(&self, step: &str, property: &'static str, without: W::Rules) {
        let way = self.found(property, without);
        assert!(way.text.contains(step), "{}", way.text);
    }

    /// Asserts that this world leads to this state.
    pub(crate) fn reached(&self, state: &'static str) {
        self.leads_to(self.world.clone(), state);
    }

    fn leads_to(&self, world: W, property: &'static str) -> Way {
        let way = world.broken(property, self.steps);
        let way = way.unwrap_or_else(|| panic!("not found in {} steps: {property}", self.steps));
        assert!(way.steps <= self.steps, "{} steps: {}", way.steps, way.text);
        way
    }

    /// Asserts that nothing is broken, and that there are more states than so many.
    pub(crate) fn clean(&self, at_least: usize) {
        let (states, path) = self.world.clone().check(self.steps);
        assert_eq!(path, None);
        assert!(states > at_least, "{states}");
    }
}
