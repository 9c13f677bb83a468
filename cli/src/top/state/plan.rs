//! The choice of resources that the next sample asks about: not more than a bound, whatever the store contains.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use leasehold::ResourceName;

use super::resource::Resource;

/// The most resources that one sample asks about.
pub(crate) const ASKED_AT_MOST: usize = 200;
/// How many of them may be resources that nobody waits for, and that are not on the screen.
const IDLE_AT_MOST: usize = 50;
/// The holders and waiters that all answers of a sample have together, about.
const TOLD_TOGETHER: usize = 4_000;

/// Returns the resources to ask about: those that are `shown`, then those that are urgent, then others in turn. If more
/// are urgent than may be asked about, half of the places are for the longest queues that are known, and the other
/// half goes round.
pub(crate) fn plan(
    resources: &BTreeMap<ResourceName, Resource>,
    shown: &[ResourceName],
) -> Vec<ResourceName> {
    let mut asked: Vec<_> = shown.iter().take(ASKED_AT_MOST).cloned().collect();
    let known: BTreeSet<_> = shown.iter().collect();
    let others = || resources.iter().filter(|(name, _)| !known.contains(name));
    let mut urgent: Vec<_> = others().filter(|(_, resource)| resource.is_urgent()).collect();
    let places = ASKED_AT_MOST - asked.len();
    if urgent.len() > places {
        urgent.sort_by_key(|(_, resource)| Reverse(resource.waiting()));
        // Those that were never looked at come first here: `None` is the least.
        urgent[places / 2..].sort_by_key(|(_, resource)| resource.looked());
    }
    asked.extend(urgent.into_iter().take(places).map(|(name, _)| name.clone()));
    let places = (ASKED_AT_MOST - asked.len()).min(IDLE_AT_MOST);
    let mut idle: Vec<_> = others().filter(|(_, resource)| !resource.is_urgent()).collect();
    idle.sort_by_key(|(_, resource)| resource.looked());
    asked.extend(idle.into_iter().take(places).map(|(name, _)| name.clone()));
    asked
}

/// Returns the number of holders, and of waiters, that each answer may have if so many resources are asked about.
pub(crate) const fn told_each(asked: usize) -> usize {
    let each = TOLD_TOGETHER / if asked == 0 { 1 } else { asked };
    if each > 100 { 100 } else { each }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use leasehold::Inspection;
    use leasehold_console::view::ResourceView;

    use super::*;

    fn name(number: usize) -> ResourceName {
        ResourceName::new(format!("r{number:05}")).unwrap()
    }

    fn look(number: usize, waiting: usize) -> ResourceView {
        let found = Inspection { total: 1, waiting: waiting as u64, ..Inspection::default() };
        ResourceView::of(&name(number), &found)
    }

    /// So many resources, the first `contended` of which are waited for.
    fn resources(count: usize, contended: usize) -> BTreeMap<ResourceName, Resource> {
        let resource = |number| {
            let mut resource = Resource::new(&name(number));
            (resource.listed, resource.contended) = (true, number < contended);
            (name(number), resource)
        };
        (0..count).map(resource).collect()
    }

    #[test]
    fn those_on_the_screen_come_first_and_nobody_twice() {
        let resources = resources(1_000, 10);
        let asked = plan(&resources, &[name(500), name(3)]);
        assert_eq!(asked[..3], [name(500), name(3), name(0)]);
        assert_eq!(asked.len(), 2 + 9 + IDLE_AT_MOST);
        assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), asked.len());
    }

    #[test]
    fn a_bound_holds_for_every_number_of_them() {
        for (count, contended, shown) in [(0, 0, 0), (10, 10, 10), (10_000, 10_000, 40), (10_000, 0, 300)] {
            let shown: Vec<_> = (0..shown).map(name).collect();
            let asked = plan(&resources(count, contended), &shown).len();
            assert!(asked <= ASKED_AT_MOST, "{asked} of {count}");
            assert!(asked * told_each(asked) <= TOLD_TOGETHER && told_each(asked) >= 20);
        }
    }

    #[test]
    fn long_queues_are_always_asked_about_and_all_others_in_turn() {
        let mut resources = resources(2_000, 1_000);
        let mut asked_at_all = BTreeSet::new();
        for second in 1..=20 {
            let asked = plan(&resources, &[]);
            assert!(second == 1 || asked.contains(&name(999)), "the longest queue is left out");
            let at = Duration::from_secs(second);
            for row in asked {
                let number: usize = row.to_string()[1..].parse().unwrap();
                resources.get_mut(&row).unwrap().take(look(number, number), at);
                asked_at_all.insert(row);
            }
            // The queue of 999 is the longest. From the first sample on that is known.
            resources.get_mut(&name(999)).unwrap().take(look(999, 999), at);
        }
        assert!(
            (1..1_000).all(|number| asked_at_all.contains(&name(number))),
            "{} of 1,000",
            asked_at_all.len()
        );
    }

    #[test]
    fn what_nobody_waits_for_is_looked_at_in_turn() {
        let mut resources = resources(500, 0);
        for second in 0..10 {
            for name in plan(&resources, &[]) {
                let number: usize = name.to_string()[1..].parse().unwrap();
                resources.get_mut(&name).unwrap().take(look(number, 0), Duration::from_secs(second));
            }
        }
        assert!(resources.values().all(|resource| resource.looked().is_some()));
    }
}
