//! Faults of a service with sentinels.

use std::time::Duration;

use leasehold_doctor::Severity;

use crate::deployments::doctor::{address, examine, found, only};
use leasehold_testing::servers::Sentinels;

/// Sends one command to a sentinel.
fn command(address: &str, words: &[&str]) {
    let mut connection = redis::Client::open(format!("redis://{address}")).unwrap().get_connection().unwrap();
    redis::cmd(words[0]).arg(&words[1..]).exec(&mut connection).unwrap();
}

#[tokio::test]
async fn faults_of_a_service_are_found_at_the_server_that_has_them() {
    let mut kit = Sentinels::start();
    for server in &kit.servers {
        server.command(&["CONFIG", "SET", "appendonly", "yes"]);
        server.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    }
    let [fast, other] = [0, 1].map(|replica| address(&kit.servers[replica]));

    // A lease must outlive a failover, which takes about 12 s.
    kit.set_down_after("10000");
    let hasty = "lease.ttl = \"15s\"\nlease.renewal_interval = \"5s\"\nstore.response_timeout = \"5s\"";
    let diagnosis = examine(&kit.url(), hasty).await;
    found(&diagnosis, Severity::Warning, "failover-time", None);
    assert_eq!(diagnosis.findings.len(), 1, "{diagnosis}");

    // One sentinel is asked where a server should be.
    let hosts = kit.url().replace("redis+sentinel://", "").replace("/locks", "");
    let sentinels: Vec<_> = hosts.split(',').map(str::to_owned).collect();
    let diagnosis = examine(&format!("redis://{}", sentinels[0]), "").await;
    only(&diagnosis, Severity::Critical, "wrong-mode", Some(&sentinels[0]));

    // The smallest rights on sentinels, and on one of them less.
    for sentinel in &sentinels {
        command(sentinel, &["ACL", "SETUSER", "default", "-sentinel|replicas", "-sentinel|ckquorum"]);
    }
    let diagnosis = examine(&kit.url(), "").await;
    for sentinel in &sentinels {
        let finding = found(&diagnosis, Severity::Notice, "unchecked", Some(sentinel));
        assert!(finding.advice.contains("+sentinel|replicas +sentinel|ckquorum"), "{finding}");
    }
    assert_eq!(diagnosis.findings.len(), 3, "{diagnosis}");
    command(&sentinels[1], &["ACL", "SETUSER", "default", "-sentinel|master"]);
    found(&examine(&kit.url(), "").await, Severity::Warning, "rights", Some(&sentinels[1]));
    for sentinel in &sentinels {
        command(sentinel, &["ACL", "SETUSER", "default", "+@all"]);
    }

    kit.servers[0].advance(Duration::from_secs(5));
    kit.servers[1].command(&["CONFIG", "SET", "maxmemory", "1gb", "maxmemory-policy", "allkeys-lru"]);
    kit.servers[1].command(&["ACL", "SETUSER", "default", "-zadd"]);
    let diagnosis = examine(&kit.url(), "").await;
    found(&diagnosis, Severity::Warning, "clock-offset", Some(&fast));
    found(&diagnosis, Severity::Warning, "eviction", Some(&other));
    let finding = found(&diagnosis, Severity::Warning, "rights", Some(&other));
    assert!(finding.found.contains("+zadd"), "{finding}");
    assert_eq!(diagnosis.findings.len(), 3, "{diagnosis}");

    kit.servers[1].kill();
    let diagnosis = examine(&kit.url(), "").await;
    found(&diagnosis, Severity::Warning, "unreachable", Some(&other));

    let unknown = kit.url().replace("/locks", "/lokcs");
    let diagnosis = examine(&unknown, "").await;
    let sentinels = diagnosis.findings.iter().filter(|finding| finding.check == "sentinels");
    assert_eq!(sentinels.count(), 3, "{diagnosis}");
    assert_eq!(diagnosis.worst(), Some(Severity::Critical));
}
