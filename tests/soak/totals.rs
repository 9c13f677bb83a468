//! The counts of one topology.

use std::collections::BTreeMap;

use leasehold::{LossReason, Mode};
use leasehold_testing::history::Held;

use crate::load::Report;

/// What is counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub(super) grants: u64,
    pub(super) modes: BTreeMap<&'static str, u64>,
    pub(super) reentered: u64,
    pub(super) lost: BTreeMap<&'static str, u64>,
    pub(super) refused: u64,
    pub(super) cancelled: u64,
    pub(super) errors: BTreeMap<String, u64>,
    /// Holders that gave a lock back when asked, and that lost it.
    pub(super) revoked: (u64, u64),
    /// Histories that an external checker accepted.
    pub(super) accepted: u64,
    /// Losses that were told less than 100 ms too late, without a stall that shows why.
    pub(super) a_little_late: u64,
    /// Losses that nobody was told of before a release.
    pub(super) found_lost: u64,
    /// Losses of leases that were to be renewed, by what explains them.
    pub(super) losses: BTreeMap<&'static str, u64>,
    /// Pairs of leases of one resource that were compared.
    pub(super) pairs: u64,
    /// Faults that had to leave grants to what they spare.
    pub(super) progress: u64,
    /// Ticks that did not come outside of faults.
    pub(super) missing_ticks: u64,
    /// The conflicts that a limit of the documentation allows, by the limit.
    pub(super) documented: BTreeMap<&'static str, u64>,
}

/// Grants and losses by the second in which they were.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Second {
    pub(super) grants: u32,
    /// But for those by force, which somebody wanted.
    pub(super) losses: u32,
}

impl Totals {
    /// Counts a lease.
    pub(super) fn count(&mut self, held: &Held) {
        let mode = match held.mode {
            Mode::Exclusive => "exclusive",
            Mode::Shared => "shared",
            _ => "permits",
        };
        self.grants += 1;
        *self.modes.entry(mode).or_default() += 1;
        self.reentered += u64::from(held.reentered);
        if let Some(reason) = held.lost {
            *self.lost.entry(reason.as_str()).or_default() += 1;
        }
    }

    /// Adds what a process counted itself.
    pub(super) fn add(&mut self, report: &Report) {
        self.refused += report.refused;
        self.cancelled += report.cancelled;
        self.found_lost += report.found_lost;
        for (error, count) in &report.errors {
            *self.errors.entry(error.clone()).or_default() += count;
        }
    }

    /// How many leases were lost that nobody took by force.
    pub(super) fn lost(&self) -> u64 {
        let forced = self.lost.get(LossReason::Forced.as_str()).copied().unwrap_or_default();
        self.lost.values().sum::<u64>() - forced
    }
}
