//! The sentinels of a service: their number, their agreement, and the replicas for a failover.

use std::time::Duration;

use crate::probe::{ProbedServer, SentinelOpinion, SentinelSnapshot, ServerAnswer};
use leasehold::{Config, StoreError, text::counted};

use crate::{Severity, finding::Findings, server};

/// The smallest number of sentinels of which one may fail and leave a majority.
const ENOUGH: usize = 3;
/// The duration of a failover beyond the time until the master is considered dead.
const ELECTION: Duration = Duration::from_secs(2);

pub(crate) fn check(
    config: &Config,
    sentinels: &[SentinelSnapshot],
    servers: &[ProbedServer],
    findings: &mut Findings,
) {
    reach(sentinels, findings);
    let opinions: Vec<(&str, &SentinelOpinion)> = sentinels
        .iter()
        .filter_map(|snapshot| Some((&*snapshot.address, snapshot.said.as_ref().ok()?.as_ref()?)))
        .collect();
    agreement(&opinions, findings);
    unchecked(&opinions, findings);
    let Some((_, best)) = opinions.iter().max_by_key(|(_, opinion)| opinion.epoch) else { return };
    number(best, opinions.len(), findings);
    replicas(best, servers, findings);
    failover_time(config, best.down_after, "down-after-milliseconds", findings);
}

/// Checks that one sentinel may fail. `answered` is the number of those that store.url names and that answered: sentinels that
/// have just begun do not know one another yet.
fn number(best: &SentinelOpinion, answered: usize, findings: &mut Findings) {
    let known = best.others.saturating_add(1);
    if known >= ENOUGH {
        return;
    }
    let (found, advice) = match answered > known {
        true => (
            format!("{} answer, and know only {known} of one another", counted(answered as u64, "sentinel")),
            "examine again in a few seconds, if they have just begun; otherwise check that they reach one another",
        ),
        false => (
            format!(
                "there is no more than {}: when one fails, nobody takes the place of a dead master",
                counted(known as u64, "sentinel")
            ),
            "run at least 3, on different machines",
        ),
    };
    findings.warning("sentinels", None).because(found, advice);
}

/// Checks that there is a replica to fail over to. The master knows its replicas at once, and the sentinels learn of them within
/// ten seconds.
fn replicas(best: &SentinelOpinion, servers: &[ProbedServer], findings: &mut Findings) {
    if best.replicas > 0 || servers.iter().any(|server| server.is_replica) {
        return;
    }
    let connected = servers.iter().find_map(|server| server.info.as_ref().ok()?.number("connected_slaves"));
    match connected {
        Some(connected) if connected > 0 => findings.warning("failover", Some(&best.master)).because(
            format!("the master has {}, of which the sentinels do not know yet", counted(connected, "replica")),
            "examine again in ten seconds; if that stays, check that the sentinels may ask the master: sentinel auth-user",
        ),
        _ => findings.warning("no-replica", Some(&best.master)).because(
            "the master has no replica: there is nothing to fail over to",
            "add at least one replica, better two",
        ),
    }
}

fn reach(sentinels: &[SentinelSnapshot], findings: &mut Findings) {
    let reached = sentinels.iter().filter(|snapshot| snapshot.said.is_ok()).count();
    let severity = if reached > 0 { Severity::Warning } else { Severity::Critical };
    for SentinelSnapshot { address, said } in sentinels {
        match said {
            Err(StoreError::Misconfigured { reason }) if reason.contains("no sentinel") => {
                findings.critical("wrong-mode", Some(address)).because(
                    "this server is no sentinel, which store.url says",
                    "name the sentinels in store.url, whose usual port is 26379; or use redis:// for one server",
                );
            }
            Err(error) => server::unreachable(error, severity, Some(address), false, findings),
            Ok(None) => findings.critical("sentinels", Some(address)).because(
                "this sentinel does not know the service that store.url names",
                "check the name behind the slash in store.url, and `sentinel monitor` in its configuration",
            ),
            Ok(Some(_)) => {}
        }
    }
}

fn agreement(opinions: &[(&str, &SentinelOpinion)], findings: &mut Findings) {
    let mut masters: Vec<&str> = opinions.iter().map(|(_, opinion)| &*opinion.master).collect();
    masters.sort_unstable();
    masters.dedup();
    if masters.len() > 1 {
        findings.critical("sentinels", None).because(
            format!("the sentinels name different masters: {}", masters.join(", ")),
            "if this is not a failover that ends in a moment: check that they reach one another, and what they monitor",
        );
    }
    for (sentinel, opinion) in opinions {
        if let Err(reason) = &opinion.could_fail_over
            && reason.starts_with("NOQUORUM")
        {
            findings.warning("failover", Some(sentinel)).because(
                format!("no failover would happen now: {reason}"),
                "bring the other sentinels back; a majority of all that are known has to agree",
            );
        }
    }
}

/// Adds a notice for the questions that the user of the sentinels may not ask. Locks work without them.
fn unchecked(opinions: &[(&str, &SentinelOpinion)], findings: &mut Findings) {
    for (sentinel, opinion) in opinions {
        let asked = [
            (&opinion.listed, "+sentinel|replicas", "the replicas"),
            (&opinion.could_fail_over, "+sentinel|ckquorum", "whether a failover could happen"),
        ];
        let denied =
            |answer: &ServerAnswer<()>| answer.as_ref().is_err_and(|error| error.starts_with("NOPERM"));
        let missed: Vec<_> = asked.iter().filter(|(answer, ..)| denied(answer)).collect();
        if missed.is_empty() {
            continue;
        }
        let rights: Vec<&str> = missed.iter().map(|(_, right, _)| *right).collect();
        let what: Vec<&str> = missed.iter().map(|(.., what)| *what).collect();
        findings.notice("unchecked", Some(sentinel)).because(
            format!("could not check {}: its user lacks rights", what.join(", ")),
            format!("let a user ask who may: ACL SETUSER <user> {}, on each sentinel", rights.join(" ")),
        );
    }
}

