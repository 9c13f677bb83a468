//! The ages of nodes that may have forgotten, as a client observes them and as nodes know them by their own clocks.

use std::time::Duration;

use leasehold::rules::{Report, majority};

use super::{CLIENTS, NODES, OLD, Rules, State};

/// Since when an incarnation is known: whose leases, begun before, may be valid. It is old once none is.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub(super) struct Since {
    incarnation: u8,
    valid: [bool; CLIENTS],
}

/// What is known of each node.
pub(super) type Known = [Option<Since>; NODES];

impl Since {
    fn is_old(&self) -> bool {
        !self.valid.contains(&true)
    }
}

/// Records that no lease of this client is valid any more that has begun before.
pub(super) fn ends(known: &mut Known, which: usize) {
    known.iter_mut().flatten().for_each(|since| since.valid[which] = false);
}

/// Sets the clock forward by more than a TTL by which these are known.
pub(super) fn step(known: &mut Known) {
    known.iter_mut().flatten().for_each(|since| since.valid = [false; CLIENTS]);
}

impl State {
    fn since(&self, incarnation: u8) -> Since {
        Since { incarnation, valid: self.wanting() }
    }

    /// Gives the report of a node the age that was observed: `Observed::aged` in `src/store/quorum/node.rs`.
    pub(super) fn aged(&mut self, node: usize, report: Report) -> Report {
        if report.incarnation.has_recovered(report.recovered.as_ref()) {
            self.sightings[node] = None;
            return report;
        }
        let incarnation = self.nodes[node].incarnation;
        let known = self.sightings[node].filter(|since| since.incarnation == incarnation);
        self.sightings[node] = known.or_else(|| Some(self.since(incarnation)));
        let age = if known.is_some_and(|since| since.is_old()) { OLD } else { Duration::ZERO };
        Report { incarnation: leasehold::rules::Incarnation { age, ..report.incarnation }, ..report }
    }

    /// Asks nodes since when they know those that are too young, and tells them: `compare_ages` in
    /// `src/store/quorum/recovery.rs`.
    pub(super) fn compare_ages(&mut self, silent: Option<usize>, rules: Rules) {
        let needed = if rules.trusts_one { 1 } else { majority(NODES) };
        for young in 0..NODES {
            let Some(sighting) = self.sightings[young].filter(|since| !since.is_old()) else { continue };
            let since = self.since(sighting.incarnation);
            let mut old = 0;
            for (_, node) in self.nodes.iter_mut().enumerate().filter(|(node, _)| Some(*node) != silent) {
                let known = node.known[young].filter(|known| known.incarnation == sighting.incarnation);
                old += usize::from(known.is_some_and(|known| known.is_old()));
                node.known[young] = known.or(Some(since));
            }
            if old >= needed {
                self.sightings[young] = Some(Since { valid: [false; CLIENTS], ..sighting });
            }
        }
    }

    /// Returns true if a node was met that is too young.
    pub(super) fn knows_young(&self) -> bool {
        self.sightings.iter().flatten().any(|since| !since.is_old())
    }
}
