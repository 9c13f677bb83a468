//! Faults of a quorum.

use std::time::Duration;

use leasehold_doctor::Severity;

use crate::deployments::doctor::{FRESH, GOOD, address, begin, examine, found, nothing, only};
use leasehold_testing::servers::RedisServer;

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
    let diagnosis = examine(&url, FRESH).await;
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
    only(&examine(&url(&members::<4>()), FRESH).await, Severity::Warning, "even-quorum", None);
}

#[tokio::test]
async fn a_member_that_is_down_is_a_warning_and_two_of_three_are_critical() {
    let mut servers = members::<3>();
    begin(&url(&servers)).await;
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
    let mut lazy = RedisServer::with_args(&GOOD);
    let url = url([&one, &two, &lazy]);
    begin(&url).await;
    lazy.restart();
    let diagnosis = examine(&url, "").await;
    let finding = found(&diagnosis, Severity::Warning, "votes", Some(&address(&lazy)));
    assert!(finding.found.starts_with("it was restarted, and may have forgotten"), "{finding}");
    assert!(finding.found.contains("it does not count for another 8"), "{finding}");
    let finding = found(&diagnosis, Severity::Warning, "persistence", Some(&address(&lazy)));
    assert!(finding.found.contains("limits.max_ttl"), "{finding}");
    assert_eq!(diagnosis.findings.len(), 2, "{diagnosis}");
    // With TTLs of a minute a restart costs a minute, which is no fault.
    let diagnosis = examine(&url, "limits.max_ttl = \"1m\"").await;
    only(&diagnosis, Severity::Warning, "votes", Some(&address(&lazy)));
}

#[tokio::test]
async fn a_member_that_writes_always_counts_after_a_restart_unless_it_comes_back_empty() {
    let mut servers = members::<3>();
    begin(&url(&servers)).await;
    servers.iter_mut().for_each(RedisServer::restart);
    nothing(&examine(&url(&servers), "").await);
    servers[1].command(&["FLUSHALL"]);
    servers[1].restart();
    let diagnosis = examine(&url(&servers), "").await;
    let finding = only(&diagnosis, Severity::Warning, "votes", Some(&address(&servers[1])));
    assert!(finding.found.starts_with("it is new, or came back without its data"), "{finding}");
}

#[tokio::test]
async fn members_that_nobody_can_teach_are_told_to_wait_for_the_others() {
    let short = "limits.max_ttl = \"4s\"\nstore.response_timeout = \"1s\"";
    let mut servers = [(); 3].map(|()| RedisServer::with_args(&GOOD));
    begin(&url(&servers)).await;
    servers[..2].iter_mut().for_each(RedisServer::restart);
    servers[2].kill();
    for server in &servers[..2] {
        let finding = votes_once_old(&url(&servers), short, server).await;
        assert!(finding.contains("all members have to answer"), "{finding}");
        assert!(finding.contains("bring the other members back"), "{finding}");
    }
    // All of them answer, so the next lock has the two taught.
    servers[2].restart();
    let diagnosis = examine(&url(&servers), short).await;
    let votes = diagnosis.findings.iter().filter(|finding| finding.check == "votes");
    assert_eq!(votes.filter(|it| it.severity == Severity::Critical).count(), 0, "{diagnosis}");
}

/// The finding about the votes of a server, once it has been up for long enough.
async fn votes_once_old(url: &str, settings: &str, server: &RedisServer) -> String {
    for _ in 0..300 {
        let diagnosis = examine(url, settings).await;
        // A server that gets no turn for a moment cannot be looked at, which is another finding.
        let about = (Severity::Critical, "votes", Some(address(server)));
        let mut findings = diagnosis.findings.iter();
        let votes = findings.find(|it| (it.severity, it.check, it.server.clone()) == about);
        if let Some(it) = votes.filter(|it| !it.found.contains("for another")) {
            return it.to_string();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{} stays young", address(server));
}

#[tokio::test]
async fn the_first_start_is_told_from_a_later_one() {
    let short = "limits.max_ttl = \"1m\"";
    let fresh = format!("{short}\n{FRESH}");
    for arguments in [&GOOD[..], &ALWAYS] {
        let mut servers = [(); 3].map(|()| RedisServer::with_args(arguments));
        let diagnosis = examine(&url(&servers), short).await;
        for server in &servers {
            let finding = found(&diagnosis, Severity::Critical, "votes", Some(&address(server)));
            assert!(finding.found.contains("as at a first start"), "{finding}");
            assert!(finding.advice.contains("store.fresh_start"), "{finding}");
        }
        assert_eq!(diagnosis.findings.len(), 3, "{diagnosis}");
        // It needs each of them once.
        servers[2].kill();
        let diagnosis = examine(&url(&servers), &fresh).await;
        let finding = found(&diagnosis, Severity::Critical, "votes", Some(&address(&servers[0])));
        assert!(finding.advice.contains("start all members"), "{finding}");
        servers[2].restart();
        nothing(&examine(&url(&servers), &fresh).await);
        only(&examine(&url(&servers), &fresh).await, Severity::Notice, "fresh-start", None);
        nothing(&examine(&url(&servers), short).await);
    }
}

#[tokio::test]
async fn members_of_a_plain_quorum_vote_by_their_age() {
    let plain = "store.layout = \"plain\"\nstore.prefix = \"\"\nlimits.max_ttl = \"1m\"";
    let servers = members::<3>();
    let diagnosis = examine(&url(&servers), plain).await;
    for server in &servers {
        let finding = found(&diagnosis, Severity::Critical, "votes", Some(&address(server)));
        assert!(finding.found.contains("it was started lately"), "{finding}");
    }
    let diagnosis = examine(&url(&servers), &format!("{plain}\n{FRESH}")).await;
    only(&diagnosis, Severity::Notice, "plain-layout", None);
}

#[tokio::test]
async fn a_clock_that_is_off_is_named_and_the_others_are_not() {
    let servers = [(); 3].map(|()| RedisServer::with_clock_and_args(&ALWAYS));
    begin(&url(&servers)).await;
    servers[1].advance(Duration::from_secs(90));
    let diagnosis = examine(&url(&servers), "").await;
    only(&diagnosis, Severity::Notice, "clock-offset", Some(&address(&servers[1])));
}

#[tokio::test]
async fn a_member_that_does_not_say_when_it_was_started() {
    let servers = members::<3>();
    begin(&url(&servers)).await;
    servers[0].command(&["ACL", "SETUSER", "default", "-info"]);
    let diagnosis = examine(&url(&servers), "").await;
    let finding = only(&diagnosis, Severity::Critical, "rights", Some(&address(&servers[0])));
    assert!(finding.advice.ends_with("+info"), "{finding}");
}

#[tokio::test]
async fn a_member_that_does_not_know_info_is_no_matter_of_rights() {
    let odd = RedisServer::with_args(&["--rename-command", "INFO", ""]);
    let others = members::<2>();
    let diagnosis = examine(&url([&odd, &others[0], &others[1]]), FRESH).await;
    let finding = found(&diagnosis, Severity::Critical, "unknown-command", Some(&address(&odd)));
    assert!(finding.found.contains("INFO") && !diagnosis.to_string().contains("ACL"), "{diagnosis}");
}
