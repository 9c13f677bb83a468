//! What is measured: the workloads, by name.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One workload and the name it has in the report.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) processes: usize,
    pub(crate) workload: Workload,
}

/// What every process of a measurement does.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Workload {
    /// Each caller locks and unlocks a resource of its own.
    Uncontended { callers: usize },
    /// Callers of all processes want the same resources.
    Contended { callers: usize, resources: usize, hold: Duration, pause: Duration },
    /// Readers that keep coming and one writer, on one resource.
    ReadersAndWriter { readers: usize, hold: Duration },
    /// Leases that are held and renewed.
    Renewed { leases: usize },
}

impl Measured {
    /// How often it is measured if others are measured this often.
    pub(crate) fn repetitions(&self, asked: u32) -> u32 {
        match self.workload {
            // Memory and CPU over three rounds of renewals hardly vary, and each takes more than half a minute.
            Workload::Renewed { .. } => asked.min(2),
            _ => asked,
        }
    }
}

/// All workloads whose name contains one of `only`, or all if that is empty.
pub(crate) fn measured(only: &[String], quick: bool) -> Vec<Measured> {
    const MS: Duration = Duration::from_millis(1);
    const NONE: Duration = Duration::ZERO;
    let uncontended = |callers| Workload::Uncontended { callers };
    let hot = |callers, hold| Workload::Contended { callers, resources: 1, hold, pause: NONE };
    let polite = |callers| Workload::Contended { callers, resources: 1, hold: MS, pause: 5 * MS };
    let zipf = Workload::Contended { callers: 64, resources: 8, hold: NONE, pause: NONE };
    let readers = Workload::ReadersAndWriter { readers: 16, hold: MS };
    let renewed = |leases| Workload::Renewed { leases };
    let all = [
        ("uncontended/1", "1 caller, own resources", 1, uncontended(1)),
        ("uncontended/64", "64 callers, own resources", 1, uncontended(64)),
        ("uncontended/1024", "1,024 callers, own resources", 1, uncontended(1024)),
        ("hot/8", "8 callers, one resource", 1, hot(8, NONE)),
        ("hot/64", "64 callers, one resource", 1, hot(64, NONE)),
        ("hot/1000", "1,000 callers, one resource", 1, hot(1000, NONE)),
        ("hot/1000/1ms", "1,000 callers, one resource, held 1 ms", 1, hot(1000, MS)),
        ("hot/8x8", "8 processes of 8 callers, one resource", 8, hot(8, NONE)),
        ("hot/8x8/1ms", "8 processes of 8 callers, one resource, held 1 ms", 8, hot(8, MS)),
        ("turns/8", "8 tasks, one resource, held 1 ms, 5 ms between turns", 1, polite(8)),
        ("turns/4x2", "4 processes of 2 tasks, one resource, held 1 ms, 5 ms between turns", 4, polite(2)),
        ("zipf/64", "64 callers, 8 resources, the first asked for most", 1, zipf),
        ("readers/16+1", "16 readers and one writer, held 1 ms; the wait is the writer's", 1, readers),
        ("renewed/1000", "1,000 leases, TTL 30 s", 1, renewed(1_000)),
        ("renewed/10000", "10,000 leases, TTL 30 s", 1, renewed(10_000)),
        ("renewed/100000", "100,000 leases, TTL 30 s", 1, renewed(100_000)),
    ];
    // A name is a pattern as well, and may be part of another name; whoever gives it in full means just that.
    let exact = |part: &String| all.iter().any(|(name, ..)| *name == part);
    let wanted = |name: &str, part: &String| if exact(part) { name == part } else { name.contains(part) };
    all.iter()
        .filter(|(name, ..)| only.is_empty() || only.iter().any(|part| wanted(name, part)))
        .map(|&(name, about, processes, workload)| Measured { name, about, processes, workload })
        .filter(|measured| !(quick && matches!(measured.workload, Workload::Renewed { leases: 100_000 })))
        .collect()
}
