//! Faults of a quorum.

use std::time::Duration;

use leasehold::doctor::Severity;

use crate::{GOOD, address, examine, found, only, support::redis_server::RedisServer};

const ALWAYS: [&str; 4] = [GOOD[0], GOOD[1], "--appendfsync", "always"];

fn members<const COUNT: usize>() -> [RedisServer; COUNT] {
    [(); COUNT].map(|()| RedisServer::with_args(&ALWAYS))
}

fn url<'a>(members: impl IntoIterator<Item = &'a RedisServer>) -> String {
    let urls: Vec<_> = members.into_iter().map(RedisServer::url).collect();
    format!("quorum://[{}]", urls.join(","))
}

#[tokio::test]
async fn one_server_under_two_names() {
    let servers = members::<2>();
    let twin = servers[0].url().replace("127.0.0.1", "localhost");
    let url = format!("quorum://[{},{twin},{}]", servers[0].url(), servers[1].url());
    let diagnosis = examine(&url, "").await;
    let address = twin.replace("redis://", "");
    only(&diagnosis, Severity::Critical, "same-server", Some(&address));
}

#[tokio::test]
async fn a_member_that_is_a_replica_of_another() {
    let servers = members::<3>();
    servers[2].command(&["REPLICAOF", "127.0.0.1", &servers[0].port().to_string()]);
    let diagnosis = examine(&url(&servers), "").await;
    let finding = found(&diagnosis, Severity::Critical, "role", Some(&address(&servers[2])));
    assert!(finding.found.contains(&address(&servers[0])), "{finding}");
}

#[tokio::test]
async fn an_even_number_of_members() {
    only(&examine(&url(&members::<4>()), "").await, Severity::Warning, "even-quorum", None);
}

#[tokio::test]
async fn a_member_that_is_down_is_a_warning_and_two_of_three_are_critical() {
    let mut servers = members::<3>();
    servers[1].kill();
    let diagnosis = examine(&url(&servers), "").await;
    only(&diagnosis, Severity::Warning, "unreachable", Some(&address(&servers[1])));
    servers[2].kill();
    let diagnosis = examine(&url(&servers), "").await;
    found(&diagnosis, Severity::Critical, "unreachable", Some(&address(&servers[1])));
    found(&diagnosis, Severity::Critical, "unreachable", Some(&address(&servers[2])));
    assert_eq!(diagnosis.findings.len(), 2, "{diagnosis}");
}

#[tokio::test]
async fn a_member_that_may_have_forgotten_does_not_vote_and_is_told_how_long() {
    let [one, two] = members::<2>();
    let young = RedisServer::with_args(&GOOD);
    let diagnosis = examine(&url([&one, &two, &young]), "").await;
    found(&diagnosis, Severity::Warning, "votes", Some(&address(&young)));
    let finding = found(&diagnosis, Severity::Warning, "persistence", Some(&address(&young)));
    assert!(finding.found.contains("limits.max_ttl"), "{finding}");
    assert_eq!(diagnosis.findings.len(), 2, "{diagnosis}");
    // With TTLs of a minute a restart costs a minute, which is no fault.
    let diagnosis = examine(&url([&one, &two, &young]), "limits.max_ttl = \"1m\"").await;
    only(&diagnosis, Severity::Warning, "votes", Some(&address(&young)));
}

#[tokio::test]
async fn the_first_start_is_told_from_one_long_ago() {
    let young = [(); 3].map(|()| RedisServer::with_args(&GOOD));
    let short = "limits.max_ttl = \"1m\"";
    let diagnosis = examine(&url(&young), short).await;
    for server in &young {
        found(&diagnosis, Severity::Critical, "votes", Some(&address(server)));
    }
    assert_eq!(diagnosis.findings.len(), 3, "{diagnosis}");
    let fresh = format!("{short}\nstore.fresh_start = true");
    assert_eq!(examine(&url(&young), &fresh).await.findings, []);
    only(&examine(&url(&members::<3>()), &fresh).await, Severity::Notice, "fresh-start", None);
}

#[tokio::test]
async fn a_clock_that_is_off_is_named_and_the_others_are_not() {
    let servers = [(); 3].map(|()| RedisServer::with_clock_and_args(&ALWAYS));
    servers[1].advance(Duration::from_secs(90));
    let diagnosis = examine(&url(&servers), "").await;
    only(&diagnosis, Severity::Notice, "clock-offset", Some(&address(&servers[1])));
}

#[tokio::test]
async fn a_member_that_does_not_say_when_it_was_started() {
    let servers = members::<3>();
    servers[0].command(&["ACL", "SETUSER", "default", "-info"]);
    let diagnosis = examine(&url(&servers), "").await;
    let finding = only(&diagnosis, Severity::Critical, "rights", Some(&address(&servers[0])));
    assert!(finding.advice.ends_with("+info"), "{finding}");
}
