//! What only real time, real threads and a real server can show.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use actix::{Actor, Addr, Arbiter, Context, Handler, Message};
use leasehold::{
    Acquire, AcquireError, IsHeld, Lease, LeaseChange, List, LockManager, LossReason, MemoryStore, ReadLock,
    RedisOptions, RedisStore, ResourceName, Stats, store::Store,
};
use leasehold_testing::servers::RedisServer;
use leasehold_testing::waiting::eventually;
use support::{
    patient,
    virtual_time::{Listener, millis, secs},
};
use tokio::time::sleep;

fn manager_of(server: &RedisServer) -> Addr<LockManager> {
    LockManager::builder(Arc::new(patient::open(&server.url()))).start().unwrap()
}

#[actix::test]
async fn the_load_of_a_server_grows_with_its_work_and_by_less_than_the_time_that_passes() {
    let server = RedisServer::start();
    let store = patient::open(&server.url());
    let busy = async || store.server_load().await.unwrap()[0].busy;
    let (before, started) = (busy().await, Instant::now());
    eventually("the server has worked for 100 ms more", async || {
        server.command(&["EVAL", "for i = 1, 1000000 do end return 1", "0"]);
        busy().await >= before + millis(100)
    })
    .await;
    let (after, passed) = (busy().await, started.elapsed());
    assert!(after - before <= passed + millis(50), "{:?} of work in {passed:?}", after - before);
}

/// A worker whose handler blocks its arbiter.
struct Blocking {
    lease: Lease,
}

#[derive(Message)]
#[rtype(result = "bool")]
struct BlockFor(Duration);

impl Actor for Blocking {
    type Context = Context<Self>;
}

impl Handler<BlockFor> for Blocking {
    type Result = bool;

    /// Answers whether the lease is still valid after it.
    fn handle(&mut self, BlockFor(time): BlockFor, _: &mut Self::Context) -> bool {
        thread::sleep(time);
        self.lease.is_valid()
    }
}

const TTL: Duration = secs(6);

async fn lease_of_a_blocked_worker(locks: &Addr<LockManager>, asked: Acquire) -> bool {
    let lease = locks.send(asked.ttl(TTL).wait(secs(60))).await.unwrap().unwrap();
    let worker = Blocking::start_in_arbiter(&Arbiter::new().handle(), |_| Blocking { lease });
    worker.send(BlockFor(TTL * 3)).await.unwrap()
}

/// Shows the same on every store, at the same time.
async fn on_every_store(show: impl AsyncFn(&str, Arc<dyn Store>)) {
    let server = RedisServer::start();
    let redis = patient::open(&server.url());
    tokio::join!(show("memory", Arc::new(MemoryStore::default())), show("redis", Arc::new(redis)));
}

#[actix::test]
async fn a_blocked_arbiter_does_not_lose_its_lease() {
    on_every_store(async |name, store| {
        let locks = LockManager::builder(store).start().unwrap();
        assert!(lease_of_a_blocked_worker(&locks, Acquire::new("r")).await, "{name}");
        let stats = locks.send(Stats).await.unwrap();
        assert!(stats.renewals >= 5, "{name}: {stats:?}");
        assert!(stats.lost.is_empty(), "{name}: {stats:?}");
    })
    .await;
}

#[actix::test]
async fn a_blocked_arbiter_with_heartbeat_loses_its_lease_and_is_told() {
    on_every_store(async |name, store| {
        let locks = LockManager::builder(store).start().unwrap();
        let listener = Listener::default();
        let events = listener.clone().start().recipient();
        let asked = Acquire::new("r").heartbeat(TTL).events(events);
        let blocked = lease_of_a_blocked_worker(&locks, asked);
        let start = Instant::now();
        let told = eventually("told while the worker is still blocked", async || {
            listener.has_heard(LeaseChange::Lost(LossReason::HeartbeatMissed))
        });
        let (valid, ()) = tokio::join!(blocked, told);
        assert!(!valid, "{name}");
        assert!(start.elapsed() >= TTL * 3);
    })
    .await;
}

