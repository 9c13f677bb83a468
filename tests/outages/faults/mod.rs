//! Nine faults of locks on four topologies: what each costs, one cell a scenario. `tests/long faults` runs them.
//!
//! `docs/limits.md` has the table of what was measured. A run without names leaves them out, for they take twenty minutes.

mod cut;
mod strikes;
mod table;
mod topology;

use self::{
    strikes::{
        clock_back, clock_forward, cut_off, cut_off_from_peers, disk_full, fail_over, killed, paused,
        repeated, restarted_empty, slow_disk,
    },
    topology::Topology::{Cluster, OneServer, Quorum, Sentinel},
};
use crate::outages::{
    cluster,
    scenario::{Conflicts, Rig, Scenario},
    sentinel,
};

pub(crate) use table::{TABLE, table_is_whole};

/// What the name of each scenario begins with, and each filter that means them.
const PREFIX: &str = "faults";

/// The topologies, in the order of the cells.
const TOPOLOGIES: [&str; 4] = ["one server", "Sentinel", "Cluster", "quorum"];

/// A fault, in the words of the table, with the kind of it if there are several; and what it is for each topology, or why it
/// is nothing there.
struct Fault {
    name: &'static str,
    kind: &'static str,
    cells: [Cell; 4],
}

type Cell = Result<(Conflicts, fn() -> Rig), &'static str>;

fn faults() -> Vec<Fault> {
    use Conflicts::{AroundTheOutage as Around, Never};
    let fault = |name, kind, cells| Fault { name, kind, cells };
    vec![
        fault(
            "pause",
            "",
            [
                Ok((Never, || paused(OneServer))),
                Ok((Around, || paused(Sentinel))),
                Ok((Around, || paused(Cluster))),
                Ok((Never, || paused(Quorum))),
            ],
        ),
        fault(
            "kill",
            "",
            [
                Ok((Never, || killed(OneServer))),
                Ok((Around, || killed(Sentinel))),
                Ok((Around, || killed(Cluster))),
                Ok((Never, || killed(Quorum))),
            ],
        ),
        fault(
            "partition",
            "",
            [
                Ok((Never, || cut_off(OneServer))),
                Ok((Around, || cut_off(Sentinel))),
                Ok((Around, || cut_off(Cluster))),
                Ok((Never, || cut_off(Quorum))),
            ],
        ),
        fault(
            "partition",
            "from its peers alone",
            [
                Err("no peers"),
                Ok((Around, || cut_off_from_peers(Sentinel))),
                Ok((Around, || cut_off_from_peers(Cluster))),
                Err("no peers"),
            ],
        ),
        fault(
            "clock",
            "forward",
            [
                Ok((Around, || clock_forward(OneServer))),
                Ok((Around, || clock_forward(Sentinel))),
                Ok((Around, || clock_forward(Cluster))),
                Ok((Never, || clock_forward(Quorum))),
            ],
        ),
        fault(
            "clock",
            "back",
            [
                Ok((Never, || clock_back(OneServer))),
                Ok((Never, || clock_back(Sentinel))),
                Ok((Never, || clock_back(Cluster))),
                Ok((Never, || clock_back(Quorum))),
            ],
        ),
        fault(
            "disk full",
            "",
            [
                Ok((Never, || disk_full(OneServer))),
                Ok((Never, || disk_full(Sentinel))),
                Ok((Never, || disk_full(Cluster))),
                Ok((Never, || disk_full(Quorum))),
            ],
        ),
        fault(
            "slow disk",
            "",
            [
                Ok((Never, || slow_disk(OneServer))),
                Ok((Never, || slow_disk(Sentinel))),
                Ok((Never, || slow_disk(Cluster))),
                Ok((Never, || slow_disk(Quorum))),
            ],
        ),
        fault(
            "restart empty",
            "",
            [
                Ok((Around, || restarted_empty(OneServer))),
                Ok((Around, || restarted_empty(Sentinel))),
                Ok((Around, || restarted_empty(Cluster))),
                Ok((Never, || restarted_empty(Quorum))),
            ],
        ),
        fault(
            "failover",
            "by command",
            [
                Err("no replica"),
                Ok((Around, || fail_over(Sentinel))),
                Ok((Around, || fail_over(Cluster))),
                Err("no replica"),
            ],
        ),
        fault(
            "failover",
            "by death while replicas are behind",
            [
                Err("no replica"),
                Ok((Around, sentinel::killed_ahead)),
                Ok((Around, cluster::killed_ahead)),
                Err("no replica"),
            ],
        ),
        fault(
            "duplicate delivery",
            "",
            [
                Ok((Never, || repeated(OneServer))),
                Ok((Never, || repeated(Sentinel))),
                Ok((Never, || repeated(Cluster))),
                Ok((Never, || repeated(Quorum))),
            ],
        ),
    ]
}

/// The scenarios that the arguments of the program name.
pub(super) fn meant(arguments: &[String]) -> impl Iterator<Item = Scenario> {
    scenarios().into_iter().filter(|scenario| {
        arguments.iter().any(|argument| argument.starts_with(PREFIX) && scenario.name.contains(argument))
    })
}

fn scenarios() -> Vec<Scenario> {
    let of_one = |fault: Fault| {
        let cells = TOPOLOGIES.into_iter().zip(fault.cells);
        cells.filter_map(move |(topology, cell)| {
            let (conflicts, rig) = cell.ok()?;
            let words = [PREFIX, fault.name, fault.kind, topology].join(" ");
            let name = words.split_whitespace().collect::<Vec<_>>().join("_");
            // Named once in the life of the program.
            Some(Scenario { name: name.leak(), conflicts, rig })
        })
    };
    faults().into_iter().flat_map(of_one).collect()
}
