//! A cluster whose masters are replaced, die, or give a slot away.

use std::time::Instant;

use futures_util::StreamExt;
use leasehold::{
    Layout, Token,
    store::{Inbox, Notification, Released, Renewed, Store, Walk},
};
use tokio::time::timeout;

use crate::deployments::failover::{
    callers::{RESOURCES, name, work_while},
    *,
};
use leasehold_testing::servers::{RedisCluster, slot_of_tag};
use leasehold_testing::waiting::{PATIENCE, until};

fn wait_until_only_fences_are_left(cluster: &RedisCluster) {
    until("only fences are left", || cluster.keys().iter().all(|(key, _)| key.ends_with(":fence")));
}

fn slot_of(cluster: &RedisCluster, name: &str) -> u16 {
    slot_of_key(cluster, &format!("leasehold:{{{name}}}"))
}

fn slot_of_key(cluster: &RedisCluster, key: &str) -> u16 {
    redis::from_redis_value(cluster.nodes[0].command(&["CLUSTER", "KEYSLOT", key])).unwrap()
}

fn main_key(resource: &ResourceName) -> String {
    format!("leasehold:{{{}}}", resource.encoded())
}

#[actix::test]
async fn when_a_replica_takes_over_on_purpose_the_work_goes_on() {
    let cluster = RedisCluster::calm();
    let master = cluster.master_of(slot_of(&cluster, &name(0)));
    let (report, cluster) = work_while(&cluster.url(), move || {
        cluster.fail_over(master + 3);
        cluster
    })
    .await;
    println!("cluster, planned failover: {report}");
    wait_until_only_fences_are_left(&cluster);
}

#[actix::test]
async fn when_a_master_is_killed_its_replica_grants() {
    let mut cluster = RedisCluster::calm();
    let master = cluster.master_of(slot_of(&cluster, &name(0)));
    let (report, cluster) = work_while(&cluster.url(), move || {
        cluster.nodes[master].kill();
        cluster.wait_until_master(master + 3);
        cluster
    })
    .await;
    println!("cluster, master killed: {report}");
    wait_until_only_fences_are_left(&cluster);
}

#[tokio::test]
async fn a_listener_is_told_that_it_is_subscribed_where_a_master_does_not_answer() {
    let cluster = RedisCluster::calm();
    for node in &cluster.nodes {
        node.command(&["CONFIG", "SET", "cluster-replica-no-failover", "yes"]);
    }
    let silent = &cluster.nodes[cluster.master_of(slot_of(&cluster, &name(0)))];
    silent.pause();
    let options = RedisOptions { response_timeout: Duration::from_secs(1), ..RedisOptions::default() };
    let mut heard = with(&cluster.url(), options).listen(&Inbox(Token::from_bits(7)));
    let told = timeout(PATIENCE, heard.next()).await.expect("a notification");
    assert!(matches!(told, Some(Notification::Subscribed)), "{told:?}");
    silent.resume();
}

