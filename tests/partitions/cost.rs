//! Measures: the processor time of a process that owns a thousand partitions, and of one that holds a thousand leases.

use std::{fs, sync::Arc, time::Duration};

use actix::{Actor, Addr};
use futures_util::future::join_all;
use leasehold::{
    Acquire, Lease, LockManager, RedisStore, Shutdown,
    election::SingletonContext,
    partitions::{Member, Partitions},
};
use leasehold_testing::{servers::RedisServer, waiting::eventually};
use tokio::time::sleep;

const MANY: u32 = 1_000;
const MEASURED: Duration = Duration::from_secs(60);

/// An actor that does nothing.
struct Idle;

impl Actor for Idle {
    type Context = SingletonContext<Self>;
}

/// The processor time of this process so far, in hundredths of a second.
fn processor_time() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit_once(") ").unwrap().1;
    after_name.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

fn manager(server: &RedisServer) -> Addr<LockManager> {
    LockManager::builder(Arc::new(RedisStore::open(&server.url()).unwrap())).start().unwrap()
}

async fn measured(what: &str, locks: &Addr<LockManager>) {
    let before = processor_time();
    sleep(MEASURED).await;
    println!("{what}: {:.2} s of a processor in {MEASURED:?}", (processor_time() - before) as f64 / 100.0);
    locks.send(Shutdown { drain: Duration::from_secs(1) }).await.unwrap();
}

async fn hold(locks: &Addr<LockManager>) -> Vec<Lease> {
    let asked = (0..MANY).map(|number| locks.send(Acquire::new(format!("r{number}"))));
    join_all(asked).await.into_iter().map(|lease| lease.unwrap().unwrap()).collect()
}

#[actix::test]
#[ignore = "a measure, which takes a minute"]
async fn what_leases_cost() {
    let server = RedisServer::start();
    let locks = manager(&server);
    let _leases = hold(&locks).await;
    measured(&format!("{MANY} leases"), &locks).await;
}

#[actix::test]
#[ignore = "a measure, which takes a minute"]
async fn what_awaited_losses_cost() {
    let server = RedisServer::start();
    let locks = manager(&server);
    for lease in hold(&locks).await {
        actix_rt::spawn(async move { lease.lost().await });
    }
    measured(&format!("{MANY} leases whose loss is waited for"), &locks).await;
}

async fn own(partitions: u32) {
    let server = RedisServer::start();
    let locks = manager(&server);
    let owned = Partitions::start(&locks, "orders", partitions, Member::new("alone"), |_| Idle).unwrap();
    eventually("it owns all", async || owned.owned().len() == partitions as usize).await;
    measured(&format!("{partitions} partitions"), &locks).await;
}

#[actix::test]
#[ignore = "a measure, which takes a minute"]
async fn what_partitions_cost() {
    own(MANY).await;
}

/// A member looks once a second, however many partitions there are.
#[actix::test]
#[ignore = "a measure, which takes a minute"]
async fn what_a_member_costs() {
    own(1).await;
}
