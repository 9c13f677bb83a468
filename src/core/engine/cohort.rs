//! The waiters of one process for one resource, behind one leader (lock cohorting: Dice, Marathe and Shavit, PPoPP 2012).
//!
//! Only the leader asks the store, or has a queue ticket. The others cost the store nothing. While a lease of this process
//! holds the resource, nobody needs to lead: its release hands the resource off to the next member. This is the
//! bookkeeping alone; `K` names an acquisition.

use std::collections::BTreeMap;

/// The members of one process that want one resource exclusively.
#[derive(Debug)]
pub(crate) struct Cohort<K> {
    /// The members that have no answer yet, in the order of their arrival.
    members: BTreeMap<u64, K>,
    /// The members that ask the store, and abandoned ones that keep their ticket for the others.
    leaders: Vec<K>,
    /// The acquisition whose lease holds the resource.
    holder: Option<K>,
    /// The number of hand-offs in a row ahead of other processes.
    hand_offs: u32,
}

/// A thing that a cohort lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack<K> {
    /// A leader: this is the first member.
    Leader(K),
    /// Members for which this abandoned leader would keep its ticket.
    Members(K),
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

    /// Returns the members that came at this arrival or later, and the number of members ahead of them. It visits no others.
    pub(crate) fn members_from(&self, arrival: u64) -> (usize, Vec<K>) {
        let members: Vec<K> = self.members.range(arrival..).map(|(_, member)| *member).collect();
        (self.members.len() - members.len(), members)
    }

    /// Returns the leader that came first.
    pub(crate) fn leader(&self) -> Option<K> {
        self.leaders.first().copied()
    }

    /// Returns the acquisition whose lease holds the resource.
    pub(crate) const fn holder(&self) -> Option<K> {
        self.holder
    }

    /// Returns true if others rely on the ticket of this leader.
    pub(crate) fn relies_on(&self, leader: K) -> bool {
        self.leaders == [leader] && self.members.len() > 1
    }

    pub(crate) fn lack(&self) -> Option<Lack<K>> {
        match (self.members.first_key_value(), self.leaders.first()) {
            (None, Some(leader)) => Some(Lack::Members(*leader)),
            (Some((_, first)), None) if self.holder.is_none() => Some(Lack::Leader(*first)),
            _ => None,
        }
    }

    /// Returns true if nobody waits, leads or holds.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.leaders.is_empty() && self.holder.is_none()
    }
}

impl<K> Default for Cohort<K> {
    fn default() -> Self {
        Self { members: BTreeMap::new(), leaders: Vec::new(), holder: None, hand_offs: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_leads_and_the_next_when_it_has_gone() {
        let mut cohort = Cohort::default();
        assert_eq!((cohort.join(1, 10), cohort.lack()), (0, Some(Lack::Leader(1))));
        cohort.lead(1);
        cohort.lead(1);
        assert_eq!(cohort.join(2, 11), 1);
        assert_eq!((cohort.lack(), cohort.leader()), (None, Some(1)));
        assert_eq!(cohort.members_from(10), (0, vec![1, 2]));
        assert_eq!((cohort.members_from(11), cohort.members_from(12)), ((1, vec![2]), (2, vec![])));
        cohort.remove(1, Some(10));
        assert_eq!((cohort.lack(), cohort.leader()), (Some(Lack::Leader(2)), None));
    }

    #[test]
    fn nobody_leads_while_a_lease_of_the_process_holds() {
        let mut cohort = Cohort::default();
        cohort.join(1, 10);
        cohort.lead(1);
        cohort.remove(1, Some(10));
        cohort.granted(1, false);
        cohort.join(2, 11);
        assert_eq!((cohort.lack(), cohort.holder()), (None, Some(1)));
        cohort.released(7);
        assert_eq!(cohort.lack(), None, "another lease is over");
        cohort.released(1);
        assert_eq!(cohort.lack(), Some(Lack::Leader(2)));
    }

    #[test]
    fn an_abandoned_leader_keeps_its_ticket_while_others_rely_on_it() {
        let mut cohort = Cohort::default();
        cohort.join(1, 10);
        cohort.lead(1);
        assert!(!cohort.relies_on(1));
        cohort.join(2, 11);
        assert!(cohort.relies_on(1) && !cohort.relies_on(2));
        cohort.abandon(10);
        assert_eq!((cohort.lack(), cohort.next(1)), (None, Some((2, true))));
        cohort.remove(2, Some(11));
        assert_eq!(cohort.lack(), Some(Lack::Members(1)));
        assert!(!cohort.is_empty());
        cohort.remove(1, None);
        assert_eq!((cohort.lack(), cohort.next(1)), (None, None));
        assert!(cohort.is_empty());
    }

    #[test]
    fn hand_offs_ahead_of_other_processes_have_a_limit_in_a_row() {
        let mut cohort = Cohort::default();
        cohort.join(1, 10);
        for (handed_off, may) in [(true, true), (true, false), (false, true)] {
            cohort.granted(7, handed_off);
            assert_eq!(cohort.next(2), Some((1, may)));
        }
    }
}
