//! The demand for each resource that requests of this manager had to wait for.

use std::collections::HashMap;

use crate::core::{Demand, LONGEST_MEMORY, Moment, ResourceName};

/// The largest number of resources of which something is known: about half a megabyte.
const AT_MOST: usize = 1_024;

/// The resources in demand. One that nobody has waited for is not among them, and costs nothing.
#[derive(Default)]
pub(crate) struct Demands(HashMap<ResourceName, KnownDemand>);

struct KnownDemand {
    demand: Demand,
    /// The moment at which somebody had to wait for it last.
    asked: Moment,
}

impl Demands {
    /// Returns the demand for a resource that somebody has to wait for now.
    pub(crate) fn asked(&mut self, resource: &ResourceName, now: Moment) -> &mut Demand {
        if self.0.len() >= AT_MOST && !self.0.contains_key(resource) {
            self.forget_half();
        }
        let new = || KnownDemand { demand: Demand::default(), asked: now };
        let known = self.0.entry(resource.clone()).or_insert_with(new);
        known.asked = now;
        &mut known.demand
    }

    /// Returns the demand for a resource that somebody has waited for.
    pub(crate) fn known(&mut self, resource: &ResourceName) -> Option<&mut Demand> {
        self.0.get_mut(resource).map(|known| &mut known.demand)
    }

    /// Forgets the resources that nobody has waited for in a long time.
    pub(crate) fn forget_old(&mut self, now: Moment) {
        self.0.retain(|_, known| known.asked.elapsed(now) <= LONGEST_MEMORY);
    }

    /// Forgets the resources that nobody has waited for in the longest time: half of them, so that most cost no search.
    fn forget_half(&mut self) {
        let mut asked: Vec<Moment> = self.0.values().map(|known| known.asked).collect();
        let (_, median, _) = asked.select_nth_unstable(AT_MOST / 2);
        let median = *median;
        let mut kept = AT_MOST / 2;
        self.0.retain(|_, known| {
            let stays = known.asked > median && kept > 0;
            kept -= usize::from(stays);
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn name(number: u64) -> ResourceName {
        ResourceName::new(number.to_string()).unwrap()
    }

    fn at(millis: u64) -> Moment {
        Moment::since_origin(Duration::from_millis(millis))
    }

    #[test]
    fn what_is_remembered_is_bounded_and_what_was_asked_for_lately_stays() {
        let mut demands = Demands::default();
        for number in 0..10_000 {
            demands.asked(&name(number), at(number));
            demands.asked(&name(0), at(number));
            assert!(demands.0.len() <= AT_MOST);
        }
        for (number, known) in [(0, true), (9_999, true), (9_500, true), (8_000, false), (1, false)] {
            assert_eq!(demands.known(&name(number)).is_some(), known, "{number}");
        }
    }

    #[test]
    fn a_resource_that_nobody_waits_for_any_more_is_forgotten() {
        let mut demands = Demands::default();
        demands.asked(&name(1), at(0));
        demands.asked(&name(2), at(1));
        demands.forget_old(Moment::since_origin(LONGEST_MEMORY) + Duration::from_millis(1));
        assert!(demands.known(&name(1)).is_none() && demands.known(&name(2)).is_some());
    }

    #[test]
    fn resources_of_one_moment_are_bounded_too() {
        let mut demands = Demands::default();
        (0..3_000).for_each(|number| {
            demands.asked(&name(number), at(7)).holder(token(), at(7));
        });
        assert!(demands.0.len() <= AT_MOST);
    }

    fn token() -> crate::core::TokenPrefix {
        crate::core::Token::from_bits(1).prefix()
    }
}
