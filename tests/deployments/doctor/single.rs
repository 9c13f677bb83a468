//! Faults of one server.

use std::time::Duration;

use leasehold_doctor::Severity;

use crate::deployments::doctor::{GOOD, address, examine, found, only, wait_until_empty};
use leasehold_testing::servers::{RedisServer, Replicated};
use support::{programs, tls::TlsServer};

/// A server that is good but for this.
fn with(arguments: &[&str]) -> RedisServer {
    RedisServer::with_args(&[&GOOD[..], arguments].concat())
}

#[tokio::test]
async fn an_eviction_policy_is_critical_where_memory_is_limited() {
    for policy in ["allkeys-lru", "volatile-ttl"] {
        let server = with(&["--maxmemory", "100mb", "--maxmemory-policy", policy]);
        let diagnosis = examine(&server.url(), "").await;
        let finding = only(&diagnosis, Severity::Critical, "eviction", Some(&address(&server)));
        assert!(finding.found.contains(policy) && finding.advice.contains("noeviction"), "{finding}");
    }
}

#[tokio::test]
async fn an_eviction_policy_is_a_warning_as_long_as_memory_has_no_limit() {
    let server = with(&["--maxmemory-policy", "allkeys-lru"]);
    only(&examine(&server.url(), "").await, Severity::Warning, "eviction", Some(&address(&server)));
}

#[tokio::test]
async fn a_server_that_is_nearly_full() {
    let server = with(&[]);
    server.command(&["SET", "filling", &"x".repeat(50_000_000)]);
    let info: String = redis::from_redis_value(server.command(&["INFO", "memory"])).unwrap();
    let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
    let most = used.parse::<u64>().unwrap() * 100 / 95;
    server.command(&["CONFIG", "SET", "maxmemory", &most.to_string()]);
    only(&examine(&server.url(), "").await, Severity::Warning, "memory-full", Some(&address(&server)));
}

#[tokio::test]
async fn no_persistence() {
    let server = RedisServer::start();
    let diagnosis = examine(&server.url(), "").await;
    let finding = only(&diagnosis, Severity::Warning, "persistence", Some(&address(&server)));
    assert!(finding.found.contains("no persistence"), "{finding}");
}

#[tokio::test]
async fn snapshots_alone() {
    let server = RedisServer::with_args(&["--save", "3600 1"]);
    let diagnosis = examine(&server.url(), "").await;
    let finding = only(&diagnosis, Severity::Warning, "persistence", Some(&address(&server)));
    assert!(finding.found.contains("snapshots"), "{finding}");
}

#[tokio::test]
async fn an_append_only_file_that_is_written_when_it_pleases_the_kernel() {
    let server = with(&["--appendfsync", "no"]);
    let diagnosis = examine(&server.url(), "").await;
    let finding = only(&diagnosis, Severity::Warning, "persistence", Some(&address(&server)));
    assert!(finding.found.contains("appendfsync is no"), "{finding}");
}

