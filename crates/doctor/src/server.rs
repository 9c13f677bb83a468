//! One server: version, memory, persistence, replication, distance, rights.

use std::time::Duration;

use crate::probe::{ProbedServer, ServerInfo};
use leasehold::{Config, Layout, StoreError, text::counted};

use crate::{Severity, finding::Findings, rights};

/// The longest time without a vote after a restart for which there is no warning.
const LONG_ABSENCE: Duration = Duration::from_secs(600);
const OLDEST: (u64, u64) = (6, 2);
/// The share of `maxmemory`, in percent, above which memory is nearly full.
const NEARLY_FULL: u64 = 90;

pub(crate) fn check(config: &Config, is_quorum: bool, server: &ProbedServer, findings: &mut Findings) {
    let at = Some(&*server.address);
    let info = match &server.info {
        Ok(info) => info,
        // `quorum::check` reports the members that do not answer.
        Err(_) if is_quorum => return,
        Err(error) => {
            let severity = if server.is_replica { Severity::Warning } else { Severity::Critical };
            return unreachable(error, severity, at, server.is_replica, findings);
        }
    };
    if is_of_another_kind(config, info, at, findings) {
        return;
    }
    version(info, at, findings);
    eviction(server, info, at, findings);
    persistence(config, is_quorum, info, at, findings);
    disk(server, info, at, findings);
    rights::check(is_quorum, server, info, findings);
    if !server.is_replica {
        memory(info, at, findings);
        role(info, at, findings);
        replication(config, info, at, findings);
        distance(config, is_quorum, info, at, findings);
    }
}

/// Adds the finding for a server that does not answer or refuses to.
pub(crate) fn unreachable(
    error: &StoreError,
    severity: Severity,
    at: Option<&str>,
    is_replica: bool,
    findings: &mut Findings,
) {
    let of_replicas = |more: &'static str| if is_replica { more } else { "" };
    match error {
        StoreError::Denied { reason } if reason.starts_with("NOPERM") => findings
            .add(severity, "rights", at)
            .because(reason, "give the user this right; docs/operations.md has the smallest rules"),
        StoreError::Denied { reason } if reason.contains("protected mode") => findings
            .add(severity, "refused", at)
            .because(reason, "give it a password, which store.url then has too; or set protected-mode no"),
        StoreError::Denied { reason } => findings.add(severity, "refused", at).because(
            reason,
            format!(
                "check user, password and certificates in store.url and store.tls_*{}",
                of_replicas("; a replica does not get the users and passwords of its master")
            ),
        ),
        StoreError::Misconfigured { reason } => {
            findings.add(severity, "wrong-mode", at).because(reason, "correct store.url");
        }
        error => findings.add(severity, "unreachable", at).because(
            error.to_string(),
            format!(
                "check that it runs, and that this machine reaches it at this address{}",
                of_replicas("; if it is gone for good, forget it: SENTINEL RESET, or CLUSTER FORGET")
            ),
        ),
    }
}

fn is_of_another_kind(config: &Config, info: &ServerInfo, at: Option<&str>, findings: &mut Findings) -> bool {
    let is_cluster = config.store.url.reveal().contains("+cluster://");
    // Valkey has another name for the field.
    let mode = info.text("redis_mode").or_else(|| info.text("server_mode")).unwrap_or_default();
    let advice = match mode {
        "sentinel" => "name the sentinels in store.url as redis+sentinel://host,host,host/service",
        "cluster" if !is_cluster => "use redis+cluster:// in store.url",
        // Some services serve slots and still report this mode.
        "standalone" if is_cluster && has_no_slots(info) => "use redis:// in store.url",
        _ => return false,
    };
    findings
        .critical("wrong-mode", at)
        .because(format!("the server runs as {mode}, which store.url does not say"), advice);
    true
}

fn has_no_slots(info: &ServerInfo) -> bool {
    info.cluster.as_ref().is_err_and(|error| !error.starts_with("NOPERM"))
}

fn version(info: &ServerInfo, at: Option<&str>, findings: &mut Findings) {
    let Some(version) = info.text("redis_version") else { return };
    let mut numbers = version.split('.').map(|number| number.parse::<u64>().ok());
    // A version that is not made of numbers belongs to a server with another numbering.
    let (Some(Some(major)), Some(Some(minor))) = (numbers.next(), numbers.next()) else { return };
    if (major, minor) < OLDEST {
        findings.critical("version", at).because(
            format!("version {version}, older than 6.2: scripts may fail half-way"),
            "update the server to 6.2 or newer, or to Valkey",
        );
    }
}

fn eviction(server: &ProbedServer, info: &ServerInfo, at: Option<&str>, findings: &mut Findings) {
    let (Some(policy), Some(most)) = (info.text("maxmemory_policy"), info.number("maxmemory")) else {
        return;
    };
    if policy == "noeviction" {
        return;
    }
    let (severity, when) = match most {
        0 => (Severity::Warning, "as soon as somebody sets maxmemory, locks are".to_owned()),
        most if server.is_replica => {
            (Severity::Warning, format!("once it is the master, at {most} bytes (maxmemory), locks are"))
        }
        most => (Severity::Critical, format!("at {most} bytes (maxmemory), locks are")),
    };
    findings.add(severity, "eviction", at).because(
        format!("maxmemory-policy is {policy}: {when} evicted like cache entries, while their holders believe in them"),
        "set maxmemory-policy noeviction, or keep locks on a server of their own",
    );
}

