//! A node: what it keeps, and how it answers.

use std::time::Duration;

use leasehold::{
    Fence,
    rules::{Incarnation, Recovered, Report},
};

use super::{CLIENTS, OLD, Rules, ages};

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) incarnation: u8,
    pub(super) recovered: Option<(u8, u64)>,
    pub(super) last: u64,
    pub(super) hold: Option<Hold>,
    /// Whose leases, begun before it was restarted, may be valid.
    pub(super) forgot: [bool; CLIENTS],
    /// True if its wall clock was set forward by more than a TTL since its start.
    pub(super) stepped: bool,
    /// Since when it knows nodes that may have forgotten, by its own clock.
    pub(super) known: ages::Known,
}

/// One client's tokens on a node, with the fence that they share.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) client: usize,
    pub(super) tokens: u8,
    pub(super) fence: u64,
}

pub(super) fn clock(node: usize) -> u64 {
    [100, 0, 0][node]
}

pub(super) fn bit(token: u8) -> u8 {
    1 << token
}

impl Node {
    pub(super) fn report(&self, node: usize, rules: Rules) -> Report {
        let young = self.forgot.contains(&true) && !(rules.believes && self.stepped);
        let named = |incarnation: u8| incarnation.to_string();
        let recovered = self.recovered.map(|(incarnation, fence)| Recovered {
            incarnation: named(incarnation),
            durable: false,
            fence: Fence::new(fence),
        });
        let age = if young { Duration::ZERO } else { OLD };
        let incarnation = Incarnation { id: named(self.incarnation), age, durable: false };
        Report { incarnation, recovered, last: Fence::new(self.last), clock: Fence::new(clock(node)) }
    }

    /// Whether a grant of this fence counts.
    pub(super) fn covers(&self, node: usize, rules: Rules, fence: u64) -> bool {
        let report = self.report(node, rules);
        match report.recovered {
            _ if !rules.teaches => !self.forgot.contains(&true),
            Some(it) if report.incarnation.has_recovered(Some(&it)) => it.covers(Some(Fence::new(fence))),
            _ => false,
        }
    }

    pub(super) fn acquire(&mut self, node: usize, client: usize, token: u8) -> Option<u64> {
        match &mut self.hold {
            Some(hold) if hold.client != client => return None,
            Some(hold) => hold.tokens |= bit(token),
            None => {
                self.last = (self.last + 1).max(clock(node));
                self.hold = Some(Hold { client, tokens: bit(token), fence: self.last });
            }
        }
        self.hold.as_ref().map(|hold| hold.fence)
    }

    pub(super) fn raise(&mut self, token: u8, fence: u64, lowers: bool) -> bool {
        let Some(hold) = self.hold.as_mut().filter(|hold| hold.tokens & bit(token) != 0) else {
            return false;
        };
        hold.fence = if lowers { fence } else { hold.fence.max(fence) };
        self.last = self.last.max(fence);
        true
    }

    pub(super) fn release(&mut self, tokens: u8) {
        if let Some(hold) = &mut self.hold {
            hold.tokens &= !tokens;
        }
        self.hold = self.hold.take().filter(|hold| hold.tokens != 0);
    }

    pub(super) fn teach(&mut self, incarnation: u8, fence: u64, rules: Rules) {
        self.last = if rules.grows { self.last.max(fence) } else { self.last };
        let before =
            self.recovered.filter(|(before, _)| *before == incarnation).map_or(0, |(_, fence)| fence);
        self.recovered = Some((incarnation, fence.max(before)));
    }
}
