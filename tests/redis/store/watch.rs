//! A lease that was renewed is lost in the store, and its holder is told long before the next renewal (`store.watch_leases`).

use std::{path::Path, sync::Arc};

use actix::Addr;
use futures_util::StreamExt;
use leasehold::{
    Acquire, Lease, LockManager, LossReason, QuorumOptions, QuorumStore, ReadLock,
    store::{Notification, Notifications, QuorumNode},
};
use support::{log::Log, programs};
use tokio::time::{self, timeout};
use tracing::Level;

use crate::redis::store::{proxy::Proxy, *};
use leasehold_testing::{
    servers::Sentinels,
    waiting::{PATIENCE, eventually},
};

/// The next renewal is due after a third of it: later than any test waits.
const HOURS: Duration = Duration::from_secs(10 * 60 * 60);
const KEY: &str = "leasehold:{r}";

fn watching(url: &str) -> RedisStore {
    let options = RedisOptions { watch_leases: true, ..patient::patient() };
    RedisStore::with_options(url, options).unwrap()
}

/// A lease past its first renewal.
async fn renewed(locks: &Addr<LockManager>) -> Lease {
    let lease = locks.send(Acquire::new("r").ttl(HOURS).wait(PATIENCE)).await.unwrap().unwrap();
    lease.renew().await.unwrap();
    lease
}

async fn managed(store: impl Store) -> (Addr<LockManager>, Lease) {
    let locks = LockManager::builder(Arc::new(store)).start().unwrap();
    let lease = renewed(&locks).await;
    (locks, lease)
}

async fn is_told(lease: &Lease, of: &str) {
    let reason = timeout(PATIENCE, lease.lost()).await;
    assert_eq!(reason.unwrap_or_else(|_| panic!("not told of {of}")), LossReason::NotHeld, "{of}");
}

/// The next token that is doubted.
async fn doubted(told: &mut Notifications) -> Token {
    let doubted = async {
        loop {
            if let Some(Notification::Doubted(token)) = told.next().await {
                return token;
            }
        }
    };
    timeout(PATIENCE, doubted).await.expect("a doubt")
}

async fn holder_is_told(server: &RedisServer, url: &str) {
    let (locks, mut lease) = managed(watching(url)).await;
    for words in
        [&["DEL", KEY][..], &["FLUSHALL"], &["FLUSHDB"], &["RENAME", KEY, "elsewhere"], &["MOVE", KEY, "1"]]
    {
        server.command(words);
        is_told(&lease, words[0]).await;
        lease = renewed(&locks).await;
    }
    let (token, another) = (lease.token(), watching(&server.url()));
    let released = another.release(&Hold { token, ..hold("r", 0) }, Duration::ZERO).await.unwrap();
    assert_eq!(released, Released::Freed);
    is_told(&lease, "a release by another process").await;
    lease = renewed(&locks).await;
    // While somebody waits a lease has another form.
    let waiting = locks.send(Acquire::new("r").wait(PATIENCE));
    let other_manager = LockManager::builder(Arc::new(store(server))).start().unwrap();
    let other = other_manager.send(Acquire::new("r").wait(PATIENCE));
    let lost = async {
        eventually("somebody waits in the store", async || server.keys().len() > 2).await;
        lease.renew().await.unwrap();
        server.command(&["DEL", KEY]);
        is_told(&lease, "DEL while others wait").await;
        drop(lease);
    };
    let one = async |got: Result<_, _>| drop(got.unwrap());
    tokio::join!(lost, async { one(waiting.await.unwrap()).await }, async {
        one(other.await.unwrap()).await
    });
}

#[actix::test]
async fn a_holder_is_told_by_redis() {
    let server = RedisServer::start();
    holder_is_told(&server, &server.url()).await;
}

#[actix::test]
async fn a_holder_is_told_by_redis_6_2() {
    let server = RedisServer::of(Path::new(&programs::redis_6_2()));
    holder_is_told(&server, &server.url()).await;
}

#[actix::test]
async fn a_holder_is_told_by_valkey_9() {
    let server = RedisServer::of(Path::new(&programs::valkey_9()));
    holder_is_told(&server, &server.url()).await;
}

