//! The cohorts of a manager.

use std::collections::HashMap;

use slotmap::{Key, SlotMap};

use crate::core::{
    ResourceName,
    engine::{
        cohort::{Cohort, Lack},
        keys::{CohortKey, RecordKey},
    },
};

/// The largest number of queues that are told at a time.
const TOLD: usize = 32;

/// A cohort in which somebody waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongQueue {
    pub(crate) cohort: u64,
    pub(crate) waiting: usize,
    /// The number of grants so far.
    pub(crate) granted: u64,
}

/// The cohorts of a manager. An empty one is removed.
///
/// A waiter looks its resource up by the name once. From then on its record has the key of the cohort.
#[derive(Default)]
pub(crate) struct Cohorts {
    cohorts: SlotMap<CohortKey, KnownCohort>,
    by_resource: HashMap<ResourceName, CohortKey>,
    arrivals: u64,
}

/// A cohort, and what else is known about it.
struct KnownCohort {
    resource: ResourceName,
    cohort: Cohort<RecordKey>,
    /// The number of grants so far.
    granted: u64,
    /// The first arrival of those whose place was not known when they joined. Those before it have one, so that a busy
    /// cohort is not walked for each newcomer.
    unplaced_from: Option<u64>,
}

impl Cohorts {
    /// Adds a waiter to the cohort for a resource. Returns the cohort, its arrival, and the number of members ahead of it.
    pub(crate) fn join(&mut self, resource: &ResourceName, record: RecordKey) -> (CohortKey, u64, usize) {
        self.arrivals += 1;
        let Self { cohorts, by_resource, arrivals, .. } = self;
        let new = || {
            let (resource, cohort) = (resource.clone(), Cohort::default());
            cohorts.insert(KnownCohort { resource, cohort, granted: 0, unplaced_from: None })
        };
        let key = *by_resource.entry(resource.clone()).or_insert_with(new);
        let ahead = cohorts[key].cohort.join(record, *arrivals);
        (key, *arrivals, ahead)
    }

    /// Returns the cohort for a resource, if there is one: the `known` one, or one that has formed since.
    pub(crate) fn find(&self, known: Option<CohortKey>, resource: &ResourceName) -> Option<CohortKey> {
        let known = known.filter(|key| self.cohorts.contains_key(*key));
        known.or_else(|| self.by_resource.get(resource).copied())
    }

    /// Notes that the resource was granted: handed off ahead of other processes, or in its turn.
    pub(crate) fn granted(&mut self, key: CohortKey, record: RecordKey, handed_off: bool) {
        if let Some(known) = self.cohorts.get_mut(key) {
            known.cohort.granted(record, handed_off);
            known.granted += 1;
        }
    }

    /// Changes a cohort, if it is there.
    pub(crate) fn with(&mut self, key: CohortKey, change: impl FnOnce(&mut Cohort<RecordKey>)) {
        if let Some(known) = self.cohorts.get_mut(key) {
            change(&mut known.cohort);
        }
    }

    pub(crate) fn get(&self, key: CohortKey) -> Option<&Cohort<RecordKey>> {
        self.cohorts.get(key).map(|known| &known.cohort)
    }

    /// Notes that the place of the member of this arrival is not known.
    pub(crate) fn note_unplaced(&mut self, key: CohortKey, arrival: u64) {
        if let Some(known) = self.cohorts.get_mut(key) {
            known.unplaced_from = Some(known.unplaced_from.map_or(arrival, |first| first.min(arrival)));
        }
    }

    /// Returns true if there are members whose place was not known when they joined.
    pub(crate) fn has_unplaced(&self, key: CohortKey) -> bool {
        self.cohorts.get(key).is_some_and(|known| known.unplaced_from.is_some())
    }

    /// Returns the members that may have no place, and the number of members ahead of them. From here on they count as placed.
    pub(crate) fn take_unplaced(&mut self, key: CohortKey) -> Option<(u64, Vec<RecordKey>)> {
        let known = self.cohorts.get_mut(key)?;
        let (ahead, members) = known.cohort.members_from(known.unplaced_from.take()?);
        Some((ahead as u64, members))
    }

    /// Returns the lease of this manager that holds the resource.
    pub(crate) fn holder(&self, key: CohortKey) -> Option<RecordKey> {
        self.get(key)?.holder()
    }

    /// Returns what a cohort lacks after it has changed. An empty one is removed.
    pub(crate) fn lack(&mut self, key: CohortKey) -> Option<Lack<RecordKey>> {
        let cohort = self.get(key)?;
        if !cohort.is_empty() {
            return cohort.lack();
        }
        let KnownCohort { resource, .. } = self.cohorts.remove(key)?;
        self.by_resource.remove(&resource);
        None
    }

    /// Returns the longest queues, of cohorts in which somebody waits.
    pub(crate) fn longest_queues(&self) -> Vec<LongQueue> {
        let waited_for = self.cohorts.iter().filter(|(_, known)| known.cohort.waiting() > 0);
        let queue = |(key, KnownCohort { cohort, granted, .. }): (CohortKey, &KnownCohort)| LongQueue {
            cohort: key.data().as_ffi(),
            waiting: cohort.waiting(),
            granted: *granted,
        };
        let mut queues: Vec<_> = waited_for.map(queue).collect();
        if queues.len() > TOLD {
            queues.select_nth_unstable_by_key(TOLD, |queue| std::cmp::Reverse(queue.waiting));
            queues.truncate(TOLD);
        }
        queues
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.cohorts.is_empty() && self.by_resource.is_empty()
    }

    /// Removes all cohorts.
    pub(crate) fn clear(&mut self) {
        self.cohorts.clear();
        self.by_resource.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_comes_to_a_long_queue_is_the_only_one_to_be_placed() {
        let (mut cohorts, mut records) = (Cohorts::default(), SlotMap::<RecordKey, ()>::with_key());
        let resource = ResourceName::new("r").unwrap();
        let joined: Vec<_> = (0..5_000)
            .map(|_| {
                let record = records.insert(());
                let (key, arrival, _) = cohorts.join(&resource, record);
                (key, arrival, record)
            })
            .collect();
        let (key, _, last) = joined[4_999];
        let (_, before_it, next_to_last) = joined[4_998];
        assert!(!cohorts.has_unplaced(key) && cohorts.take_unplaced(key).is_none());
        cohorts.note_unplaced(key, joined[4_999].1);
        assert_eq!(cohorts.take_unplaced(key), Some((4_999, vec![last])));
        cohorts.note_unplaced(key, before_it);
        cohorts.note_unplaced(key, joined[4_999].1);
        assert_eq!(cohorts.take_unplaced(key), Some((4_998, vec![next_to_last, last])));
        assert!(!cohorts.has_unplaced(key));
    }
}
