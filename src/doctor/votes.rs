//! Which members of a quorum count, by what they have written down, and what the others wait for.

use std::time::Duration;

use super::{Severity, finding::Findings};
use crate::{
    config::Config,
    protocol::{Fence, Instance, Recovered, Report, abstains_for, lessons},
    store::redis::{
        Layout,
        checkup::{Facts, Server},
    },
};

/// Whether the members that do not count yet leave a majority.
pub(super) fn judge(config: &Config, servers: &[&Server], needed: usize, findings: &mut Findings) {
    match config.store.layout {
        Layout::Full => by_what_is_written(config, servers, needed, findings),
        Layout::Plain => by_age(config, servers, needed, findings),
    }
}

fn by_what_is_written(config: &Config, servers: &[&Server], needed: usize, findings: &mut Findings) {
    let reports: Vec<Option<Report>> =
        servers.iter().map(|server| report(server.facts.as_ref().ok()?)).collect();
    let knows = |report: &Report| report.instance.has_recovered(report.recovered.as_ref());
    let knowing = reports.iter().flatten().filter(|report| knows(report)).count();
    if config.store.fresh_start && knowing > 0 {
        fresh_start(
            "the deployment has begun, so it does nothing but harm if all members forget at once",
            findings,
        );
    }
    let max_ttl = config.limits.max_ttl;
    // The next lock has these taught.
    let taught = lessons(&reports, Duration::ZERO, max_ttl, config.store.fresh_start).unwrap_or_default();
    let waits = |place: usize| !taught.iter().any(|(which, _)| *which == place);
    let waiting = || {
        let members = (0..).zip(servers).zip(&reports);
        members.filter_map(|((place, server), report)| {
            let report = report.as_ref().filter(|report| !knows(report) && waits(place))?;
            Some((*server, report, abstains_for(report.instance.age, max_ttl)))
        })
    };
    let counting = knowing + taught.len();
    let severity = if counting >= needed { Severity::Warning } else { Severity::Critical };
    let all = reports.iter().all(Option::is_some);
    let has_teachers = knowing >= needed || all;
    let is_first = reports.iter().flatten().all(|report| report.recovered.is_none());
    for (server, report, left) in waiting() {
        let state = match (is_first, &report.recovered) {
            (true, _) => "nothing is written down on any member, as at a first start",
            (false, None) => "it is new, or came back without its data",
            (false, Some(_)) => "it was restarted, and may have forgotten what it acknowledged",
        };
        let mut until = Vec::new();
        if !left.is_zero() {
            until.push(format!("for another {left:.0?}"));
        }
        if !has_teachers {
            until.push(
                "until it is taught the largest fence, for which all members have to answer, or a majority \
                        that has not forgotten"
                    .to_owned(),
            );
        }
        let advice = match (is_first, has_teachers) {
            (true, true) => "wait; or set store.fresh_start, if there are no locks yet",
            (true, false) => "start all members: the first start needs each of them once",
            (false, true) => {
                "wait. A smaller limits.max_ttl, or appendfsync always, makes it shorter next time"
            }
            (false, false) => "bring the other members back",
        };
        let found = format!("{state}: it does not count {}", until.join(", and not "));
        findings.add(severity, "votes", Some(&server.address)).because(found, advice);
    }
}

/// What a member would report; `None` if that is not known, and then it does not count.
fn report(facts: &Facts) -> Option<Report> {
    let recovered: Option<Recovered> = facts.recovered.clone().ok()?;
    let instance =
        Instance { id: facts.text("run_id")?.to_owned(), age: age(facts)?, durable: is_durable(facts) };
    // Which fence it is taught makes no difference here.
    Some(Report { instance, recovered, last: Fence::new(0), clock: Fence::new(0) })
}

/// Without fences nothing is written down.
fn by_age(config: &Config, servers: &[&Server], needed: usize, findings: &mut Findings) {
    let left = |server: &Server| Some(abstains_for(age(server.facts.as_ref().ok()?)?, config.limits.max_ttl));
    let lives: Vec<(&Server, Duration)> =
        servers.iter().filter_map(|server| Some((*server, left(server)?))).collect();
    let abstaining = lives.iter().filter(|(_, left)| !left.is_zero());
    let voting = lives.len() - abstaining.clone().count();
    if config.store.fresh_start {
        if !lives.is_empty() && voting == lives.len() {
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

/// The time since it was started; rather too little than too much.
fn age(facts: &Facts) -> Option<Duration> {
    Some(Duration::from_secs(facts.number("uptime_in_seconds")?.saturating_sub(1)))
}

/// Whether it forgets nothing that it acknowledged, unless its disk is lost.
pub(super) fn is_durable(facts: &Facts) -> bool {
    facts.text("aof_enabled") == Some("1") && facts.setting("appendfsync") == Some("always")
}