#[actix::test]
async fn a_holder_is_told_by_the_master_of_sentinels_also_after_a_failover() {
    let service = Sentinels::calm();
    let (locks, lease) = managed(watching(&service.url())).await;
    let first = service.master();
    service.servers[first].command(&["DEL", KEY]);
    is_told(&lease, "DEL").await;
    service.fail_over();
    eventually("there is another master", async || service.master() != first).await;
    let of_the_new_one = async || {
        let lease = locks.send(Acquire::new("r").ttl(HOURS).wait(PATIENCE)).await.unwrap().ok()?;
        lease.renew().await.is_ok().then_some(lease)
    };
    let mut lease = None;
    // The one before may still grant for a moment.
    eventually("the new master grants, renews and tracks", async || {
        drop(lease.take());
        lease = of_the_new_one().await;
        lease.as_ref().is_some_and(Lease::is_valid) && tracks(&service.servers[service.master()])
    })
    .await;
    let lease = lease.unwrap();
    assert!(lease.is_valid());
    service.servers[service.master()].command(&["DEL", KEY]);
    is_told(&lease, "DEL after a failover").await;
}

/// The server tells of no other change of these: their renewals end with a write.
#[actix::test]
async fn holders_of_shares_and_permits_are_told_of_a_flush_and_of_a_restart() {
    let mut server = RedisServer::start();
    let locks = LockManager::builder(Arc::new(watching(&server.url()))).start().unwrap();
    for by_a_flush in [true, false] {
        let leases = [
            locks.send(ReadLock::new("shared").ttl(HOURS)).await.unwrap().unwrap(),
            locks.send(Acquire::new("permits").permits(1, 9).ttl(HOURS)).await.unwrap().unwrap(),
        ];
        for lease in &leases {
            lease.renew().await.unwrap();
        }
        if by_a_flush {
            server.command(&["FLUSHALL"]);
        } else {
            server.restart();
        }
        for lease in &leases {
            is_told(lease, &lease.resource().to_string()).await;
        }
    }
}

#[actix::test]
async fn a_holder_of_a_plain_lock_is_told() {
    let server = RedisServer::start();
    let options = RedisOptions { watch_leases: true, layout: leasehold::Layout::Plain, ..patient::patient() };
    let (_locks, lease) = managed(RedisStore::with_options(&server.url(), options).unwrap()).await;
    server.command(&["DEL", "leasehold:r"]);
    is_told(&lease, "DEL").await;
}

#[actix::test]
async fn a_holder_is_told_of_an_eviction() {
    let server = RedisServer::with_args(&["--maxmemory-policy", "allkeys-lru"]);
    let (_locks, lease) = managed(watching(&server.url())).await;
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    server.try_command(&["SET", "more", "than there is room for"]).unwrap_err();
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    is_told(&lease, "an eviction").await;
}

#[actix::test]
async fn a_holder_is_told_when_the_server_comes_back_empty() {
    let mut server = RedisServer::start();
    let (_locks, lease) = managed(watching(&server.url())).await;
    server.restart();
    is_told(&lease, "a restart").await;
}

#[actix::test]
async fn a_loss_while_the_connection_is_broken_is_told_when_there_is_another() {
    let server = RedisServer::start();
    let (_locks, lease) = managed(watching(&server.url())).await;
    let mut at_one_moment = redis::pipe();
    at_one_moment.atomic().cmd("CLIENT").arg(&["KILL", "TYPE", "normal", "SKIPME", "yes"]).del(KEY);
    let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    at_one_moment.exec(&mut connection).unwrap();
    is_told(&lease, "DEL without a connection").await;
}

#[tokio::test]
async fn a_loss_behind_a_silent_connection_is_told() {
    let server = RedisServer::start();
    let proxy = Proxy::start(&server).await;
    let (store, held) = (watching(&proxy.url()), hold("r", 1));
    granted(&store, &exclusive(&held)).await;
    assert_eq!(store.renew(&held, HOURS).await.unwrap(), Renewed::Extended);
    let mut told = store.listen(&INBOX);
    proxy.forget_connections();
    server.command(&["DEL", KEY]);
    time::pause();
    time::advance(Duration::from_secs(60)).await;
    time::resume();
    assert_eq!(doubted(&mut told).await, held.token);
    assert!(!in_the_end(async || store.is_held(&held).await).await);
}

/// A lease of the store past its first renewal.
async fn renewed_hold(store: &RedisStore, name: &str, token: u128) -> Hold {
    let held = hold(name, token);
    granted(store, &exclusive(&held)).await;
    assert_eq!(store.renew(&held, HOURS).await.unwrap(), Renewed::Extended);
    held
}

