//! What must hold after a scenario.

use leasehold_sim::linearizable;
use leasehold_testing::history::{self, Conflict, Held};

use crate::load::{self, Report, micros_of, name};
use crate::outages::scenario::{Conflicts, FIRST_KEPT, GRACE, LONGEST_TTL, RESOURCES, Scenario, Seen};

impl Seen {
    /// The leases of a resource.
    pub(crate) fn held(&self, resource: usize) -> Vec<&Held> {
        let all = self.reports.iter().flat_map(|report| &report.held);
        let name = name(resource);
        all.filter(|held| held.resource.as_bytes() == name.as_bytes()).collect()
    }

    pub(crate) fn conflicts(&self) -> Vec<Conflict> {
        history::conflicts(self.reports.iter().flat_map(|report| &report.held))
    }

    pub(crate) fn told_late(&self) -> Vec<&Held> {
        self.reports.iter().flat_map(Report::told_late).collect()
    }

    /// The number of histories that an external checker accepted, or one that it refused. Left out is the time in which conflicts may be.
    pub(crate) fn judged(&self, conflicts: Conflicts) -> Result<usize, String> {
        let around = self.outage.0..self.forgotten_until();
        let counts = |held: &&Held| {
            let is_around = micros_of(held.ended()) > around.start && micros_of(held.asked) < around.end;
            conflicts == Conflicts::Never || !is_around
        };
        linearizable::judge(self.reports.iter().flat_map(|report| &report.held).filter(counts))
    }

    /// Writes the history, if histories are kept.
    pub(crate) fn keep(&self, scenario: &Scenario) {
        let may_forget = scenario.conflicts == Conflicts::AroundTheOutage;
        let around = may_forget.then(|| (self.outage.0, self.forgotten_until()));
        load::keep(&format!("outage_{}", scenario.name), &self.reports, around);
    }

    /// When the last thing that the outage may have forgotten has ended.
    fn forgotten_until(&self) -> u64 {
        self.outage.1 + (LONGEST_TTL + GRACE).as_micros() as u64
    }
}

/// Everything that must not have been.
pub(crate) fn violations(scenario: &Scenario, seen: &Seen, judged: Result<usize, String>) -> Vec<String> {
    let mut found = Vec::new();
    let around = seen.outage.0..seen.forgotten_until();
    let is_allowed = |conflict: &Conflict| {
        scenario.conflicts == Conflicts::AroundTheOutage && around.contains(&micros_of(conflict.from))
    };
    for conflict in seen.conflicts().iter().filter(|conflict| !is_allowed(conflict)) {
        let after = (micros_of(conflict.from) as f64 - seen.outage.0 as f64) / 1e6;
        found.push(format!("{after:+.3} s from the beginning of the outage: {}", conflict.what));
    }
    let mut all = seen.reports.iter().flat_map(|report| &report.held);
    if !all.any(|held| micros_of(held.granted) < seen.outage.0) {
        found.push("nothing was granted before the outage".to_owned());
    }
    for resource in 0..RESOURCES {
        let held = seen.held(resource);
        let leases = held.iter().copied();
        found.extend(if seen.is_quorum {
            history::fences_of_quorum(leases)
        } else {
            history::fences(leases)
        });
        let is_granted_again = held.iter().any(|held| micros_of(held.granted) > seen.outage.1);
        if resource < FIRST_KEPT && !is_granted_again {
            found.push(format!("resource {resource} is not granted again after the outage"));
        }
    }
    found.extend(judged.err());
    found.extend(seen.told_late().iter().map(|late| format!("told too late: {late:?}")));
    if !seen.left.is_empty() {
        found.push(format!("keys left over: {:?}", seen.left));
    }
    found
}
