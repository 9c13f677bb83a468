//! How the nodes of a cluster are found: by names, without any, over TLS, by a user, though some are silent.

use std::time::Instant;

use futures_util::future::join_all;
use leasehold::store::{Renewed, Store, Walk};

use crate::deployments::failover::*;
use leasehold_testing::servers::{MASTERS, Port, RedisCluster, one_on_each_master, slot_of_tag};
use leasehold_testing::waiting::{PATIENCE, eventually, until};
use support::{acl, tls::TlsServer};

/// A lock on each master.
fn everywhere(what: &str) -> Vec<Acquisition> {
    let mut number = 0;
    let names = one_on_each_master(|| {
        number += 1;
        format!("{what}/{number}")
    });
    names.iter().map(|name| asked(name, Mode::Exclusive)).collect()
}

async fn granted_everywhere(store: &RedisStore, what: &str) {
    for asked in everywhere(what) {
        granted(store, &asked).await;
    }
}

/// The same in the end, for a store that waits for no busy server.
async fn granted_everywhere_in_the_end(store: &RedisStore, what: &str) {
    for asked in everywhere(what) {
        eventually("granted", async || matches!(store.acquire(&asked).await, Ok(Acquired::Granted(_)))).await;
    }
}

fn set(cluster: &RedisCluster, setting: &str, value: &str) {
    cluster.nodes.iter().for_each(|node| drop(node.command(&["CONFIG", "SET", setting, value])));
}

#[tokio::test]
async fn nodes_are_found_by_name_by_address_and_where_they_were_asked() {
    let cluster = RedisCluster::calm();
    let told = [("hostname", ""), ("hostname", "localhost"), ("unknown-endpoint", "")];
    for (number, (kind, name)) in told.into_iter().enumerate() {
        set(&cluster, "cluster-announce-hostname", name);
        set(&cluster, "cluster-preferred-endpoint-type", kind);
        until("all know the names", || cluster.nodes.iter().all(|node| cluster.names(node) == vec![name; 6]));
        let store = open(&cluster.url());
        let what = format!("{kind}/{name}");
        granted_everywhere(&store, &what).await;
        // By what a node answers that has not got the slot any more.
        let moved = asked(&format!("moved/{number}"), Mode::Exclusive);
        let slot = slot_of_tag(&moved.hold.resource.encoded());
        cluster.move_slot(slot, (cluster.master_of(slot) + 1) % MASTERS, Duration::ZERO);
        granted(&store, &moved).await;
    }
}

#[tokio::test]
async fn one_seed_that_answers_is_enough_and_later_none() {
    let mut cluster = RedisCluster::calm();
    let (dead, seed) = (Port::reserve(), cluster.nodes[3].port());
    let store = with(&format!("redis+cluster://127.0.0.1:{},127.0.0.1:{seed}", dead.number()), patient());
    granted_everywhere(&store, "with a seed").await;
    for node in [3, 1] {
        cluster.nodes[node].kill();
    }
    cluster.wait_until_master(1 + MASTERS);
    granted_everywhere(&store, "without a seed").await;
}

#[tokio::test]
async fn slots_without_a_node_harm_no_other() {
    let mut cluster = RedisCluster::calm();
    set(&cluster, "cluster-require-full-coverage", "no");
    let store = with(&cluster.url(), patient());
    granted_everywhere_in_the_end(&store, "before").await;
    for node in [1, 1 + MASTERS] {
        cluster.nodes[node].kill();
    }
    let asked: Vec<_> = everywhere("after").into_iter().map(Arc::new).collect();
    let answers = store.acquire_each(&asked).await;
    let granted: Vec<_> = answers.iter().map(|answer| matches!(answer, Ok(Acquired::Granted(_)))).collect();
    assert_eq!(granted, [true, false, true], "{answers:?}");
    // A list that leaves out what is there would be wrong.
    assert!(store.list(&Walk::new(b"", 100)).await.is_err());
}

#[tokio::test]
async fn many_who_find_all_nodes_silent_do_not_wait_for_one_another() {
    let cluster = RedisCluster::calm();
    let usual = || with(&cluster.url(), RedisOptions::default());
    let known = usual();
    granted_everywhere_in_the_end(&known, "before").await;
    cluster.nodes.iter().for_each(|node| node.pause());
    for store in [usual(), known] {
        let start = Instant::now();
        let asked: Vec<_> = (0..64).map(|number| asked(&format!("many/{number}"), Mode::Exclusive)).collect();
        let answers = join_all(asked.iter().map(|asked| store.acquire(asked))).await;
        assert!(answers.iter().all(Result::is_err), "{answers:?}");
        // One after the other they would need 64 times what a store waits for, more than four minutes.
        assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    }
}

#[tokio::test]
async fn a_user_of_the_guide_is_enough_on_every_node() {
    let cluster = RedisCluster::calm();
    let rule = acl::rule("cluster-locker");
    for node in &cluster.nodes {
        node.command(&rule);
        node.command(&["ACL", "SETUSER", "default", "-evalsha"]);
    }
    let password = rule.iter().find_map(|word| word.strip_prefix('>')).unwrap();
    let url = |password: &str| cluster.url().replace("://", &format!("://cluster-locker:{password}@"));
    let store = with(&url(password), patient());
    granted_everywhere(&store, "by a user").await;
    let held = asked("held", Mode::Exclusive);
    granted(&store, &held).await;
    let slot = slot_of_tag("held");
    let moving = cluster.begin_to_move(slot, (cluster.master_of(slot) + 1) % MASTERS);
    moving.move_key("leasehold:{held}");
    assert_eq!(store.renew(&held.hold, TTL).await.unwrap(), Renewed::Extended);
    moving.finish(Duration::ZERO);
    let answer = with(&url("wrong"), patient()).acquire(&held).await;
    assert!(matches!(answer, Err(StoreError::Denied { .. })), "{answer:?}");
}

#[tokio::test]
async fn the_nodes_of_a_cluster_are_spoken_to_over_tls() {
    let server = TlsServer::of_cluster();
    let url = server.url().replace("rediss://", "rediss+cluster://");
    let tls_ca = server.certificates.trust().tls_ca;
    granted(&with(&url, RedisOptions { tls_ca, ..patient() }), &asked("r", Mode::Exclusive)).await;
    let answer = with(&url, patient()).acquire(&asked("s", Mode::Exclusive)).await;
    assert!(matches!(answer, Err(StoreError::Denied { .. })), "{answer:?}");
}