/// Has the server tell of this one. Whatever was to be told of `quiet` is told before this one is told twice.
async fn nothing_is_told_of(
    quiet: &Hold,
    store: &RedisStore,
    server: &RedisServer,
    told: &mut Notifications,
) {
    let touched = renewed_hold(store, "touched", 99).await;
    for _ in 0..2 {
        server.command(&["PEXPIRE", "leasehold:{touched}", "36000000"]);
        loop {
            let token = doubted(told).await;
            assert_ne!(token, quiet.token);
            if token == touched.token {
                break;
            }
        }
        assert_eq!(store.renew(&touched, HOURS).await.unwrap(), Renewed::Extended);
    }
}

#[tokio::test]
async fn own_renewals_cause_no_doubt() {
    let server = RedisServer::start();
    let store = watching(&server.url());
    let mut told = store.listen(&INBOX);
    let quiet = renewed_hold(&store, "quiet", 1).await;
    for _ in 0..100 {
        assert_eq!(store.renew(&quiet, HOURS).await.unwrap(), Renewed::Extended);
    }
    nothing_is_told_of(&quiet, &store, &server, &mut told).await;
}

#[tokio::test]
async fn a_doubt_that_is_refuted_is_not_told_again_and_leaves_the_lease_watched() {
    let server = RedisServer::start();
    let store = watching(&server.url());
    let mut told = store.listen(&INBOX);
    let held = renewed_hold(&store, "r", 1).await;
    server.command(&["PEXPIRE", KEY, "36000000"]);
    assert_eq!(doubted(&mut told).await, held.token);
    assert_eq!(store.renew(&held, HOURS).await.unwrap(), Renewed::Extended);
    nothing_is_told_of(&held, &store, &server, &mut told).await;
    server.command(&["DEL", KEY]);
    assert_eq!(doubted(&mut told).await, held.token);
    assert_eq!(store.renew(&held, HOURS).await.unwrap(), Renewed::NotHeld);
}

#[tokio::test]
async fn without_the_right_leases_are_renewed_as_without_a_watch_and_one_warning_says_so() {
    let server = RedisServer::start();
    server.command(&["ACL", "SETUSER", "locker", "on", ">s3cret", "~*", "&*", "+@all", "-client|tracking"]);
    let (log, _logging) = Log::begin(Level::WARN);
    let (store, held) = (watching(&server.url_for("locker", "s3cret")), hold("r", 1));
    let mut told = store.listen(&INBOX);
    granted(&store, &exclusive(&held)).await;
    // The first renewal on a connection that is gone may be without an answer.
    let is_renewed = async || matches!(store.renew(&held, HOURS).await, Ok(Renewed::Extended));
    for _ in 0..3 {
        eventually("it is renewed", is_renewed).await;
        server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
    }
    eventually("it is renewed", is_renewed).await;
    let warnings = log.lines_with("store.watch_leases");
    assert!(warnings.len() == 1 && !warnings[0].contains("s3cret"), "{warnings:?}");
    // With the right it goes on.
    server.command(&["ACL", "SETUSER", "locker", "+client|tracking"]);
    server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
    eventually("it is renewed", is_renewed).await;
    let watched = renewed_hold(&store, "watched", 2).await;
    server.command(&["DEL", "leasehold:{watched}"]);
    // The other one was renewed on several connections.
    while doubted(&mut told).await != watched.token {}
}

#[tokio::test]
async fn a_server_without_the_command_that_a_watch_begins_with_is_told_without_the_password() {
    let server = RedisServer::with_args(&["--rename-command", "HELLO", ""]);
    server.command(&["ACL", "SETUSER", "locker", "on", ">s3cret", "~*", "&*", "+@all"]);
    let (log, _logging) = Log::begin(Level::WARN);
    let (store, held) = (watching(&server.url_for("locker", "s3cret")), hold("r", 1));
    let _told = store.listen(&INBOX);
    granted(&store, &exclusive(&held)).await;
    assert_eq!(store.renew(&held, HOURS).await.unwrap(), Renewed::Extended);
    let warnings = log.lines_with("store.watch_leases");
    assert!(warnings.len() == 1 && warnings[0].contains("HELLO"), "{warnings:?}");
    assert!(!log.text().contains("s3cret"), "{warnings:?}");
}

#[actix::test]
async fn a_lease_that_is_renewed_by_its_holder_alone_or_so_often_is_not_renewed_by_a_doubt() {
    let server = RedisServer::start();
    let locks = LockManager::builder(Arc::new(watching(&server.url()))).start().unwrap();
    let asked = |name: &str| Acquire::new(name).ttl(HOURS);
    for request in [asked("by hand").no_renew(), asked("twice").max_renewals(2)] {
        let lease = locks.send(request).await.unwrap().unwrap();
        lease.renew().await.unwrap();
        let key = format!("leasehold:{{{}}}", lease.resource());
        server.command(&["DEL", &key]);
        // A look tells its doubts in no order, but when that of a later look is decided this one is.
        for _ in 0..2 {
            let other = renewed(&locks).await;
            server.command(&["DEL", KEY]);
            is_told(&other, "DEL").await;
        }
        assert!(lease.is_valid(), "{}", lease.resource());
        lease.renew().await.unwrap_err();
    }
}