/// Checks that leases survive a failover. A lease whose next renewal is due just as the failover begins has only the TTL
/// less the renewal interval left.
pub(crate) fn failover_time(
    config: &Config,
    taken_for_dead: Duration,
    setting: &str,
    findings: &mut Findings,
) {
    let left = config.lease.ttl.saturating_sub(config.lease.renewal_interval());
    let takes = taken_for_dead + ELECTION;
    if takes > left {
        findings.warning("failover-time", None).because(
            format!(
                "a failover takes about {takes:.0?} ({setting} is {taken_for_dead:.0?}), and a lease that is not renewed \
                 may have only {left:?} left: leases are lost in it"
            ),
            format!("lower {setting} to a few seconds, or raise lease.ttl"),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::probe::ServerInfo;

    use super::*;
    use crate::{Diagnosis, Finding};

    fn opinion(master: &str) -> SentinelOpinion {
        let (others, down_after) = (2, Duration::from_secs(5));
        SentinelOpinion {
            master: master.to_owned(),
            epoch: 1,
            others,
            replicas: 1,
            listed: Ok(()),
            down_after,
            could_fail_over: Ok(()),
        }
    }

    fn server(is_replica: bool, connected: Option<&str>) -> ProbedServer {
        let table = connected.map(|replicas| ("connected_slaves".to_owned(), replicas.to_owned()));
        let info = ServerInfo {
            round_trip: Duration::ZERO,
            clock: Err(String::new()),
            info: Ok(table.into_iter().collect()),
            config: Err(String::new()),
            cluster: Err(String::new()),
            recovered: Ok(None),
            lacks: Vec::new(),
        };
        ProbedServer { address: "m:1".to_owned(), is_replica, info: Ok(info) }
    }

    fn found(opinions: [SentinelOpinion; 3], servers: &[ProbedServer]) -> Vec<Finding> {
        let snapshots =
            opinions.map(|opinion| SentinelSnapshot { address: "s:1".to_owned(), said: Ok(Some(opinion)) });
        let mut findings = Findings::default();
        check(&Config::default(), &snapshots, servers, &mut findings);
        Diagnosis::new(String::new(), Vec::new(), findings).findings
    }

    fn checked(opinions: [SentinelOpinion; 3]) -> Vec<(Severity, &'static str)> {
        let findings = found(opinions, &[server(true, None)]);
        findings.iter().map(|finding| (finding.severity, finding.check)).collect()
    }

    #[test]
    fn sentinels_that_have_just_begun_do_not_deny_what_the_master_and_others_show() {
        let young = || SentinelOpinion { others: 0, replicas: 0, ..opinion("m:1") };
        let [none, one, unknown] = [Some("0"), Some("1"), None].map(|connected| {
            let found = found([(); 3].map(|()| young()), &[server(false, connected)]);
            found.into_iter().map(|finding| (finding.check, finding.found)).collect::<Vec<_>>()
        });
        let few = ("sentinels", "3 sentinels answer, and know only 1 of one another".to_owned());
        let alone = ("no-replica", "the master has no replica: there is nothing to fail over to".to_owned());
        let unseen =
            ("failover", "the master has 1 replica, of which the sentinels do not know yet".to_owned());
        assert_eq!(none, [few.clone(), alone.clone()]);
        assert_eq!(one, [few.clone(), unseen]);
        assert_eq!(unknown, [few, alone]);
    }

    #[test]
    fn three_sentinels_of_one_mind_are_no_finding() {
        assert_eq!(checked([(); 3].map(|()| opinion("m:1"))), []);
    }

    #[test]
    fn sentinels_that_name_different_masters_are_critical() {
        let found = checked([opinion("m:1"), opinion("m:2"), opinion("m:1")]);
        assert_eq!(found, [(Severity::Critical, "sentinels")]);
    }

    #[test]
    fn too_few_sentinels_and_too_few_that_are_reached_are_warnings() {
        let alone = || SentinelOpinion { others: 0, ..opinion("m:1") };
        assert_eq!(checked([(); 3].map(|()| alone())), [(Severity::Warning, "sentinels")]);
        let without = SentinelOpinion {
            could_fail_over: Err("NOQUORUM 2 usable Sentinels".to_owned()),
            ..opinion("m:1")
        };
        assert_eq!(checked([without, opinion("m:1"), opinion("m:1")]), [(Severity::Warning, "failover")]);
        let denied = SentinelOpinion { could_fail_over: Err("NOPERM no".to_owned()), ..opinion("m:1") };
        assert_eq!(checked([denied, opinion("m:1"), opinion("m:1")]), [(Severity::Notice, "unchecked")]);
    }

    #[test]
    fn the_usual_time_to_take_a_master_for_dead_is_longer_than_the_usual_lease() {
        let slow = || SentinelOpinion { down_after: Duration::from_secs(30), ..opinion("m:1") };
        assert_eq!(checked([(); 3].map(|()| slow())), [(Severity::Warning, "failover-time")]);
    }
}
