//! Deployments that are as they should be, of every kind: there is nothing to find, and nothing is left behind.

use std::path::PathBuf;

use leasehold_doctor::Severity;

use crate::deployments::doctor::{
    GOOD, address, begin, config, examine, nothing, only, wait_until_empty, wait_until_left,
};
use leasehold_testing::servers::{RedisCluster, RedisServer, Replicated, Sentinels};
use support::{acl, programs, tls::TlsServer};

/// What makes the servers of a kit good ones.
fn cure<'a>(servers: impl IntoIterator<Item = &'a RedisServer>) {
    for server in servers {
        server.command(&["CONFIG", "SET", "appendonly", "yes"]);
        server.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    }
}

#[tokio::test]
async fn one_server_with_an_append_only_file() {
    let server = RedisServer::with_args(&GOOD);
    let diagnosis = examine(&server.url(), "").await;
    nothing(&diagnosis);
    assert_eq!(diagnosis.servers, [address(&server)]);
    assert_eq!(diagnosis.to_string(), format!("{}: 1 server looked at, nothing found\n", server.url()));
    wait_until_empty(&server).await;
}

/// A server of another program, where there must be nothing to find.
async fn good_server_of(program: PathBuf) {
    let server = RedisServer::of(&program);
    server.command(&["CONFIG", "SET", "appendonly", "yes"]);
    nothing(&examine(&server.url(), "").await);
    wait_until_empty(&server).await;
}

#[tokio::test]
async fn one_server_of_redis_6_2() {
    good_server_of(programs::redis_6_2()).await;
}

#[tokio::test]
async fn one_server_of_valkey_9() {
    good_server_of(programs::valkey_9()).await;
}

#[tokio::test]
async fn a_server_behind_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let socket = socket.to_str().unwrap();
    let server = RedisServer::with_args(&[&GOOD[..], &["--unixsocket", socket]].concat());
    let diagnosis = examine(&format!("redis+unix://{socket}"), "").await;
    nothing(&diagnosis);
    assert_eq!(diagnosis.servers, [socket]);
    wait_until_empty(&server).await;
}

#[tokio::test]
async fn a_limit_of_memory_without_eviction() {
    let server = RedisServer::with_args(&[&GOOD[..], &["--maxmemory", "100mb"]].concat());
    nothing(&examine(&server.url(), "").await);
}

#[tokio::test]
async fn a_server_over_tls() {
    let tls = TlsServer::start();
    tls.server.command(&["CONFIG", "SET", "appendonly", "yes"]);
    let ca = tls.certificates.path("ca.crt");
    nothing(&examine(&tls.url(), &format!("store.tls_ca = {:?}", ca.to_str().unwrap())).await);
}

#[tokio::test]
async fn a_master_whose_replicas_confirm() {
    let kit = Replicated::start(2);
    cure([&kit.master]);
    nothing(&examine(&kit.master.url(), "store.replicas_ack = 2").await);
}

#[tokio::test]
async fn a_master_that_sentinels_name() {
    let kit = Sentinels::start();
    cure(&kit.servers);
    let diagnosis = examine(&kit.url(), "").await;
    nothing(&diagnosis);
    let mut expected: Vec<_> = kit.servers.iter().map(address).collect();
    let mut servers = diagnosis.servers;
    expected.sort();
    servers.sort();
    assert_eq!(servers, expected);
    wait_until_empty(&kit.servers[kit.master()]).await;
}

#[tokio::test]
async fn a_cluster() {
    let kit = RedisCluster::start();
    cure(&kit.nodes);
    let diagnosis = examine(&kit.url(), "").await;
    nothing(&diagnosis);
    assert_eq!(diagnosis.servers.len(), 6);
    for node in &kit.nodes[..3] {
        wait_until_empty(node).await;
        assert!(Sentinels::scripts_called(node) > 0, "no lock was tried on {}", address(node));
    }
}

#[tokio::test]
async fn a_quorum_whose_members_write_always() {
    let arguments = [&GOOD[..], &["--appendfsync", "always"]].concat();
    let members = [(); 3].map(|()| RedisServer::with_args(&arguments));
    let urls = members.each_ref().map(RedisServer::url).join(",");
    let url = format!("quorum://[{urls}]");
    begin(&url).await;
    nothing(&examine(&url, "").await);
    // What the quorum goes by, which is there once a server.
    for member in &members {
        wait_until_left(member, &["leasehold:fence", "leasehold:recovered"]).await;
    }
}

#[tokio::test]
async fn a_user_with_the_smallest_rule_is_told_what_could_not_be_looked_at() {
    let server = RedisServer::with_args(&GOOD);
    let diagnosis = examine(&acl::url_of(&server, "locker"), "").await;
    let finding = only(&diagnosis, Severity::Notice, "unchecked", Some(&address(&server)));
    assert!(finding.found.contains("eviction") && finding.advice.ends_with("+info +config|get"), "{finding}");
    assert!(!diagnosis.to_string().contains("change-me"));
    wait_until_empty(&server).await;
}

#[tokio::test]
async fn a_prefix_that_is_as_long_as_it_may_be() {
    let server = RedisServer::with_args(&GOOD);
    let settings = format!("store.prefix = \"{}\"\nstore.fence_retention = \"1s\"", "p".repeat(64));
    nothing(&leasehold_doctor::examine(&config(&server.url(), &settings)).await.unwrap());
    wait_until_empty(&server).await;
}
