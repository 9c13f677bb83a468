//! The lines of a manager: its waiters that want the same resource exclusively stand behind one of them.
//!
//! One of a line *stands*: it has a place in the store's queue, or an attempt on its way there. The others wait here,
//! and cost the store nothing. While a lease of this manager holds the resource nobody needs to stand: its release
//! passes the resource on. This is the bookkeeping alone.

use std::collections::{BTreeMap, HashMap};

use crate::protocol::{ResourceName, Token};

/// The lines of a manager, by resource.
#[derive(Default)]
pub(crate) struct Lines {
    table: HashMap<ResourceName, Line>,
    arrivals: u64,
}

#[derive(Default)]
struct Line {
    /// Those that wait, in the order of their arrival.
    members: BTreeMap<u64, Token>,
    /// Those that stand: members, and orphans that keep their place for the members.
    standing: Vec<Token>,
    /// The lease of this manager that holds the resource.
    holder: Option<Token>,
    /// How often in a row the resource was passed on while others waited for it.
    overtaken: u32,
}

/// What a line lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// Somebody who stands: this is the first.
    Standing(Token),
    /// Anybody whom this orphan's place is kept for.
    Members(Token),
}

impl Lines {
    /// Puts a waiter at the end. Answers when it arrived, and how many of the line are ahead of it.
    pub(crate) fn join(&mut self, resource: &ResourceName, token: Token) -> (u64, usize) {
        self.arrivals += 1;
        let members = &mut self.table.entry(resource.clone()).or_default().members;
        let ahead = members.len();
        members.insert(self.arrivals, token);
        (self.arrivals, ahead)
    }

    /// This one stands from now on.
    pub(crate) fn stand(&mut self, resource: &ResourceName, token: Token) {
        if let Some(line) = self.table.get_mut(resource) {
            line.standing.push(token);
        }
    }

    /// Takes out who arrived then; its place, if it stands, is kept.
    pub(crate) fn orphan(&mut self, resource: &ResourceName, arrival: u64) {
        if let Some(line) = self.table.get_mut(resource) {
            line.members.remove(&arrival);
        }
    }

    /// Takes a waiter out, and with it its place.
    pub(crate) fn leave(&mut self, resource: &ResourceName, token: Token, arrival: Option<u64>) {
        if let Some(line) = self.table.get_mut(resource) {
            line.standing.retain(|standing| *standing != token);
            if let Some(arrival) = arrival {
                line.members.remove(&arrival);
            }
        }
    }

    /// The resource was granted to somebody of this manager; by passing it on though others waited, or in its turn.
    pub(crate) fn granted(&mut self, resource: &ResourceName, token: Token, overtook: bool) {
        if let Some(line) = self.table.get_mut(resource) {
            line.holder = Some(token);
            line.overtaken = if overtook { line.overtaken + 1 } else { 0 };
        }
    }

    /// The lease of this token is over.
    pub(crate) fn over(&mut self, resource: &ResourceName, token: Token) {
        if let Some(line) = self.table.get_mut(resource) {
            line.holder.take_if(|holder| *holder == token);
        }
    }

    /// Whose turn is next, and whether the resource may be passed on to it though others wait, if that may happen so
    /// often in a row.
    pub(crate) fn first(&self, resource: &ResourceName, limit: u32) -> Option<(Token, bool)> {
        let line = self.table.get(resource)?;
        let (_, first) = line.members.first_key_value()?;
        Some((*first, line.overtaken < limit))
    }

    /// The one that stands for the others.
    pub(crate) fn standing(&self, resource: &ResourceName) -> Option<Token> {
        self.table.get(resource)?.standing.first().copied()
    }

    /// The lease of this manager that holds the resource.
    pub(crate) fn holder(&self, resource: &ResourceName) -> Option<Token> {
        self.table.get(resource)?.holder
    }

    /// Whether this one stands alone for others.
    pub(crate) fn relies_on(&self, resource: &ResourceName, token: Token) -> bool {
        self.table.get(resource).is_some_and(|line| line.standing == [token] && line.members.len() > 1)
    }

    /// What the line lacks after something has changed. An empty one is forgotten.
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

    /// Forgets all of them.
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