#[tokio::test]
async fn a_snapshot_that_failed_and_stops_all_writes() {
    let server = with(&["--save", "3600 1000000", "--enable-protected-configs", "yes"]);
    let folder = tempfile::tempdir().unwrap();
    server.command(&["CONFIG", "SET", "dir", folder.path().to_str().unwrap()]);
    drop(folder);
    server.command(&["BGSAVE"]);
    let failed = || {
        let info = redis::from_redis_value::<String>(server.command(&["INFO", "persistence"])).unwrap();
        info.contains("rdb_last_bgsave_status:err")
    };
    for _ in 0..500 {
        if failed() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    only(&examine(&server.url(), "").await, Severity::Critical, "disk", Some(&address(&server)));
}

#[tokio::test]
async fn a_replica_in_place_of_its_master() {
    let kit = Replicated::start(1);
    let replica = &kit.replicas[0];
    replica.command(&["CONFIG", "SET", "appendonly", "yes"]);
    let diagnosis = examine(&replica.url(), "").await;
    let finding = only(&diagnosis, Severity::Critical, "role", Some(&address(replica)));
    assert!(finding.found.contains(&address(&kit.master)), "{finding}");
}

#[tokio::test]
async fn replicas_without_which_the_master_goes_on() {
    let kit = Replicated::start(2);
    kit.master.command(&["CONFIG", "SET", "appendonly", "yes"]);
    let diagnosis = examine(&kit.master.url(), "").await;
    only(&diagnosis, Severity::Warning, "min-replicas", Some(&address(&kit.master)));
}

#[tokio::test]
async fn fewer_replicas_than_the_server_wants() {
    let server = with(&["--min-replicas-to-write", "1"]);
    only(&examine(&server.url(), "").await, Severity::Critical, "min-replicas", Some(&address(&server)));
}

#[tokio::test]
async fn fewer_replicas_than_must_confirm() {
    let kit = Replicated::start(1);
    kit.master.command(&["CONFIG", "SET", "appendonly", "yes"]);
    kit.master.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    let diagnosis = examine(&kit.master.url(), "store.replicas_ack = 2").await;
    only(&diagnosis, Severity::Critical, "replicas-ack", Some(&address(&kit.master)));
    wait_until_empty(&kit.master).await;
}

#[tokio::test]
async fn a_server_that_is_down() {
    let mut server = with(&[]);
    server.kill();
    only(&examine(&server.url(), "").await, Severity::Critical, "unreachable", Some(&address(&server)));
}

#[tokio::test]
async fn a_server_that_stands_still_does_not_hold_up_the_examination() {
    let server = with(&[]);
    server.pause();
    let url = server.url();
    let examining = examine(&url, "store.response_timeout = \"200ms\"");
    let diagnosis = tokio::time::timeout(Duration::from_secs(20), examining).await.unwrap();
    server.resume();
    only(&diagnosis, Severity::Critical, "unreachable", Some(&address(&server)));
}

#[tokio::test]
async fn a_wrong_password_and_a_missing_one() {
    let server = with(&["--requirepass", "s3cret"]);
    for url in [server.url(), server.url_for("default", "wr0ng")] {
        let diagnosis = examine(&url, "").await;
        only(&diagnosis, Severity::Critical, "refused", Some(&address(&server)));
        assert!(!format!("{diagnosis} {diagnosis:?}").contains("wr0ng"));
    }
}

#[tokio::test]
async fn a_certificate_that_nobody_trusts() {
    let tls = TlsServer::start();
    let address = tls.url().replace("rediss://", "");
    only(&examine(&tls.url(), "").await, Severity::Critical, "refused", Some(&address));
}

#[tokio::test]
async fn a_port_that_does_not_speak_tls_and_a_database_that_is_not_there_are_told_as_such() {
    let server = with(&[]);
    for (url, reason) in [
        (server.url().replace("redis://", "rediss://"), "it seems not to speak TLS; use redis://"),
        (format!("{}/99", server.url()), "it refuses database 99"),
    ] {
        let diagnosis = examine(&url, "").await;
        let finding = only(&diagnosis, Severity::Critical, "wrong-mode", Some(&address(&server)));
        assert!(finding.found.starts_with(reason), "{finding}");
    }
}

#[tokio::test]
async fn a_server_that_has_no_scripts() {
    let server = with(&["--rename-command", "EVALSHA", ""]);
    let diagnosis = examine(&server.url(), "").await;
    let finding = only(&diagnosis, Severity::Critical, "unknown-command", Some(&address(&server)));
    assert!(finding.found.contains("EVALSHA"), "{finding}");
}

#[tokio::test]
async fn a_command_that_is_switched_off_is_named_and_no_right_is_advised() {
    for (command, severity) in [
        ("TIME", Severity::Critical),
        ("EXISTS", Severity::Critical),
        ("PUBLISH", Severity::Warning),
        ("SUBSCRIBE", Severity::Warning),
        ("SCAN", Severity::Notice),
    ] {
        let server = with(&["--rename-command", command, ""]);
        let diagnosis = examine(&server.url(), "").await;
        let finding = found(&diagnosis, severity, "unknown-command", Some(&address(&server)));
        assert!(finding.found.contains(command) && diagnosis.findings.len() == 1, "{diagnosis}");
        assert!(!finding.advice.contains("ACL"), "{diagnosis}");
    }
}

#[tokio::test]
async fn a_server_that_tells_nobody_its_settings_is_no_matter_of_rights() {
    for command in ["CONFIG", "INFO"] {
        let server = with(&["--rename-command", command, ""]);
        let diagnosis = examine(&server.url(), "").await;
        let finding = only(&diagnosis, Severity::Notice, "unchecked", Some(&address(&server)));
        assert!(!finding.advice.contains("ACL SETUSER"), "{finding}");
    }
}

#[tokio::test]
async fn a_server_of_its_own_that_is_taken_for_a_node_of_a_cluster_or_for_a_sentinel() {
    // Valkey says in another way what it is.
    for server in [with(&[]), RedisServer::of(&programs::valkey_9())] {
        let cluster = format!("redis+cluster://{}", address(&server));
        let sentinel = format!("redis+sentinel://{}/locks", address(&server));
        for url in [cluster, sentinel] {
            only(&examine(&url, "").await, Severity::Critical, "wrong-mode", Some(&address(&server)));
        }
    }
}

#[tokio::test]
async fn a_node_of_a_cluster_that_is_taken_for_a_server_of_its_own() {
    let server = with(&["--cluster-enabled", "yes"]);
    only(&examine(&server.url(), "").await, Severity::Critical, "wrong-mode", Some(&address(&server)));
}

#[tokio::test]
async fn a_clock_that_is_wrong_by_an_hour() {
    let server = RedisServer::with_clock_and_args(&GOOD);
    server.advance(Duration::from_secs(3600));
    only(&examine(&server.url(), "").await, Severity::Notice, "clock-offset", Some(&address(&server)));
}

#[tokio::test]
async fn keys_that_somebody_else_wrote_are_left_alone() {
    let server = RedisServer::start();
    server.command(&["SET", "leasehold:fence", "7"]);
    server.command(&["SET", "orders", "1"]);
    found(&examine(&server.url(), "").await, Severity::Warning, "persistence", Some(&address(&server)));
    for _ in 0..500 {
        if server.keys().len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let kept = [("leasehold:fence".to_owned(), -1), ("orders".to_owned(), -1)];
    assert_eq!(server.keys(), kept);
}

#[tokio::test]
async fn locks_in_memory_exclude_nobody_else() {
    let diagnosis = examine("memory://", "").await;
    only(&diagnosis, Severity::Warning, "memory-only", None);
}

#[tokio::test]
async fn the_plain_layout_has_no_fences() {
    let server = with(&[]);
    for prefix in ["leasehold", ""] {
        let settings = format!("store.layout = \"plain\"\nstore.prefix = \"{prefix}\"");
        only(&examine(&server.url(), &settings).await, Severity::Notice, "plain-layout", None);
    }
    wait_until_empty(&server).await;
}

#[tokio::test]
async fn a_configuration_that_cannot_be_right_is_an_error() {
    let mut config = leasehold::Config::default();
    config.store.url = "redis:/nowhere".into();
    assert!(leasehold_doctor::examine(&config).await.is_err());
}
