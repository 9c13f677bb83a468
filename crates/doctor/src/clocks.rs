//! The clocks of the servers, compared with one another and with the clock of this machine.
//!
//! No promise compares two clocks. However, a replica keeps the ends of leases as points in time, so after a failover
//! leases end by the replica's own clock. Moreover, a clock that is far off may be corrected by a step.

use std::time::Duration;

use crate::probe::{Directory, Reading, Snapshot};

use crate::finding::Findings;

/// The largest offset between servers that replace one another.
const OF_REPLICAS: Duration = Duration::from_millis(500);
/// The largest offset between servers that know nothing of one another.
const OF_MEMBERS: Duration = Duration::from_secs(1);
/// The largest offset between a server and this machine.
const OF_THIS_MACHINE: Duration = Duration::from_secs(10);

/// The clock reading of a server at the start of the examination, counted from 1970.
struct ShownClock<'a> {
    server: &'a str,
    at_start: Duration,
    /// The uncertainty of the reading: half of the round trip.
    doubt: Duration,
}

pub(crate) fn check(is_quorum: bool, members: &[Snapshot], now: Duration, findings: &mut Findings) {
    let mut clocks: Vec<ShownClock<'_>> = members
        .iter()
        .flat_map(|snapshot| &snapshot.servers)
        .filter_map(|server| {
            let info = server.info.as_ref().ok()?;
            let Reading { at, shown } = *info.clock.as_ref().ok()?;
            let (at_start, doubt) = (shown.saturating_sub(at), info.round_trip / 2);
            Some(ShownClock { server: &server.address, at_start, doubt })
        })
        .collect();
    clocks.sort_by_key(|clock| clock.at_start);
    // The median, so that among three servers the one that is off is named.
    let Some(middle) = clocks.get(clocks.len().saturating_sub(1) / 2) else { return };
    let replicate = members.iter().any(|snapshot| !matches!(snapshot.directory, Directory::None));
    for clock in &clocks {
        let off = clock.at_start.abs_diff(middle.at_start);
        let doubt = clock.doubt + middle.doubt;
        if replicate && !is_quorum && off > OF_REPLICAS + doubt {
            findings.warning("clock-offset", Some(clock.server)).because(
                format!("its clock is {off:.1?} from that of {}: after a failover between two such servers leases end that much earlier or later", middle.server),
                "let all servers follow the same time servers (NTP)",
            );
        } else if is_quorum && off > OF_MEMBERS + doubt {
            findings.notice("clock-offset", Some(clock.server)).because(
                format!("its clock is {off:.1?} from that of {}: no lease depends on that, unless somebody sets it right by a step", middle.server),
                "let it follow a time server (NTP), and slew it instead of stepping it",
            );
        }
    }
    let off = middle.at_start.abs_diff(now);
    if off > OF_THIS_MACHINE + middle.doubt {
        findings.notice("clock-offset", Some(middle.server)).because(
            format!("its clock is {off:.1?} from that of this machine: no lease depends on that, unless somebody sets it right by a step"),
            "find out which of the two is wrong, and slew it instead of stepping it",
        );
    }
}
