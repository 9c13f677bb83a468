//! The members of a quorum: enough that vote, each a server of its own.

use std::time::Duration;

use super::{Severity, finding::Findings, server};
use crate::{
    config::Config,
    protocol::abstains_for,
    store::redis::checkup::{Facts, Seen, Server},
};

pub(super) fn judge(config: &Config, members: &[Seen], findings: &mut Findings) {
    let servers: Vec<&Server> = members.iter().flat_map(|seen| &seen.servers).collect();
    let needed = servers.len() / 2 + 1;
    if servers.len().is_multiple_of(2) {
        let (count, fewer) = (servers.len(), servers.len() - 1);
        findings.warning("even-quorum", None).because(
            format!("{count} members survive no more failures than {fewer} would, and are more likely to have them"),
            "use an odd number of members: 3 or 5",
        );
    }
    let reached = servers.iter().filter(|server| server.facts.is_ok()).count();
    for server in &servers {
        if let Err(error) = &server.facts {
            let severity = if reached >= needed { Severity::Warning } else { Severity::Critical };
            server::unreachable(error, severity, Some(&server.address), false, findings);
        }
    }
    same_server(&servers, findings);
    votes(config, &servers, needed, findings);
}

/// Two addresses of one server are two votes of one that may fail.
fn same_server(servers: &[&Server], findings: &mut Findings) {
    let life = |server: &&Server| server.facts.as_ref().ok()?.text("run_id").map(str::to_owned);
    for (number, server) in servers.iter().enumerate() {
        let twin = life(server)
            .and_then(|id| servers[..number].iter().find(|other| life(other).as_ref() == Some(&id)));
        if let Some(twin) = twin {
            findings.critical("same-server", Some(&server.address)).because(
                format!(
                    "it is the same server as {}, which counts twice: when it forgets, so does a majority",
                    twin.address
                ),
                "name each server once, by one address",
            );
        }
    }
}

/// Whether those that were started lately leave a majority.
fn votes(config: &Config, servers: &[&Server], needed: usize, findings: &mut Findings) {
    let lives: Vec<(&Server, Duration)> = servers
        .iter()
        .filter_map(|server| Some((*server, abstention(config, server.facts.as_ref().ok()?)?)))
        .collect();
    let abstaining = lives.iter().filter(|(_, left)| !left.is_zero());
    if config.store.fresh_start {
        if !lives.is_empty() && abstaining.count() == 0 {
            findings.notice("fresh-start", None).because(
                "store.fresh_start is set, and all members may vote without it",
                "remove it: it is for the first start alone",
            );
        }
        return;
    }
    let voting = lives.iter().filter(|(_, left)| left.is_zero()).count();
    for (server, left) in abstaining {
        let severity = if voting >= needed { Severity::Warning } else { Severity::Critical };
        findings.add(severity, "votes", Some(&server.address)).because(
            format!("it was started lately, may have forgotten leases, and does not vote for another {left:.0?}"),
            "wait; or for the very first start set store.fresh_start. A smaller limits.max_ttl, or appendfsync always, \
             shortens it",
        );
    }
}

/// How long a member does not vote yet.
fn abstention(config: &Config, facts: &Facts) -> Option<Duration> {
    let age = Duration::from_secs(facts.number("uptime_in_seconds")?.saturating_sub(1));
    let durable = facts.text("aof_enabled") == Some("1") && facts.setting("appendfsync") == Some("always");
    Some(if durable { Duration::ZERO } else { abstains_for(age, config.limits.max_ttl) })
}