#[actix::test]
async fn when_a_slot_moves_the_work_goes_on_and_what_is_held_stays_held() {
    let cluster = RedisCluster::calm();
    let store = open(&cluster.url());
    let slot = slot_of(&cluster, &name(0));
    let (source, target) = (cluster.master_of(slot), (cluster.master_of(slot) + 1) % 3);
    let kept = asked(&in_slot(&cluster, slot), Mode::Shared);
    granted(&store, &kept).await;
    let (report, cluster) = work_while(&cluster.url(), move || {
        for to in [target, source] {
            cluster.move_slot(slot, to, Duration::from_millis(5));
        }
        cluster
    })
    .await;
    println!("cluster, slot moved there and back: {report}");
    assert_eq!(report.conflicts(), 0, "{report}");
    assert_eq!(store.renew(&kept.hold, TTL).await.unwrap(), Renewed::Extended);
    assert_eq!(store.release(&kept.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    wait_until_only_fences_are_left(&cluster);
}

#[tokio::test]
async fn a_slot_that_has_moved_in_part_grants_nothing_and_ends_nothing() {
    let cluster = RedisCluster::calm();
    for (replicas_ack, name, mode) in
        [(0, "alone", Mode::Exclusive), (0, "crowd", Mode::Shared), (1, "confirmed", Mode::Exclusive)]
    {
        let store = with(&cluster.url(), RedisOptions { replicas_ack, ..patient::patient() });
        // Whatever has to fail takes as long as a store tries.
        let response_timeout = Duration::from_secs(1);
        let hurried = RedisOptions { replicas_ack, response_timeout, ..RedisOptions::default() };
        moved_in_part(&cluster, &store, &with(&cluster.url(), hurried), &asked(name, mode)).await;
    }
}

/// The answer to a call that may be repeated, of a server that may need longer than a store waits.
async fn answered<T>(call: impl AsyncFn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let start = Instant::now();
    loop {
        match call().await {
            Err(StoreError::TimedOut { .. }) if start.elapsed() < PATIENCE => {}
            answer => return answer,
        }
    }
}

/// Lets the slot of this move while it is held.
async fn moved_in_part(cluster: &RedisCluster, store: &RedisStore, hurried: &RedisStore, held: &Acquisition) {
    granted(store, held).await;
    let key = main_key(&held.hold.resource);
    let slot = slot_of_key(cluster, &key);
    let moving = cluster.begin_to_move(slot, (cluster.master_of(slot) + 1) % 3);
    // The marker is there already, and who holds is not.
    moving.move_key(&key);
    let hold = Hold { token: SystemRandom.token(), ..held.hold.clone() };
    let rival = Acquisition { hold, mode: Mode::Exclusive, ..held.clone() };
    let answer = answered(async || hurried.acquire(&rival).await).await;
    assert!(is_unavailable(&answer), "{answer:?}");
    if held.mode == Mode::Exclusive {
        let renewed = store.renew(&held.hold, TTL).await;
        assert_eq!(renewed.unwrap(), Renewed::Extended, "one key is all of it");
    } else {
        let renewed = answered(async || hurried.renew(&held.hold, TTL).await).await;
        assert!(is_unavailable(&renewed), "{renewed:?}");
    }
    let inspected = answered(async || hurried.inspect(&held.hold.resource, 9).await).await;
    assert!(is_unavailable(&inspected), "{inspected:?}");
    moving.finish(Duration::ZERO);
    assert!(store.is_held(&held.hold).await.unwrap());
    assert_eq!(store.release(&held.hold, Duration::ZERO).await.unwrap(), Released::Freed);
}

#[tokio::test]
async fn a_node_that_has_not_heard_yet_that_it_receives_a_slot_is_asked_again() {
    let cluster = RedisCluster::calm();
    // In this layout a resource is one key, which the node that gives the slot away sends on.
    let store = with(&cluster.url(), RedisOptions { layout: Layout::Plain, ..patient() });
    let slot = slot_of_key(&cluster, "leasehold:r");
    let target = (cluster.master_of(slot) + 1) % 3;
    let moving = cluster.begin_to_move(slot, target);
    moving.tell_target(false);
    let acquiring = tokio::spawn(async move { granted(&store, &asked("r", Mode::Exclusive)).await });
    let refused = || {
        let errors: String =
            redis::from_redis_value(cluster.nodes[target].command(&["INFO", "errorstats"])).unwrap();
        errors.contains("errorstat_MOVED")
    };
    while !refused() && !acquiring.is_finished() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    moving.tell_target(true);
    acquiring.await.unwrap();
}

#[tokio::test]
async fn a_list_has_what_is_on_all_masters() {
    let cluster = RedisCluster::calm();
    let store = open(&cluster.url());
    let held: Vec<_> = (0..50).map(|number| asked(&format!("list/{number}"), Mode::Exclusive)).collect();
    let held: Vec<_> = held.into_iter().map(Arc::new).collect();
    for answer in store.acquire_each(&held).await {
        assert!(matches!(answer, Ok(Acquired::Granted(_))), "{answer:?}");
    }
    let listing = store.list(&Walk::new(b"list/", 100)).await.unwrap();
    assert!(listing.complete && listing.resources.len() == 50, "{listing:?}");
}

/// A name whose keys are in this slot.
fn in_slot(cluster: &RedisCluster, slot: u16) -> String {
    let taken: Vec<_> = (0..RESOURCES).map(name).collect();
    let names = (0..1_000_000).map(|number| format!("n{number}"));
    let is_in = |name: &String| !taken.contains(name) && slot_of_tag(name) == slot;
    let found = names.into_iter().find(is_in).unwrap();
    assert_eq!(slot_of(cluster, &found), slot);
    found
}