#[actix::test]
async fn a_server_that_stops_for_longer_than_the_ttl_loses_the_lease_in_time() {
    const TTL: Duration = secs(5);
    let server = RedisServer::start();
    // Who asks while the server stands still waits that long for an answer.
    let options = || RedisOptions { response_timeout: secs(2), ..patient::patient() };
    let store = || RedisStore::with_options(&server.url(), options()).unwrap();
    let [locks, others] = [(); 2].map(|()| LockManager::builder(Arc::new(store())).start().unwrap());
    let lease = locks.send(Acquire::new("r").ttl(TTL).wait(secs(60))).await.unwrap().unwrap();
    let fence = lease.fence().unwrap();
    server.pause();
    let reason = lease.lost().await;
    assert_eq!(reason, LossReason::Expired);
    // Without an answer of the server. That it is told before the TTL is over shows in virtual time.
    assert!(!lease.is_valid());
    // Refused or unknown while the server stands still; whatever it executes when it wakes is released.
    let meanwhile = others.send(Acquire::new("r").ttl(TTL)).await.unwrap();
    assert!(matches!(meanwhile, Err(AcquireError::Store(_))), "{meanwhile:?}");
    sleep(TTL * 2).await;
    server.resume();
    let next = others.send(Acquire::new("r").wait(secs(60))).await.unwrap().unwrap();
    assert!(next.fence().unwrap() > fence);
    assert!(!locks.send(IsHeld::new("r", lease.token())).await.unwrap().unwrap());
    assert!(server.keys().iter().all(|(_, pttl)| *pttl > 0), "without an end: {:?}", server.keys());
    next.release().await.unwrap();
    drop(lease);
    eventually("only the fence is left", async || server.keys().len() == 1).await;
    assert_eq!(server.keys()[0].0, "leasehold:fence");
}

#[actix::test]
async fn callers_that_go_leave_no_key_behind() {
    let server = RedisServer::start();
    let locks = manager_of(&server);
    let mut callers = Vec::new();
    for caller in 0..200_u64 {
        let locks = locks.clone();
        // Some stay; some go before the first attempt is answered, some while they wait, some with the answer on its way.
        let give_up_after = if caller % 4 == 0 { secs(60) } else { Duration::from_micros(caller * 97) };
        callers.push(actix_rt::spawn(async move {
            let name = format!("r{}", caller % 10);
            let asked = Acquire::new(&name).wait(secs(60));
            let answer = tokio::time::timeout(give_up_after, locks.send(asked)).await;
            if let Ok(lease) = answer {
                let lease = lease.unwrap().unwrap();
                sleep(millis(3)).await;
                drop(lease);
            }
            let reading = locks.send(ReadLock::new(format!("s{}", caller % 10)).wait(secs(60)));
            drop(tokio::time::timeout(give_up_after / 2, reading).await);
        }));
    }
    for caller in callers {
        caller.await.unwrap();
    }
    eventually("nothing but the fence is left", async || {
        server.keys().iter().all(|(key, _)| key == "leasehold:fence")
    })
    .await;
    let stats = locks.send(Stats).await.unwrap();
    assert!(stats.cancelled > 0 && stats.granted > 0, "{stats:?}");
    assert_eq!((stats.pending, stats.held), (0, 0), "{stats:?}");
}

#[actix::test]
async fn a_manager_starts_without_a_server_and_serves_when_there_is_one() {
    let mut server = RedisServer::start();
    server.kill();
    let locks = manager_of(&server);
    let refused = locks.send(Acquire::new("r")).await.unwrap();
    assert!(matches!(refused, Err(AcquireError::Store(_))), "{refused:?}");
    let waiting = locks.send(Acquire::new("r").wait(secs(30)));
    server.restart();
    assert!(waiting.await.unwrap().unwrap().is_valid());
    assert!(locks.send(List::new("")).await.unwrap().unwrap().complete);
}

