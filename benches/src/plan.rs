//! What is measured: the workloads, by name.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::lockers::Kind;

/// One workload and the name it has in the report.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) workload: Workload,
    pub(crate) processes: usize,
    /// The threads that the callers of a process share.
    pub(crate) threads: usize,
    /// The Redis masters. More than one are a quorum.
    pub(crate) masters: usize,
    /// The failure of one of the masters, after the warm-up.
    pub(crate) fault: Option<Fault>,
}

/// What every process of a measurement does.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Workload {
    /// Each caller locks and unlocks a resource of its own.
    Uncontended { callers: usize },
    /// The same, but every second acquisition is dropped while it is in flight.
    Dropped { callers: usize },
    /// The same, at so many moments a second that are set beforehand.
    Paced { callers: usize, a_second: u32 },
    /// Callers of all processes want the same resources.
    Contended { callers: usize, resources: usize, hold: Duration, pause: Duration },
    /// Readers that keep coming and one writer, on one resource.
    ReadersAndWriter { readers: usize, hold: Duration },
    /// Leases that are held and renewed.
    Renewed { leases: usize },
}

/// A failure of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Connections to it are refused.
    Killed,
    /// Connections to it stay open, and nothing is answered.
    Stopped,
}

impl Workload {
    const fn is_uncontended(self) -> bool {
        matches!(self, Self::Uncontended { .. } | Self::Paced { .. })
    }
}

impl Measured {
    const fn new(name: &'static str, about: &'static str, workload: Workload) -> Self {
        Self { name, about, workload, processes: 1, threads: 1, masters: 1, fault: None }
    }

    const fn processes(self, processes: usize) -> Self {
        Self { processes, ..self }
    }

    const fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    const fn masters(self, masters: usize) -> Self {
        Self { masters, ..self }
    }

    const fn fault(self, fault: Fault) -> Self {
        Self { fault: Some(fault), ..self }
    }

    pub(crate) const fn is_renewed(&self) -> bool {
        matches!(self.workload, Workload::Renewed { .. })
    }

    /// True if its workers have something left to tell when all was counted.
    pub(crate) const fn finishes(&self) -> bool {
        matches!(self.workload, Workload::Dropped { .. })
    }

    /// How often it is measured if others are measured this often.
    pub(crate) fn repetitions(&self, asked: u32) -> u32 {
        // Memory and CPU over three rounds of renewals hardly vary, and each takes more than half a minute.
        if self.is_renewed() { asked.min(2) } else { asked }
    }

    /// True if the workload makes sense with this locker.
    pub(crate) const fn suits(&self, locker: Kind) -> bool {
        let dropped = matches!(self.workload, Workload::Dropped { .. });
        match locker {
            Kind::Raw | Kind::Leasehold => true,
            // Its callers are on its own thread.
            Kind::StartHere => self.threads == 1 && self.masters == 1 && self.workload.is_uncontended(),
            // It tells its token only when it grants, so nobody can release what a dropped call was granted.
            Kind::Rslock => !dropped,
            // A lock on one server; and its waiters are subscribed when they are dropped.
            Kind::Redisson => !dropped && self.masters == 1,
        }
    }
}

/// All workloads whose name contains one of `only`, or all if that is empty.
pub(crate) fn measured(only: &[String], quick: bool) -> Vec<Measured> {
    let all: Vec<_> = [one_server(), quorums(), renewed()].into_iter().flatten().collect();
    // A name is a pattern as well, and may be part of another name; whoever gives it in full means just that.
    let exact = |part: &String| all.iter().any(|measured| measured.name == part);
    let wanted = |name: &str, part: &String| if exact(part) { name == part } else { name.contains(part) };
    all.iter()
        .filter(|measured| only.is_empty() || only.iter().any(|part| wanted(measured.name, part)))
        .filter(|measured| !(quick && measured.is_renewed()))
        .cloned()
        .collect()
}

const MS: Duration = Duration::from_millis(1);
const NONE: Duration = Duration::ZERO;

const fn own(callers: usize) -> Workload {
    Workload::Uncontended { callers }
}

/// One resource, held 1 ms, with 5 ms between the turns of a caller.
const fn polite(callers: usize) -> Workload {
    Workload::Contended { callers, resources: 1, hold: MS, pause: Duration::from_millis(5) }
}

