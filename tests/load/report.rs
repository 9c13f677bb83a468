//! What a process writes down of its leases.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use leasehold::{LossReason, env::Moment};
use leasehold_testing::history::{
    self, Held,
    lines::{self, Transcript},
};
use serde::{Deserialize, Serialize};

/// A loss of a lease that was to be renewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Loss {
    /// The moment at which its holder knew, in microseconds since the host was started.
    pub(crate) at: u64,
    pub(crate) resource: String,
    pub(crate) fence: u64,
    pub(crate) reason: String,
    /// True if nobody was told before the release.
    pub(crate) found: bool,
}

/// What a process reports at its end.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) held: Vec<Held>,
    pub(crate) refused: u64,
    pub(crate) cancelled: u64,
    /// The requests that got no lease, in the lines of a history, if histories are kept.
    pub(crate) without: String,
    /// Requests that had no answer long after the wait that they asked for.
    pub(crate) unanswered: Vec<String>,
    pub(crate) losses: Vec<Loss>,
    pub(crate) errors: BTreeMap<String, u64>,
    /// Leases that were lost, of which their holders were told only when they gave them back.
    pub(crate) found_lost: u64,
    /// When nobody had a turn on the thread of the callers: from when to when, in microseconds since the host was started.
    pub(crate) stalls: Vec<(u64, u64)>,
}

impl Report {
    /// Why leases were lost.
    pub(crate) fn lost(&self) -> impl Iterator<Item = LossReason> {
        self.held.iter().filter_map(|held| held.lost)
    }

    /// Returns the numbers of requests that were refused, and that had no answer of which anybody knows what it means.
    fn without_lease(&self) -> [u64; 2] {
        let failed: u64 = self.errors.values().sum();
        [self.refused, self.cancelled + self.unanswered.len() as u64 + failed]
    }

    /// Returns the number of holders that were told that the store did not hold their lease any more.
    pub(crate) fn told_not_held(&self) -> u64 {
        self.lost().filter(|reason| *reason == LossReason::NotHeld).count() as u64
    }

    /// The leases whose holders were told of the loss after the validity had ended.
    pub(crate) fn told_late(&self) -> Vec<&Held> {
        let moment = |micros| Moment::since_origin(Duration::from_micros(micros));
        let stalls = self.stalls.iter().map(|&(from, until)| (moment(from), moment(until)));
        history::told_late(&self.held, &stalls.collect::<Vec<_>>())
    }

    pub(crate) fn write(&self, file: &Path) {
        fs::write(file, serde_json::to_vec(self).unwrap()).unwrap();
    }

    pub(crate) fn read(file: &Path) -> Self {
        serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
    }
}

/// Writes what all processes held, if histories are kept. The store may forget in the time between two moments, in microseconds.
pub(crate) fn keep(name: &str, reports: &[Report], may_forget: Option<(u64, u64)>) {
    if lines::is_wanted() {
        let moment = |micros| Moment::since_origin(Duration::from_micros(micros));
        let of_each = (0..).zip(reports);
        let may_forget = may_forget.map(|(from, until)| (moment(from), moment(until)));
        let mut whole = Transcript { may_forget, complete: true, ..Transcript::default() };
        for (process, report) in of_each {
            whole.leases.extend(report.held.iter().map(|held| (process, held.clone())));
            let without = Transcript::read(&report.without).unwrap();
            let told = [without.refused.len() as u64, without.unanswered.len() as u64];
            assert_eq!(
                told,
                report.without_lease(),
                "the history has not every request of process {process}"
            );
            whole.refused.extend(without.refused.into_iter().map(|(_, request)| (process, request)));
            whole.unanswered.extend(without.unanswered.into_iter().map(|(_, request)| (process, request)));
        }
        whole.keep(name);
    }
}
