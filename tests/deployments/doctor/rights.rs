//! Users that lack a right: the doctor names it as an ACL rule does.

use leasehold_doctor::{Diagnosis, Severity};

use crate::deployments::doctor::{GOOD, address, examine, found, only, wait_until_empty};
use leasehold_testing::servers::RedisServer;
use support::{acl, programs};

/// The rule of the guide for this user, with all that the doctor asks besides, changed.
fn make_user(server: &RedisServer, change: &[&str]) -> String {
    let mut rule = acl::rule("locker");
    rule[2] = "examined";
    rule.extend(["+info", "+config|get", "+wait"]);
    rule.extend(change);
    server.command(&["ACL", "DELUSER", "examined"]);
    server.command(&rule);
    server.url_for("examined", "change-me")
}

async fn without(server: &RedisServer, change: &[&str]) -> Diagnosis {
    examine(&make_user(server, change), "").await
}

#[tokio::test]
async fn each_right_of_the_guide_is_missed_by_its_name() {
    let server = RedisServer::with_args(&GOOD);
    let rule = acl::rule("locker");
    let rights = rule.iter().filter_map(|word| word.strip_prefix('+'));
    let mut tried = 0;
    for right in rights {
        let diagnosis = without(&server, &[&format!("-{right}")]).await;
        let severity = match right {
            "scan" | "getrange" | "incrby" => Severity::Notice,
            "subscribe" | "publish" | "ping" => Severity::Warning,
            _ => Severity::Critical,
        };
        let finding = found(&diagnosis, severity, "rights", Some(&address(&server)));
        let named = finding.advice.split(' ').any(|word| word == format!("+{right}"));
        assert!(named && diagnosis.findings.len() == 1, "{right}: {diagnosis}");
        tried += 1;
    }
    assert!(tried > 25, "only {tried} rights");
    wait_until_empty(&server).await;
}

#[tokio::test]
async fn the_right_of_a_watch_over_leases_is_missed_if_they_are_to_be_watched() {
    let server = RedisServer::with_args(&GOOD);
    let url = make_user(&server, &[]);
    let diagnosis = examine(&url, "store.watch_leases = true").await;
    let finding = only(&diagnosis, Severity::Warning, "rights", Some(&address(&server)));
    assert!(finding.advice.ends_with(" +client|tracking"), "{finding}");
    make_user(&server, &["+client|tracking"]);
    assert!(examine(&url, "store.watch_leases = true").await.findings.is_empty());
}

#[tokio::test]
async fn keys_and_channels_out_of_bounds_are_named() {
    let server = RedisServer::with_args(&GOOD);
    for (change, severity, right) in [
        (["resetkeys", "~other:*"], Severity::Critical, "~leasehold:*"),
        (["resetchannels", "&other:*"], Severity::Warning, "&leasehold:inbox:*"),
    ] {
        let diagnosis = without(&server, &change).await;
        let finding = found(&diagnosis, severity, "rights", Some(&address(&server)));
        assert!(finding.advice.ends_with(right) && diagnosis.findings.len() == 1, "{diagnosis}");
    }
}

#[tokio::test]
async fn a_user_who_is_called_after_keys_is_not_said_to_lack_them() {
    // It names the user when it refuses; older ones do not.
    let server = RedisServer::of(&programs::valkey_9());
    server.command(&["CONFIG", "SET", "appendonly", "yes"]);
    let mut rule = acl::rule("locker");
    rule[2] = "keys-and-channels";
    rule.extend(["+info", "+config|get", "-zadd"]);
    server.command(&rule);
    let diagnosis = examine(&server.url_for("keys-and-channels", "change-me"), "").await;
    let finding = only(&diagnosis, Severity::Critical, "rights", Some(&address(&server)));
    assert!(finding.advice.ends_with(" +zadd"), "{finding}");
}

#[tokio::test]
async fn a_user_who_may_not_ask_any_node_of_a_cluster_for_slots() {
    let server = RedisServer::with_args(&[&GOOD[..], &["--cluster-enabled", "yes"]].concat());
    server.command(&["ACL", "SETUSER", "default", "-cluster|slots"]);
    let diagnosis = examine(&format!("redis+cluster://{}", address(&server)), "").await;
    let finding = only(&diagnosis, Severity::Critical, "rights", Some(&address(&server)));
    assert!(finding.advice.ends_with(" +cluster|slots"), "{finding}");
}

#[tokio::test]
async fn waiting_for_replicas_is_missed_only_if_they_must_confirm() {
    let server = RedisServer::with_args(&[&GOOD[..], &["--min-replicas-to-write", "0"]].concat());
    assert_eq!(without(&server, &["-wait"]).await.findings, []);
    let diagnosis = examine(&make_user(&server, &["-wait"]), "store.replicas_ack = 1").await;
    let finding = found(&diagnosis, Severity::Critical, "rights", Some(&address(&server)));
    assert!(finding.advice.ends_with("+wait"), "{finding}");
}

#[tokio::test]
async fn several_rights_are_one_finding() {
    let server = RedisServer::with_args(&GOOD);
    let diagnosis = without(&server, &["-zadd", "-hset", "-set"]).await;
    assert_eq!(diagnosis.findings.len(), 1, "{diagnosis}");
    let finding = found(&diagnosis, Severity::Critical, "rights", Some(&address(&server)));
    assert!(finding.found.contains("+zadd") && finding.found.contains("+set"), "{finding}");
    wait_until_empty(&server).await;
}