#[actix::test]
async fn on_a_quorum_the_majority_decides() {
    let servers = [(); 3].map(|()| RedisServer::start());
    let node =
        |server: &RedisServer| (server.url(), Arc::new(watching(&server.url())) as Arc<dyn QuorumNode>);
    let long = Duration::from_secs(10);
    let options =
        QuorumOptions { fresh_start: true, max_ttl: HOURS, node_timeout: long, connect_timeout: long };
    let store = Arc::new(QuorumStore::new(servers.iter().map(node), options).unwrap());
    let mut told = store.listen(&INBOX);
    let locks = LockManager::builder(Arc::clone(&store) as Arc<dyn Store>).start().unwrap();
    let lease = renewed(&locks).await;
    eventually("each node tracks its key", async || servers.iter().all(tracks)).await;
    servers[0].command(&["DEL", KEY]);
    assert_eq!(doubted(&mut told).await, lease.token());
    // The renewal that follows repairs the node.
    eventually("it is held there again", async || servers[0].keys().iter().any(|(key, _)| key == KEY)).await;
    assert!(lease.is_valid());
    let lost_at_once = async || {
        // A node may be repaired in between.
        servers[..2].iter().for_each(|server| drop(server.command(&["DEL", KEY])));
        timeout(Duration::from_millis(100), lease.lost()).await == Ok(LossReason::NotHeld)
    };
    eventually("it is lost by a majority", lost_at_once).await;
}

/// Returns true if the server tells somebody of changes.
fn tracks(server: &RedisServer) -> bool {
    let stats: String = redis::from_redis_value(server.command(&["INFO", "stats"])).unwrap();
    stats.lines().any(|line| line.starts_with("tracking_total_keys:") && line != "tracking_total_keys:0")
}

#[test]
fn a_watch_that_is_not_possible_is_refused_by_name() {
    let options = || RedisOptions { watch_leases: true, ..RedisOptions::default() };
    let confirmed = RedisOptions { replicas_ack: 1, ..options() };
    for (url, options) in [("redis+cluster://host", options()), ("redis://host", confirmed)] {
        assert_eq!(RedisStore::with_options(url, options).unwrap_err().field, "store.watch_leases");
    }
}

/// Returns the time of the server for one renewal in µs, by its own count, in batches of this size.
async fn server_time(watch_leases: bool, batch: usize) -> f64 {
    const RENEWALS: usize = 25_600;
    let server = RedisServer::start();
    let options = RedisOptions { watch_leases, ..patient::patient() };
    let store = RedisStore::with_options(&server.url(), options).unwrap();
    let holds: Vec<_> = (0..batch).map(|number| hold(&format!("r{number}"), 1 + number as u128)).collect();
    for held in &holds {
        granted(&store, &exclusive(held)).await;
    }
    let renewals: Vec<_> = holds.iter().map(|held| Renewal::new(held, HOURS)).collect();
    store.renew_each(&renewals).await;
    server.command(&["CONFIG", "RESETSTAT"]);
    let rounds = RENEWALS / batch;
    for _ in 0..rounds {
        assert!(
            store.renew_each(&renewals).await.iter().all(|answer| matches!(answer, Ok(Renewed::Extended)))
        );
    }
    let stats: String = redis::from_redis_value(server.command(&["INFO", "commandstats"])).unwrap();
    let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:")).unwrap();
    let micros = line.split(',').find_map(|field| field.strip_prefix("usec=")).unwrap();
    micros.parse::<f64>().unwrap() / (rounds * batch) as f64
}

#[tokio::test]
#[ignore = "a measure, which takes half a minute"]
async fn what_a_watch_costs() {
    for batch in [1, 16, 256] {
        let (mut without, mut with) = (f64::MAX, f64::MAX);
        for _ in 0..5 {
            without = without.min(server_time(false, batch).await);
            with = with.min(server_time(true, batch).await);
        }
        let more = 100.0 * (with / without - 1.0);
        println!("{batch} a call: {without:.2} µs a renewal, watched {with:.2} µs ({more:+.0} %)");
    }
}
