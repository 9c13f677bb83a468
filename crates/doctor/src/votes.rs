//! The members of a quorum that count, according to their records, and the conditions that the others wait for.

use std::time::Duration;

use crate::probe::{ProbedServer, ServerInfo};
use leasehold::{
    Config, Fence, Layout,
    rules::{Incarnation, Recovered, Report, abstains_for, lessons},
};

use crate::{Severity, finding::Findings};

/// Reports the members that do not count yet. The severity is higher if the rest is no majority.
pub(crate) fn check(config: &Config, servers: &[&ProbedServer], needed: usize, findings: &mut Findings) {
    match config.store.layout {
        Layout::Plain => by_age(config, servers, needed, findings),
        _ => by_what_is_written(config, servers, needed, findings),
    }
}

fn by_what_is_written(config: &Config, servers: &[&ProbedServer], needed: usize, findings: &mut Findings) {
    let (max_ttl, is_fresh) = (config.limits.max_ttl, config.store.fresh_start);
    let reports: Vec<Option<Report>> =
        servers.iter().map(|server| report(server.info.as_ref().ok()?)).collect();
    let knows = |report: &Report| report.incarnation.has_recovered(report.recovered.as_ref());
    let knowing = reports.iter().flatten().filter(|report| knows(report)).count();
    if is_fresh && knowing > 0 {
        fresh_start(
            "the deployment has begun, so it does nothing but harm if all members forget at once",
            findings,
        );
    }
    // The next lock has these members taught.
    let taught = lessons(&reports, Duration::ZERO, max_ttl, is_fresh).unwrap_or_default();
    let severity = if knowing + taught.len() >= needed { Severity::Warning } else { Severity::Critical };
    let is_first = reports.iter().flatten().all(|report| report.recovered.is_none());
    let has_teachers = knowing >= needed || reports.iter().all(Option::is_some);
    for ((place, server), report) in (0..).zip(servers).zip(&reports) {
        let is_taught = taught.iter().any(|(which, _)| *which == place);
        let Some(report) = report.as_ref().filter(|report| !knows(report) && !is_taught) else {
            continue;
        };
        let left = abstains_for(report.incarnation.age, max_ttl);
        let reason = reason(is_first, report);
        findings.add(severity, "votes", Some(&server.address)).because(
            format!("{reason}: it does not count {}", until(left, has_teachers)),
            advice(is_first, has_teachers),
        );
    }
}

/// Returns the reason why a member does not count.
fn reason(is_first: bool, report: &Report) -> &'static str {
    match (is_first, &report.recovered) {
        (true, _) => "nothing is written down on any member, as at a first start",
        (false, None) => "it is new, or came back without its data",
        (false, Some(_)) => "it was restarted, and may have forgotten what it acknowledged",
    }
}

/// Returns the time and the event that the member waits for.
fn until(left: Duration, has_teachers: bool) -> String {
    const TAUGHT: &str = "until it is taught the largest fence, for which all members have to answer, or a majority that \
                          has not forgotten";
    match (left, has_teachers) {
        (Duration::ZERO, _) => TAUGHT.to_owned(),
        (left, true) => format!("for another {left:.0?}"),
        (left, false) => format!("for another {left:.0?}, and not {TAUGHT}"),
    }
}

fn advice(is_first: bool, has_teachers: bool) -> &'static str {
    match (is_first, has_teachers) {
        (true, true) => "wait; or set store.fresh_start, if there are no locks yet",
        (true, false) => "start all members: the first start needs each of them once",
        (false, true) => "wait. A smaller limits.max_ttl, or appendfsync always, makes it shorter next time",
        (false, false) => "bring the other members back",
    }
}

/// Returns the report of a member; `None` if it is unknown, in which case the member does not count.
fn report(info: &ServerInfo) -> Option<Report> {
    let recovered: Option<Recovered> = info.recovered.clone().ok()?;
    let incarnation =
        Incarnation { id: info.text("run_id")?.to_owned(), age: info.age()?, durable: info.is_durable() };
    // The value of the fence makes no difference here.
    Some(Report { incarnation, recovered, last: Fence::new(0), clock: Fence::new(0) })
}

/// Checks the members by their age alone: without fences the members keep no record.
fn by_age(config: &Config, servers: &[&ProbedServer], needed: usize, findings: &mut Findings) {
    let left =
        |server: &ProbedServer| Some(abstains_for(server.info.as_ref().ok()?.age()?, config.limits.max_ttl));
    let members: Vec<(&ProbedServer, Duration)> =
        servers.iter().filter_map(|server| Some((*server, left(server)?))).collect();
    let abstaining = members.iter().filter(|(_, left)| !left.is_zero());
    let voting = members.len() - abstaining.clone().count();
    if config.store.fresh_start {
        if !members.is_empty() && voting == members.len() {
            fresh_start("all members vote without it", findings);
        }
        return;
    }
    let severity = if voting >= needed { Severity::Warning } else { Severity::Critical };
    for (server, left) in abstaining {
        findings.add(severity, "votes", Some(&server.address)).because(
            format!("it was started lately, may have forgotten leases, and does not vote for another {left:.0?}"),
            "wait; or for the very first start set store.fresh_start. A smaller limits.max_ttl makes it shorter",
        );
    }
}

fn fresh_start(why: &str, findings: &mut Findings) {
    findings.notice("fresh-start", None).because(
        format!("store.fresh_start is set, and {why}"),
        "remove it: it is for the first start alone",
    );
}
