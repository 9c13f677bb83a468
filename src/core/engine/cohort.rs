//! The waiters of one process for one resource, behind one leader (lock cohorting: Dice, Marathe and Shavit, PPoPP 2012).
//!
//! Only the leader asks the store, or has a queue ticket. The others cost the store nothing. While a lease of this process
//! holds the resource, nobody needs to lead: its release hands the resource off to the next member. This is the
//! bookkeeping alone; `K` names an acquisition.

use std::collections::{BTreeMap, HashMap};

use slotmap::{Key, SlotMap};

use super::{acquisition::Event, steps::RecordKey};
use crate::core::ResourceName;

/// The members of one process that want one resource exclusively.
#[derive(Debug, Default)]
pub(crate) struct Cohort<K> {
    /// The members that have no answer yet, in the order of their arrival.
    members: BTreeMap<u64, K>,
    /// The members that ask the store, and abandoned ones that keep their ticket for the others.
    leaders: Vec<K>,
    /// The acquisition whose lease holds the resource.
    pub(crate) holder: Option<K>,
    /// The number of hand-offs in a row ahead of other processes.
    hand_offs: u32,
    /// The number of grants so far.
    pub(crate) grants: u64,
    /// The first arrival of those whose place was not known when they joined. Those before it have one, so that a busy
    /// cohort is not walked for each newcomer.
    pub(crate) unplaced_from: Option<u64>,
}

impl<K: Copy + PartialEq> Cohort<K> {
    /// Adds a member, whose arrival is larger than that of any other. Returns the number of members ahead of it.
    pub(crate) fn join(&mut self, member: K, arrival: u64) -> usize {
        let ahead = self.members.len();
        self.members.insert(arrival, member);
        ahead
    }

    pub(crate) fn lead(&mut self, member: K) {
        if !self.leaders.contains(&member) {
            self.leaders.push(member);
        }
    }

    /// Removes the member of this arrival. If it leads, its ticket is kept.
    pub(crate) fn abandon(&mut self, arrival: u64) {
        self.members.remove(&arrival);
    }

    /// Removes a member, or an abandoned leader, with its ticket.
    pub(crate) fn remove(&mut self, member: K, arrival: Option<u64>) {
        self.leaders.retain(|leader| *leader != member);
        if let Some(arrival) = arrival {
            self.members.remove(&arrival);
        }
    }

    /// Notes that the resource was granted to `holder`: handed off ahead of other processes, or in its turn.
    pub(crate) fn granted(&mut self, holder: K, handed_off: bool) {
        self.holder = Some(holder);
        self.hand_offs = if handed_off { self.hand_offs + 1 } else { 0 };
        self.grants += 1;
    }

    /// Notes that the lease of `holder` is over.
    pub(crate) fn released(&mut self, holder: K) {
        self.holder.take_if(|known| *known == holder);
    }

    /// Returns the next member, and whether it may be served ahead of other processes (at most `limit` hand-offs in a row).
    pub(crate) fn next(&self, limit: u32) -> Option<(K, bool)> {
        let (_, next) = self.members.first_key_value()?;
        Some((*next, self.hand_offs < limit || planted!("a resource is passed on without a limit")))
    }

    /// Returns the number of members that have no answer yet.
    pub(crate) fn waiting(&self) -> usize {
        self.members.len()
    }

    /// Returns the members that have no answer yet, in the order of their arrival.
    pub(crate) fn members(&self) -> impl Iterator<Item = K> {
        self.members.values().copied()
    }

    /// Notes that the place of the member of this arrival is not known.
    pub(crate) fn note_unplaced(&mut self, arrival: u64) {
        self.unplaced_from = Some(self.unplaced_from.map_or(arrival, |first| first.min(arrival)));
    }

    /// Returns the members that may have no place, and the number of members ahead of them. From here on they count as placed.
    pub(crate) fn take_unplaced(&mut self) -> Option<(usize, Vec<K>)> {
        let members: Vec<K> = self.members.range(self.unplaced_from.take()?..).map(|(_, it)| *it).collect();
        Some((self.members.len() - members.len(), members))
    }

    /// Returns the leader that came first.
    pub(crate) fn leader(&self) -> Option<K> {
        self.leaders.first().copied()
    }

    /// Returns true if others rely on the ticket of this leader.
    pub(crate) fn relies_on(&self, leader: K) -> bool {
        self.leaders == [leader] && self.members.len() > 1
    }

    /// Returns whom an event has to happen to after a change, and which: the first member leads where nobody else does, and an
    /// abandoned leader without members is left alone.
    pub(crate) fn lack(&self) -> Option<(K, Event)> {
        match (self.members.first_key_value(), self.leaders.first()) {
            (None, Some(leader)) => Some((*leader, Event::LeftAlone)),
            (Some((_, first)), None) if self.holder.is_none() => Some((*first, Event::Lead)),
            _ => None,
        }
    }

