//! Leases that go from one manager to another on each kind of store, and between stores that are not the same.

use std::{sync::Arc, time::Duration};

use actix::Addr;
use futures_util::future::join_all;
use leasehold::{
    Acquire, AcquireError, Adopt, AdoptError, Config, Layout, LockManager, RedisOptions, RedisStore, Stats,
};
use leasehold_testing::{
    servers::{RedisCluster, RedisServer, Replicated, Sentinels},
    waiting::{PATIENCE, eventually},
};
use support::patient::patient;

/// Longer than a busy machine keeps a renewal from its end.
const TTL: Duration = Duration::from_secs(10);
const EVERY: Duration = Duration::from_millis(400);

fn manager(store: &str) -> Addr<LockManager> {
    let patient = "connect_timeout = '10s'\nresponse_timeout = '5s'\n";
    Config::from_toml(&format!("[store]\n{patient}{store}")).unwrap().start().unwrap()
}

/// Hands a lease over, has it renewed for longer than its TTL, and released.
async fn goes_over(kind: &str, store: &str) {
    let (giver, adopter) = (manager(store), manager(store));
    let ask = Acquire::new("r").ttl(TTL).renew_every(EVERY).wait(PATIENCE);
    let lease = giver.send(ask).await.unwrap().unwrap_or_else(|error| panic!("{kind}: {error}"));
    let (token, fence) = (lease.token(), lease.fence());
    let ticket = lease.into_ticket().await.unwrap();
    let lease = adopter.send(Adopt(ticket.clone())).await.unwrap().unwrap();
    assert_eq!((lease.token(), lease.fence()), (token, fence), "{kind}");
    let enough = u64::from(TTL.div_duration_f64(EVERY) as u32) + 3;
    eventually("it is renewed", async || adopter.send(Stats).await.unwrap().renewals >= enough).await;
    // The nodes of a quorum have a twentieth of the TTL to answer.
    let refused = giver.send(Acquire::new("r").ttl(10 * TTL)).await.unwrap();
    assert!(lease.is_valid() && matches!(refused, Err(AcquireError::Held { .. })), "{kind}: {refused:?}");
    lease.release().await.unwrap();
    let over = adopter.send(Adopt(ticket)).await.unwrap().unwrap_err();
    assert!(matches!(over, AdoptError::NotHeld), "{kind}: {over}");
    giver.send(Acquire::new("r").wait(PATIENCE)).await.unwrap().unwrap().release().await.unwrap();
}

#[actix::test]
async fn a_lease_goes_from_one_manager_to_another_on_every_kind_of_store() {
    let single = RedisServer::start();
    let (cluster, sentinels, replicated) = (RedisCluster::calm(), Sentinels::calm(), Replicated::start(1));
    let nodes: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    let nodes_urls: Vec<_> = nodes.iter().map(RedisServer::url).collect();
    let kinds = [
        ("single", format!("url = '{}'", single.url())),
        ("plain", format!("url = '{}'\nlayout = 'plain'\nprefix = 'plain'", single.url())),
        ("cluster", format!("url = '{}'", cluster.url())),
        ("sentinel", format!("url = '{}'", sentinels.url())),
        ("replicas", format!("url = '{}'\nreplicas_ack = 1", replicated.master.url())),
        (
            "quorum",
            format!("url = 'quorum://[{}]'\nfresh_start = true\nnode_timeout = '3s'", nodes_urls.join(",")),
        ),
    ];
    join_all(kinds.iter().map(|(kind, store)| goes_over(kind, store))).await;
}

#[actix::test]
async fn a_ticket_of_another_prefix_or_layout_is_not_held_and_changes_nothing() {
    let server = RedisServer::start();
    let manager = |layout, prefix: &str| {
        let options = RedisOptions { layout, prefix: prefix.to_owned(), ..patient() };
        let store = RedisStore::with_options(&server.url(), options).unwrap();
        LockManager::builder(Arc::new(store)).start().unwrap()
    };
    let managers =
        [manager(Layout::Full, "one"), manager(Layout::Plain, "one"), manager(Layout::Full, "other")];
    for giver in &managers {
        let ask = Acquire::new("r").ttl(Duration::from_secs(60));
        let ticket = giver.send(ask).await.unwrap().unwrap().into_ticket().await.unwrap();
        for other in managers.iter().filter(|other| *other != giver) {
            let refused = other.send(Adopt(ticket.clone())).await.unwrap().unwrap_err();
            assert!(matches!(refused, AdoptError::NotHeld), "{refused}");
        }
        giver.send(Adopt(ticket)).await.unwrap().unwrap().release().await.unwrap();
    }
}
