//! Faults of a cluster.

use leasehold_doctor::Severity;

use crate::deployments::doctor::{address, examine, found};
use leasehold_testing::{servers::RedisCluster, waiting::eventually};

#[tokio::test]
async fn faults_of_a_cluster_are_found_at_the_node_that_has_them() {
    let mut kit = RedisCluster::start();
    for node in &kit.nodes {
        node.command(&["CONFIG", "SET", "appendonly", "yes"]);
        node.command(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    }
    let addresses: Vec<_> = kit.nodes.iter().map(address).collect();
    let diagnosis = examine(&kit.url(), "").await;
    for master in &addresses[..3] {
        found(&diagnosis, Severity::Warning, "min-replicas", Some(master));
    }
    assert_eq!(diagnosis.findings.len(), 3, "{diagnosis}");

    // A right that a user has on two of three nodes.
    kit.nodes[1].command(&["ACL", "SETUSER", "default", "-cluster|slots", "-evalsha"]);
    let diagnosis = examine(&kit.url(), "").await;
    let finding = found(&diagnosis, Severity::Critical, "rights", Some(&addresses[1]));
    assert!(finding.advice.ends_with("+evalsha +cluster|slots"), "{finding}");
    kit.nodes[1].command(&["ACL", "SETUSER", "default", "+@all"]);

    let whole = kit.nodes[0].command(&["CLUSTER", "INFO"]);
    assert!(redis::from_redis_value::<String>(whole).unwrap().contains("cluster_state:ok"));
    kit.nodes[5].kill();
    let lone = Some(&*addresses[2]);
    eventually("the dead replica is missed", async || {
        examine(&kit.url(), "").await.findings.iter().any(|finding| finding.check == "no-replica")
    })
    .await;
    found(&examine(&kit.url(), "").await, Severity::Warning, "no-replica", lone);

    kit.nodes[0].command(&["CLUSTER", "DELSLOTS", "7", "8", "100"]);
    let seed = format!("redis+cluster://{}", addresses[0]);
    let finding = found(&examine(&seed, "").await, Severity::Critical, "slots", None).found.clone();
    assert!(finding.starts_with("3 of 16384 slots are not served, from 7 to 8"), "{finding}");
}