    /// Returns true if nobody waits, leads or holds.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.leaders.is_empty() && self.holder.is_none()
    }
}

slotmap::new_key_type! {
    /// The key of a cohort, which names nothing once that was removed.
    pub(crate) struct CohortKey;
}

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
    cohorts: SlotMap<CohortKey, (ResourceName, Cohort<RecordKey>)>,
    by_resource: HashMap<ResourceName, CohortKey>,
    arrivals: u64,
}

impl Cohorts {
    /// Adds a waiter to the cohort for a resource. Returns the cohort, its arrival, and the number of members ahead of it.
    pub(crate) fn join(&mut self, resource: &ResourceName, record: RecordKey) -> (CohortKey, u64, usize) {
        self.arrivals += 1;
        let Self { cohorts, by_resource, arrivals, .. } = self;
        let new = || cohorts.insert((resource.clone(), Cohort::default()));
        let key = *by_resource.entry(resource.clone()).or_insert_with(new);
        let ahead = cohorts[key].1.join(record, *arrivals);
        (key, *arrivals, ahead)
    }

    /// Returns the cohort for a resource, if there is one: the `known` one, or one that has formed since.
    pub(crate) fn find(&self, known: Option<CohortKey>, resource: &ResourceName) -> Option<CohortKey> {
        let known = known.filter(|key| self.cohorts.contains_key(*key));
        known.or_else(|| self.by_resource.get(resource).copied())
    }

    /// Changes a cohort, if it is there.
    pub(crate) fn with<T>(
        &mut self,
        key: CohortKey,
        change: impl FnOnce(&mut Cohort<RecordKey>) -> T,
    ) -> Option<T> {
        self.cohorts.get_mut(key).map(|(_, cohort)| change(cohort))
    }

    pub(crate) fn get(&self, key: CohortKey) -> Option<&Cohort<RecordKey>> {
        self.cohorts.get(key).map(|(_, cohort)| cohort)
    }

    /// Returns what a cohort lacks after it has changed: see [`Cohort::lack`]. An empty one is removed.
    pub(crate) fn lack(&mut self, key: CohortKey) -> Option<(RecordKey, Event)> {
        let cohort = self.get(key)?;
        if !cohort.is_empty() {
            return cohort.lack();
        }
        let (resource, _) = self.cohorts.remove(key)?;
        self.by_resource.remove(&resource);
        None
    }

    /// Returns the longest queues, of cohorts in which somebody waits.
    pub(crate) fn longest_queues(&self) -> Vec<LongQueue> {
        let waited_for = self.cohorts.iter().filter(|(_, (_, cohort))| cohort.waiting() > 0);
        let queue = |(key, (_, cohort)): (CohortKey, &(_, Cohort<_>))| LongQueue {
            cohort: key.data().as_ffi(),
            waiting: cohort.waiting(),
            granted: cohort.grants,
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

    pub(crate) fn clear(&mut self) {
        self.cohorts.clear();
        self.by_resource.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_leads_and_the_next_when_it_has_gone_unless_a_lease_of_the_process_holds() {
        let mut cohort = Cohort::default();
        assert_eq!((cohort.join(1, 10), cohort.lack()), (0, Some((1, Event::Lead))));
        cohort.lead(1);
        cohort.lead(1);
        assert_eq!(cohort.join(2, 11), 1);
        assert_eq!((cohort.lack(), cohort.leader()), (None, Some(1)));
        cohort.remove(1, Some(10));
        assert_eq!((cohort.lack(), cohort.leader()), (Some((2, Event::Lead)), None));
        cohort.granted(1, false);
        assert_eq!((cohort.lack(), cohort.holder), (None, Some(1)));
        cohort.released(7);
        assert_eq!(cohort.lack(), None, "another lease is over");
        cohort.released(1);
        assert_eq!(cohort.lack(), Some((2, Event::Lead)));
    }

    #[test]
    fn one_that_comes_to_a_long_queue_is_the_only_one_to_be_placed() {
        let mut cohort = Cohort::default();
        for arrival in 0..5_000 {
            cohort.join(arrival, arrival);
        }
        assert_eq!(cohort.take_unplaced(), None);
        for (noted, ahead) in
            [(&[4_999][..], 4_999), (&[4_998, 4_999], 4_998), (&[1, 0], 0), (&[5_000], 5_000)]
        {
            noted.iter().for_each(|arrival| cohort.note_unplaced(*arrival));
            assert_eq!(cohort.take_unplaced(), Some((ahead, (ahead as u64..5_000).collect())));
            assert_eq!(cohort.take_unplaced(), None);
        }
    }
}