#[rustfmt::skip]
fn one_server() -> Vec<Measured> {
    let hot = |callers, hold| Workload::Contended { callers, resources: 1, hold, pause: NONE };
    let zipf = Workload::Contended { callers: 64, resources: 8, hold: NONE, pause: NONE };
    let readers = Workload::ReadersAndWriter { readers: 16, hold: MS };
    let dropped = Workload::Dropped { callers: 64 };
    let paced = |a_second| Workload::Paced { callers: 64, a_second };
    let new = Measured::new;
    vec![
        new("paced/500", "500 locks a second by 64 callers; p50 and p99 are of the acquisition", paced(500)),
        new("paced/2000", "2,000 locks a second by 64 callers", paced(2_000)),
        new("paced/10000", "10,000 locks a second by 64 callers", paced(10_000)),
        new("uncontended/1", "1 caller, own resources", own(1)),
        new("uncontended/64", "64 callers, own resources", own(64)),
        new("uncontended/64/2threads", "64 callers on 2 threads, own resources", own(64)).threads(2),
        new("uncontended/1024", "1,024 callers, own resources", own(1024)),
        new("uncontended/1024/2threads", "1,024 callers on 2 threads, own resources", own(1024)).threads(2),
        new("dropped/64", "64 callers, own resources, every second acquisition dropped in flight", dropped),
        new("hot/8", "8 callers, one resource", hot(8, NONE)),
        new("hot/64", "64 callers, one resource", hot(64, NONE)),
        new("hot/1000", "1,000 callers, one resource", hot(1000, NONE)),
        new("hot/1000/1ms", "1,000 callers, one resource, held 1 ms", hot(1000, MS)),
        new("hot/8x8", "8 processes of 8 callers, one resource", hot(8, NONE)).processes(8),
        new("hot/8x8/1ms", "8 processes of 8 callers, one resource, held 1 ms", hot(8, MS)).processes(8),
        new("turns/8", "8 tasks, one resource, held 1 ms, 5 ms between turns", polite(8)),
        new("turns/4x2", "4 processes of 2 tasks, one resource, held 1 ms, 5 ms between turns", polite(2))
            .processes(4),
        new("turns/64", "64 tasks, one resource, held 1 ms, 5 ms between turns", polite(64)),
        new("zipf/64", "64 callers, 8 resources, the first asked for most", zipf),
        new("readers/16+1", "16 readers and one writer, held 1 ms; the wait is the writer's", readers),
    ]
}

#[rustfmt::skip]
fn quorums() -> Vec<Measured> {
    let new = Measured::new;
    vec![
        new("quorum5/1", "1 caller, own resources, 5 masters", own(1)).masters(5),
        new("quorum5/64", "64 callers, own resources, 5 masters", own(64)).masters(5),
        new("quorum3/64", "64 callers, own resources, 3 masters", own(64)).masters(3),
        new("quorum5/8", "8 callers, own resources, 5 masters", own(8)).masters(5),
        new("quorum5/8/killed", "8 callers, own resources, 5 masters, one of them dead", own(8))
            .masters(5).fault(Fault::Killed),
        new("quorum5/8/stopped", "8 callers, own resources, 5 masters, one of them stuck", own(8))
            .masters(5).fault(Fault::Stopped),
        new("quorum5/4x2", "4 processes of 2 tasks, one resource, 5 masters, held 1 ms, 5 ms between turns", polite(2))
            .masters(5).processes(4),
    ]
}

#[rustfmt::skip]
fn renewed() -> Vec<Measured> {
    let renewed = |leases| Workload::Renewed { leases };
    vec![
        Measured::new("renewed/1000", "1,000 leases, TTL 30 s", renewed(1_000)),
        Measured::new("renewed/10000", "10,000 leases, TTL 30 s", renewed(10_000)),
        Measured::new("renewed/100000", "100,000 leases, TTL 30 s", renewed(100_000)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(only: &str) -> Vec<&'static str> {
        measured(&[only.to_owned()], false).iter().map(|measured| measured.name).collect()
    }

    #[test]
    fn a_name_in_full_is_no_pattern() {
        assert_eq!(names("uncontended/64"), ["uncontended/64"]);
        assert_eq!(names("2threads"), ["uncontended/64/2threads", "uncontended/1024/2threads"]);
    }

    #[test]
    fn callers_are_shared_out_evenly_and_a_majority_survives_a_fault() {
        for Measured { name, workload, threads, masters, fault, .. } in measured(&[], false) {
            if let Workload::Uncontended { callers } = workload {
                assert_eq!(callers % threads, 0, "{name}");
            } else {
                assert_eq!(threads, 1, "{name}: only callers without a common resource have threads");
            }
            assert!(fault.is_none() || masters >= 3, "{name}");
        }
    }
}
