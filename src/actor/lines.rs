//! The cohorts of a manager: waiters that want the same resource exclusively, behind one leader.
//!
//! The *leader* has a ticket in the store's queue, or an attempt in flight that asks for one. The other members wait in this
//! process, and cost the store nothing. While a lease of this manager holds the resource no leader is needed: its release
//! hands the resource off. The technique is known as lock cohorting. This module is the bookkeeping alone.

use std::collections::{BTreeMap, HashMap};

use crate::protocol::{ResourceName, Token};

/// The cohorts of a manager, by resource.
#[derive(Default)]
pub(crate) struct Lines {
    table: HashMap<ResourceName, Line>,
    arrivals: u64,
}

#[derive(Default)]
struct Line {
    /// The members, in the order of their arrival.
    members: BTreeMap<u64, Token>,
    /// The leaders: members, and abandoned waiters that keep their ticket for the members.
    standing: Vec<Token>,
    /// The lease of this manager that holds the resource.
    holder: Option<Token>,
    /// The number of hand-offs in a row while others waited for the resource.
    overtaken: u32,
}

/// Something that a cohort lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// A leader: this is the first member.
    Standing(Token),
    /// Members, for whom this abandoned waiter would keep its ticket.
    Members(Token),
}

impl Lines {
    /// Adds a waiter at the end. Returns its arrival number, and the number of members ahead of it.
    pub(crate) fn join(&mut self, resource: &ResourceName, token: Token) -> (u64, usize) {
        self.arrivals += 1;
        let members = &mut self.table.entry(resource.clone()).or_default().members;
        let ahead = members.len();
        members.insert(self.arrivals, token);
        (self.arrivals, ahead)
    }

    /// Makes this waiter a leader.
    pub(crate) fn stand(&mut self, resource: &ResourceName, token: Token) {
        if let Some(line) = self.table.get_mut(resource) {
            line.standing.push(token);
        }
    }

    /// Removes the member with this arrival number. If it is a leader, its ticket is kept.
    pub(crate) fn orphan(&mut self, resource: &ResourceName, arrival: u64) {
        if let Some(line) = self.table.get_mut(resource) {
            line.members.remove(&arrival);
        }
    }

    /// Removes a waiter, also as a leader.
    pub(crate) fn leave(&mut self, resource: &ResourceName, token: Token, arrival: Option<u64>) {
        if let Some(line) = self.table.get_mut(resource) {
            line.standing.retain(|standing| *standing != token);
            if let Some(arrival) = arrival {
                line.members.remove(&arrival);
            }
        }
    }

    /// Records a grant of the resource to a waiter of this manager, by a hand-off although others waited, or in its turn.
    pub(crate) fn granted(&mut self, resource: &ResourceName, token: Token, overtook: bool) {
        if let Some(line) = self.table.get_mut(resource) {
            line.holder = Some(token);
            line.overtaken = if overtook { line.overtaken + 1 } else { 0 };
        }
    }

    /// Records the end of the lease with this token.
    pub(crate) fn over(&mut self, resource: &ResourceName, token: Token) {
        if let Some(line) = self.table.get_mut(resource) {
            line.holder.take_if(|holder| *holder == token);
        }
    }

    /// Returns the next member, and whether it may be served ahead of other processes (at most `limit` hand-offs in a row).
    pub(crate) fn first(&self, resource: &ResourceName, limit: u32) -> Option<(Token, bool)> {
        let line = self.table.get(resource)?;
        let (_, first) = line.members.first_key_value()?;
        Some((*first, line.overtaken < limit))
    }

    /// Returns the leader.
    pub(crate) fn standing(&self, resource: &ResourceName) -> Option<Token> {
        self.table.get(resource)?.standing.first().copied()
    }

    /// Returns the lease of this manager that holds the resource.
    pub(crate) fn holder(&self, resource: &ResourceName) -> Option<Token> {
        self.table.get(resource)?.holder
    }

    /// Returns true if this waiter is the only leader and others rely on it.
    pub(crate) fn relies_on(&self, resource: &ResourceName, token: Token) -> bool {
        self.table.get(resource).is_some_and(|line| line.standing == [token] && line.members.len() > 1)
    }

    /// Returns what the cohort lacks after a change. An empty cohort is removed.
    pub(crate) fn lack(&mut self, resource: &ResourceName) -> Option<Lack> {
        let line = self.table.get(resource)?;
        match (line.members.first_key_value(), line.standing.first()) {
            (None, Some(orphan)) => return Some(Lack::Members(*orphan)),
            (Some((_, first)), None) if line.holder.is_none() => return Some(Lack::Standing(*first)),
            (None, None) if line.holder.is_none() => drop(self.table.remove(resource)),
            _ => {}
        }
        None
    }

    /// Removes all cohorts.
    pub(crate) fn clear(&mut self) {
        self.table.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(number: u128) -> Token {
        Token::from_bits(number)
    }

    fn resource() -> ResourceName {
        ResourceName::new("r").unwrap()
    }

    #[test]
    fn the_first_stands_and_the_next_when_it_has_gone() {
        let (mut lines, r) = (Lines::default(), resource());
        let (first, ahead) = lines.join(&r, token(1));
        assert_eq!((ahead, lines.lack(&r)), (0, Some(Lack::Standing(token(1)))));
        lines.stand(&r, token(1));
        assert_eq!(lines.join(&r, token(2)).1, 1);
        assert_eq!(lines.lack(&r), None);
        lines.leave(&r, token(1), Some(first));
        assert_eq!(lines.lack(&r), Some(Lack::Standing(token(2))));
    }

    #[test]
    fn nobody_stands_while_a_lease_of_the_manager_holds() {
        let (mut lines, r) = (Lines::default(), resource());
        let (first, _) = lines.join(&r, token(1));
        lines.stand(&r, token(1));
        lines.leave(&r, token(1), Some(first));
        lines.granted(&r, token(1), false);
        lines.join(&r, token(2));
        assert_eq!(lines.lack(&r), None);
        lines.over(&r, token(7));
        assert_eq!(lines.lack(&r), None, "another lease is over");
        lines.over(&r, token(1));
        assert_eq!(lines.lack(&r), Some(Lack::Standing(token(2))));
    }

    #[test]
    fn an_orphan_keeps_its_place_for_as_long_as_others_are_behind_it() {
        let (mut lines, r) = (Lines::default(), resource());
        let (first, _) = lines.join(&r, token(1));
        lines.stand(&r, token(1));
        assert!(!lines.relies_on(&r, token(1)));
        let (second, _) = lines.join(&r, token(2));
        assert!(lines.relies_on(&r, token(1)));
        lines.orphan(&r, first);
        assert_eq!((lines.lack(&r), lines.first(&r, 1)), (None, Some((token(2), true))));
        lines.leave(&r, token(2), Some(second));
        assert_eq!(lines.lack(&r), Some(Lack::Members(token(1))));
        lines.leave(&r, token(1), None);
        assert_eq!((lines.lack(&r), lines.table.len()), (None, 0));
    }

    #[test]
    fn overtaking_has_a_limit_in_a_row() {
        let (mut lines, r) = (Lines::default(), resource());
        lines.join(&r, token(1));
        let may = |lines: &Lines| lines.first(&r, 2).unwrap().1;
        for (overtook, then) in [(true, true), (true, false), (false, true)] {
            lines.granted(&r, token(7), overtook);
            assert_eq!(may(&lines), then);
        }
    }
}