#[actix::test]
async fn a_lease_survives_a_restarted_connection_and_a_flushed_script_cache() {
    let server = RedisServer::start();
    let locks = manager_of(&server);
    let lease = locks.send(Acquire::new("r").ttl(secs(10))).await.unwrap().unwrap();
    for _ in 0..3 {
        server.command(&["SCRIPT", "FLUSH"]);
        server.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        let renewals = locks.send(Stats).await.unwrap().renewals;
        eventually("renewed", async || locks.send(Stats).await.unwrap().renewals > renewals).await;
    }
    assert!(lease.is_valid());
    lease.release().await.unwrap();
}

#[actix::test]
async fn a_release_after_the_server_forgot_everything_does_not_say_freed() {
    let mut server = RedisServer::start();
    let (locks, others) = (manager_of(&server), manager_of(&server));
    let lease = locks.send(Acquire::new("r").ttl(secs(30))).await.unwrap().unwrap();
    server.restart();
    let _second = others.send(Acquire::new("r").wait(secs(60))).await.unwrap().unwrap();
    let answer = lease.release().await;
    assert!(answer.is_err(), "{answer:?}");
}

#[actix::test]
async fn a_foreign_key_does_not_break_the_list() {
    let server = RedisServer::start();
    let locks = manager_of(&server);
    let _lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
    let client = redis::Client::open(server.url()).unwrap();
    let foreign = [&b"leasehold:{\xff}"[..], b"leasehold:{ }", b"leasehold:{}"];
    for key in foreign {
        let set = redis::cmd("SET").arg(key).arg(1).exec(&mut client.get_connection().unwrap());
        set.unwrap();
    }
    let listed = locks.send(List::new("")).await.unwrap().unwrap();
    assert_eq!((listed.resources.len(), listed.complete), (1, true), "{listed:?}");
}

#[actix::test]
async fn a_caller_that_cannot_be_served_is_told_at_once_how_long_it_would_take() {
    const HOLD: Duration = secs(1);
    // Less than ten holds take, and more than an answer takes on a busy machine.
    const PATIENCE: Duration = secs(5);
    let server = RedisServer::start();
    // Two processes, as far as the server can tell: one holds and waits, and the other one asks.
    let (holding, locks) = (manager_of(&server), manager_of(&server));
    let ask = || Acquire::new("r").wait(secs(60));
    // The one that asks has seen what a hold takes.
    for _ in 0..4 {
        let lease = locks.send(ask()).await.unwrap().unwrap();
        let waiting = actix_rt::spawn(locks.send(ask()));
        eventually("somebody waits", async || locks.send(Stats).await.unwrap().pending > 0).await;
        sleep(HOLD).await;
        lease.release().await.unwrap();
        drop(waiting.await.unwrap().unwrap().unwrap());
    }
    let lease = holding.send(ask()).await.unwrap().unwrap();
    let _waiting: Vec<_> = (0..9).map(|_| actix_rt::spawn(locks.send(ask()))).collect();
    let queued = async || locks.send(Stats).await.unwrap().pending == 9;
    eventually("nine wait", queued).await;
    let name = ResourceName::new("r").unwrap();
    let store = patient::open(&server.url());
    eventually("the first is in the queue", async || store.inspect(&name, 1).await.unwrap().waiting == 1)
        .await;
    let mut times = Vec::new();
    for _ in 0..50 {
        let start = Instant::now();
        let asked = locks.send(Acquire::new("r").wait(PATIENCE).give_up_early(true)).await.unwrap();
        times.push(start.elapsed());
        let Err(AcquireError::Held { expected_wait: Some(expected), waited, .. }) = asked else {
            panic!("{asked:?}")
        };
        assert!(expected > PATIENCE && waited < PATIENCE, "{expected:?} after {waited:?}");
    }
    times.sort();
    println!("told after {:?} in the median of 50, {:?} at most", times[25], times[49]);
    assert_eq!(store.inspect(&name, 1).await.unwrap().waiting, 1, "nobody else is left in the queue");
    drop(lease);
}
