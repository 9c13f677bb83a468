//! A cluster: all slots served, and each master with a replica.

use std::time::Duration;

use crate::probe::{ProbedServer, Range};
use leasehold::{Config, StoreError, probe::SLOTS};

use crate::{Severity, finding::Findings, sentinel};

pub(crate) fn check(
    config: &Config,
    ranges: &Result<Vec<Range>, StoreError>,
    servers: &[ProbedServer],
    findings: &mut Findings,
) {
    let ranges = match ranges {
        Ok(ranges) => ranges,
        // The findings of a server give the reason.
        Err(_) if findings.any(|found| found.severity == Severity::Critical) => return,
        Err(error) => {
            return findings.critical("slots", None).because(
                format!("no node tells which slots are served: {error}"),
                "ask one: redis-cli cluster slots; and check that the hosts in store.url are nodes of a cluster",
            );
        }
    };
    let gaps = gaps(ranges);
    if !gaps.is_empty() {
        let missing: u32 = gaps.iter().map(|(first, last)| u32::from(last - first) + 1).sum();
        let (first, last) = gaps[0];
        findings.critical("slots", None).because(
            format!("{missing} of {SLOTS} slots are not served, from {first} to {last} to begin with: no lock of them works"),
            "bring their master back, or give them to another one: redis-cli --cluster fix",
        );
    }
    for (number, server) in servers.iter().enumerate() {
        let at = Some(&*server.address);
        let mut own = ranges.iter().filter(|range| range.master == number).peekable();
        if own.peek().is_some() && own.all(|range| range.replicas == 0) {
            findings.warning("no-replica", at).because(
                "this master has no replica: when it dies, no lock of its slots works, and those it held are gone",
                "add a replica: redis-cli --cluster add-node --cluster-slave",
            );
        }
        let Some(state) = state(server).filter(|state| *state != "ok" && gaps.is_empty()) else { continue };
        let severity = if server.is_replica { Severity::Warning } else { Severity::Critical };
        findings.add(severity, "cluster-state", at).because(
            format!("cluster_state is {state}: this node refuses keys"),
            "check that it reaches the other nodes, on their cluster bus ports too",
        );
    }
    let node_timeout = servers.iter().filter_map(node_timeout).max();
    if let Some(node_timeout) = node_timeout {
        sentinel::failover_time(config, node_timeout, "cluster-node-timeout", findings);
    }
}

fn state(server: &ProbedServer) -> Option<&str> {
    server.info.as_ref().ok()?.cluster.as_ref().ok()?.get("cluster_state").map(String::as_str)
}

fn node_timeout(server: &ProbedServer) -> Option<Duration> {
    let millis = server.info.as_ref().ok()?.setting("cluster-node-timeout")?.parse().ok()?;
    Some(Duration::from_millis(millis))
}

/// Returns the gaps between the ranges that are served.
fn gaps(ranges: &[Range]) -> Vec<(u16, u16)> {
    let mut ranges = ranges.to_vec();
    ranges.sort_by_key(|range| range.first);
    let (mut gaps, mut next) = (Vec::new(), 0);
    for range in ranges {
        if range.first > next {
            gaps.push((next, range.first - 1));
        }
        next = next.max(range.last + 1);
    }
    if next < SLOTS {
        gaps.push((next, SLOTS - 1));
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: u16, last: u16) -> Range {
        Range { first, last, master: 0, replicas: 1 }
    }

    #[test]
    fn gaps_are_found_at_both_ends_and_between() {
        assert_eq!(gaps(&[]), [(0, 16_383)]);
        assert_eq!(gaps(&[range(8_000, 16_383), range(0, 7_999)]), []);
        assert_eq!(gaps(&[range(1, 10), range(12, 16_382)]), [(0, 0), (11, 11), (16_383, 16_383)]);
    }
}
