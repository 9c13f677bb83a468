//! The missing rights of the user, and the checks that they prevent.

use crate::probe::{MissingRight, ProbedServer, Purpose, ServerInfo};

use crate::{Severity, finding::Findings};

pub(crate) fn check(is_quorum: bool, server: &ProbedServer, info: &ServerInfo, findings: &mut Findings) {
    let at = Some(&*server.address);
    let mut lacks = info.lacks.clone();
    if let (true, Err(error)) = (is_quorum, &info.info) {
        // A node that does not report its start time does not vote.
        let unknown = !error.starts_with("NOPERM");
        lacks.push(MissingRight { right: "+info".to_owned(), unknown, purpose: Purpose::Locks });
    }
    let purposes =
        [Purpose::Locks, Purpose::HandOvers, Purpose::LongValues, Purpose::PlainCommands, Purpose::Lists];
    for purpose in purposes {
        let of_purpose = |unknown: bool| {
            let those = lacks.iter().filter(|lack| lack.purpose == purpose && lack.unknown == unknown);
            those.map(|lack| &*lack.right).collect::<Vec<_>>().join(" ")
        };
        let (severity, effect) = match purpose {
            // Its rights count only after a failover.
            Purpose::Locks if server.is_replica => {
                (Severity::Warning, "locks do not work once it is the master")
            }
            Purpose::Locks => (Severity::Critical, "locks do not work"),
            Purpose::HandOvers => {
                (Severity::Warning, "waiters are not notified, and attempt by their backoff alone")
            }
            Purpose::LongValues => {
                (Severity::Notice, "a long value of another program holds the server up at each attempt")
            }
            Purpose::PlainCommands if is_quorum => continue,
            Purpose::PlainCommands => {
                (Severity::Notice, "free locks are taken by scripts, which cost the server twice as much")
            }
            Purpose::Lists => (Severity::Notice, "resources cannot be listed"),
        };
        let (denied, unknown) = (of_purpose(false), of_purpose(true));
        if !denied.is_empty() {
            findings.add(severity, "rights", at).because(
                format!("the user lacks {denied}: {effect}"),
                format!("on this server: ACL SETUSER <user> {denied}"),
            );
        }
        if !unknown.is_empty() {
            let commands = unknown.replace('+', "").replace('|', " ").to_uppercase();
            findings.add(severity, "unknown-command", at).because(
                format!("the server does not know {commands}: {effect}"),
                "undo rename-command in its configuration, or use a server that has it",
            );
        }
    }
    unchecked(is_quorum, info, at, findings);
}

/// Adds a notice for the questions that could not be asked. Locks work without them.
fn unchecked(is_quorum: bool, info: &ServerInfo, at: Option<&str>, findings: &mut Findings) {
    let ServerInfo { round_trip: _, clock, info, config, cluster, recovered: _, lacks } = info;
    let known = |right: &str| lacks.iter().any(|lack| lack.right == right);
    let asked = [
        (
            info.as_ref().err().filter(|_| !is_quorum),
            "+info",
            "version, eviction, persistence, role, replicas",
        ),
        (config.as_ref().err(), "+config|get", "how often the append-only file is written, snapshots"),
        (clock.as_ref().err().filter(|_| !known("+time")), "+time", "its clock"),
        (
            cluster.as_ref().err().filter(|error| error.starts_with("NOPERM")),
            "+cluster|info",
            "the state of the cluster",
        ),
    ];
    let missed = asked.iter().filter_map(|(error, right, what)| error.map(|error| (error, *right, *what)));
    let (denied, absent): (Vec<_>, Vec<_>) = missed.partition(|(error, ..)| error.starts_with("NOPERM"));
    for missed in [&denied, &absent] {
        let Some((error, ..)) = missed.first() else { continue };
        let what: Vec<&str> = missed.iter().map(|(.., what)| *what).collect();
        let rights: Vec<&str> = missed.iter().map(|(_, right, _)| *right).collect();
        let advice = match error.starts_with("NOPERM") {
            true => format!("let a user ask who may: ACL SETUSER <user> {}", rights.join(" ")),
            // Rented servers often lack such commands.
            false => "see for yourself, in its configuration file or where its provider shows it".to_owned(),
        };
        findings
            .notice("unchecked", at)
            .because(format!("could not check {} ({error})", what.join(", ")), advice);
    }
}