fn memory(info: &ServerInfo, at: Option<&str>, findings: &mut Findings) {
    let (Some(used), Some(most)) = (info.number("used_memory"), info.number("maxmemory")) else { return };
    let evicts = info.text("maxmemory_policy") != Some("noeviction");
    if most > 0 && !evicts && used.saturating_mul(100) > most.saturating_mul(NEARLY_FULL) {
        findings.warning("memory-full", at).because(
            format!("{used} of {most} bytes are used: at the limit new locks are refused"),
            "raise maxmemory, or remove what else is kept there",
        );
    }
}

fn persistence(
    config: &Config,
    is_quorum: bool,
    info: &ServerInfo,
    at: Option<&str>,
    findings: &mut Findings,
) {
    let Some(append_only) = info.text("aof_enabled").map(|enabled| enabled == "1") else { return };
    let fsync = info.setting("appendfsync");
    if is_quorum {
        return absence(config, info, at, findings);
    }
    let found = match (append_only, fsync, info.setting("save")) {
        (true, Some("no"), _) => {
            "appendfsync is no: after a power loss half a minute of locks may be forgotten"
        }
        (true, ..) => return,
        (false, _, Some("")) => "there is no persistence: after a restart all locks are free at once",
        (false, ..) => "there are snapshots at most: a restart forgets all locks since the last one",
    };
    findings.warning("persistence", at).because(
        found,
        "set appendonly yes, with appendfsync everysec or always; and check fences where you write",
    );
}

/// Checks the time for which a member of a quorum does not vote after a restart.
fn absence(config: &Config, info: &ServerInfo, at: Option<&str>, findings: &mut Findings) {
    let absence = config.limits.max_ttl;
    // Without fences nothing proves that the member came back with its data.
    let advice = match config.store.layout {
        Layout::Plain => "set limits.max_ttl to what you need, such as \"1m\"",
        _ if info.is_durable() => return,
        _ => "set appendonly yes and appendfsync always, or limits.max_ttl to what you need, such as \"1m\"",
    };
    if absence > LONG_ABSENCE {
        findings.warning("persistence", at).because(
            format!(
                "it may forget the last grants when it restarts, so after a restart it does not vote for {absence:?} \
                 (limits.max_ttl)"
            ),
            advice,
        );
    }
}

fn disk(server: &ProbedServer, info: &ServerInfo, at: Option<&str>, findings: &mut Findings) {
    let failed = |name| info.text(name) == Some("err");
    let snapshots = info.setting("save").is_some_and(|save| !save.is_empty());
    let stops = info.setting("stop-writes-on-bgsave-error") == Some("yes");
    let found = if failed("aof_last_write_status") {
        "the append-only file cannot be written"
    } else if failed("rdb_last_bgsave_status") && snapshots && stops {
        "the last snapshot failed"
    } else {
        return;
    };
    let (severity, effect) = match server.is_replica {
        true => (Severity::Warning, "it would refuse every write once it is the master"),
        false => (Severity::Critical, "the server refuses every write"),
    };
    findings.add(severity, "disk", at).because(
        format!("{found}, so {effect}"),
        "look into its log and at its disk: space, rights, the folder in `dir`",
    );
}

fn role(info: &ServerInfo, at: Option<&str>, findings: &mut Findings) {
    if info.text("role") != Some("slave") {
        return;
    }
    let part = |name| info.text(name).unwrap_or("?");
    findings.critical("role", at).because(
        format!("it is a replica of {}:{}, and refuses writes", part("master_host"), part("master_port")),
        "name its master in store.url, or the sentinels (redis+sentinel://), which know who that is",
    );
}

fn replication(config: &Config, info: &ServerInfo, at: Option<&str>, findings: &mut Findings) {
    let Some(connected) = info.number("connected_slaves") else { return };
    let wanted = u64::from(config.store.replicas_ack);
    if wanted > connected {
        findings.critical("replicas-ack", at).because(
            format!(
                "store.replicas_ack is {wanted}, and only {} connected: nothing is granted",
                are(connected)
            ),
            "bring the replicas back, or lower store.replicas_ack",
        );
    }
    // The server reports it only if `min-replicas-to-write` is set.
    let good = info.number("min_slaves_good_slaves");
    let least = info.setting("min-replicas-to-write").and_then(|least| least.parse::<u64>().ok());
    match (good, least) {
        (Some(good), Some(least)) if good < least => findings.critical("min-replicas", at).because(
            format!("min-replicas-to-write is {least}, and only {} up to date: every write is refused", are(good)),
            "bring the replicas back, or lower min-replicas-to-write",
        ),
        (None, _) if connected > 0 => findings.warning("min-replicas", at).because(
            format!(
                "{} connected, and min-replicas-to-write is 0: a master that is cut off goes on granting locks that \
                 the next master does not know",
                are(connected)
            ),
            "set min-replicas-to-write to 1 or more, and min-replicas-max-lag to a few seconds",
        ),
        _ => {}
    }
}

fn are(replicas: u64) -> String {
    format!("{} {}", counted(replicas, "replica"), if replicas == 1 { "is" } else { "are" })
}

/// Compares the duration of a round trip with the timeout for it.
fn distance(config: &Config, is_quorum: bool, info: &ServerInfo, at: Option<&str>, findings: &mut Findings) {
    let round_trip = info.round_trip;
    let (setting, within, share) = match is_quorum {
        true => ("store.node_timeout", config.store.node_timeout.min(config.lease.ttl / 20), 2),
        false => ("store.response_timeout", config.response_timeout(), 4),
    };
    if round_trip > within / share {
        findings.warning("round-trip", at).because(
            format!("a round trip takes {round_trip:.1?}, and {setting} waits {within:?}: answers will come too late"),
            format!("raise {setting}, and lease.ttl with it; or run the server nearer"),
        );
    }
}
