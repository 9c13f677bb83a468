//! What replicas have confirmed is not forgotten, whichever master dies.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use leasehold::{Durability, store::Store};
use tokio::task::{JoinSet, spawn_blocking};

use crate::deployments::failover::*;
use leasehold_testing::servers::{MASTERS, RedisCluster, Sentinels, place_of_tag};
use leasehold_testing::waiting::eventually;

const CALLERS: usize = 8;

fn confirmed_by(url: &str, replicas: u32) -> Arc<RedisStore> {
    with(url, RedisOptions { replicas_ack: replicas, ..patient() })
}

/// Takes one lock after the other until something has happened. Answers what was granted before and while it did.
async fn granted_while<T: Send + 'static>(
    store: &Arc<RedisStore>,
    names: impl Iterator<Item = String> + Send + 'static,
    happens: impl FnOnce() -> T + Send + 'static,
) -> (Vec<Acquisition>, T) {
    let names = Arc::new(Mutex::new(names));
    let (over, granted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let (store, names, over) = (Arc::clone(store), Arc::clone(&names), Arc::clone(&over));
        let granted = Arc::clone(&granted);
        callers.spawn(async move {
            let mut held = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let asked = asked(&names.lock().unwrap().next().unwrap(), Mode::Exclusive);
                if let Ok(Acquired::Granted(_)) = store.acquire(&asked).await {
                    held.push(asked);
                    granted.fetch_add(1, Ordering::Relaxed);
                }
            }
            held
        });
    }
    eventually("grants", async || granted.load(Ordering::Relaxed) > 10 * CALLERS).await;
    let happened = spawn_blocking(happens).await.unwrap();
    over.store(true, Ordering::Relaxed);
    (callers.join_all().await.into_iter().flatten().collect(), happened)
}

/// Checks that all of them are held, and nobody else is granted any of it.
async fn all_are_held(store: &RedisStore, held: &[Acquisition]) {
    assert!(held.len() > CALLERS, "only {} granted", held.len());
    let rivals: Vec<_> = held
        .iter()
        .map(|held| {
            let hold = Hold { token: SystemRandom.token(), ..held.hold.clone() };
            Arc::new(Acquisition { hold, ..held.clone() })
        })
        .collect();
    for (answer, held) in store.acquire_each(&rivals).await.into_iter().zip(held) {
        let resource = &held.hold.resource;
        assert!(matches!(answer, Ok(Acquired::Refused(_))), "{resource:?} of {}: {answer:?}", rivals.len());
        assert!(store.is_held(&held.hold).await.unwrap(), "{resource:?}");
    }
}

#[tokio::test]
async fn a_cluster_whose_masters_die_one_after_the_other_forgets_no_confirmed_grant() {
    let mut cluster = RedisCluster::calm();
    let url = cluster.url();
    for master in 0..MASTERS {
        let store = confirmed_by(&url, 1);
        let names = (0..).map(move |number| format!("confirmed/{master}/{number}"));
        let names = names.filter(move |name| place_of_tag(name) == master);
        let (held, back) = granted_while(&store, names, move || {
            cluster.nodes[master].kill();
            cluster.wait_until_master(master + MASTERS);
            cluster
        })
        .await;
        cluster = back;
        all_are_held(&with(&url, patient()), &held).await;
        println!("cluster, master {master} killed: {} confirmed grants kept", held.len());
    }
}

#[tokio::test]
async fn masters_of_sentinel_that_die_one_after_the_other_forget_no_confirmed_grant() {
    let mut servers = Sentinels::calm();
    let url = servers.url();
    for replicas in [2, 1] {
        let store = confirmed_by(&url, replicas);
        assert_eq!(store.durability(), Durability::Replicated { replicas });
        let asked = asked("ready", Mode::Shared);
        eventually("enough replicas follow the master", async || store.acquire(&asked).await.is_ok()).await;
        let names = (0..).map(move |number| format!("confirmed/{replicas}/{number}"));
        let (held, back) = granted_while(&store, names, move || {
            let master = servers.master();
            servers.servers[master].kill();
            servers.wait_for_another(master);
            servers
        })
        .await;
        servers = back;
        all_are_held(&with(&url, patient()), &held).await;
        println!("sentinel, {replicas} replicas, master killed: {} confirmed grants kept", held.len());
    }
    // Nobody is left to confirm anything.
    let lonely = asked("lonely", Mode::Exclusive);
    let answer = confirmed_by(&url, 1).acquire(&lonely).await;
    let undone =
        matches!(answer, Err(StoreError::Unacknowledged { wanted: 1, reached: 0, undone: true, .. }));
    assert!(undone, "{answer:?}");
    granted(
        &with(&url, patient()),
        &Acquisition { hold: Hold { token: SystemRandom.token(), ..lonely.hold.clone() }, ..lonely },
    )
    .await;
}
