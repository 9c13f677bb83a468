//! The members of a quorum: a majority that votes, each member on its own server.

use crate::probe::{ProbedServer, Snapshot};
use leasehold::Config;

use crate::{Severity, finding::Findings, server, votes};

pub(crate) fn check(config: &Config, members: &[Snapshot], findings: &mut Findings) {
    let servers: Vec<&ProbedServer> = members.iter().flat_map(|snapshot| &snapshot.servers).collect();
    let needed = servers.len() / 2 + 1;
    if servers.len().is_multiple_of(2) {
        let (count, fewer) = (servers.len(), servers.len() - 1);
        findings.warning("even-quorum", None).because(
            format!("{count} members survive no more failures than {fewer} would, and are more likely to have them"),
            "use an odd number of members: 3 or 5",
        );
    }
    let reached = servers.iter().filter(|server| server.info.is_ok()).count();
    for server in &servers {
        if let Err(error) = &server.info {
            let severity = if reached >= needed { Severity::Warning } else { Severity::Critical };
            server::unreachable(error, severity, Some(&server.address), false, findings);
        }
    }
    same_server(&servers, findings);
    votes::check(config, &servers, needed, findings);
}

/// Finds members that are one server under two addresses: they have two votes, and fail together.
fn same_server(servers: &[&ProbedServer], findings: &mut Findings) {
    let incarnation = |server: &&ProbedServer| server.info.as_ref().ok()?.text("run_id").map(str::to_owned);
    for (number, server) in servers.iter().enumerate() {
        let twin = incarnation(server)
            .and_then(|id| servers[..number].iter().find(|other| incarnation(other).as_ref() == Some(&id)));
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
