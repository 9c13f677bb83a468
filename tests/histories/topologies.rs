//! Histories of every topology, some of them with a fault in the middle: each is that of a lock with fences.

use std::{
    cell::{Cell, RefCell},
    env,
    sync::Arc,
    time::Duration,
};

use actix::Addr;
use futures_util::{StreamExt, stream};
use leasehold::{
    LockManager, MemoryStore, QuorumOptions, QuorumStore,
    store::{QuorumNode, Store},
};
use leasehold_sim::{
    contention::contended,
    linearizable::{histories, is_that_of_a_lock},
    refusals::unfounded,
};
use leasehold_testing::{
    history::lines::Request,
    servers::{RedisCluster, RedisServer, Sentinels},
};
use support::patient;
use tokio::{sync::Mutex, time::sleep};

use super::callers::{Callers, Kind};

const MANAGERS: usize = 3;
/// What 6 callers take in so many turns is one history for the checker.
const TURNS: usize = 4;
/// A re-entry is one more lease.
const TURNS_OF_OWNERS: usize = 2;
/// So many histories of a topology are made at a time.
const AT_A_TIME: usize = 4;

fn wanted() -> usize {
    env::var("LEASEHOLD_HISTORIES_EACH").ok().map_or(4, |count| count.parse().expect("a number of histories"))
}

pub(crate) fn manager(store: impl Store) -> Addr<LockManager> {
    LockManager::builder(Arc::new(store)).start_here().unwrap()
}

/// The number of kinds of faults.
const FAULTS: usize = 3;

/// Has callers make histories of a topology. Something happens to its servers during three of four, each time something else: of the
/// next four, other kinds of callers have it. Nothing happens during two at a time: a command to a server that another history
/// has stopped would keep this thread from resuming it.
async fn make(
    topology: &str,
    kinds: &[Kind],
    open: impl Fn() -> Addr<LockManager>,
    fault: impl AsyncFn(usize),
) {
    let alone = Mutex::new(());
    let one = async |number: usize| {
        let managers: Vec<_> = (0..MANAGERS).map(|_| open()).collect();
        let kind = kinds[number % kinds.len()];
        let turns = if kind == Kind::ReEntrant { TURNS_OF_OWNERS } else { TURNS };
        let resource = format!("{topology}/{number}");
        let beside = async {
            let which = (number + number / kinds.len()) % (FAULTS + 1);
            if which < FAULTS {
                sleep(Duration::from_millis(3)).await;
                let _alone = alone.lock().await;
                fault(which).await;
            }
        };
        let transcript = Callers { managers: &managers, resource, kind, turns }.history(beside).await;
        transcript.keep(&format!("histories_{topology}"));
        let held: Vec<_> = transcript.leases.iter().map(|(_, held)| held).collect();
        for history in histories(held.iter().copied()) {
            assert!(is_that_of_a_lock(&history), "{topology} {number}, {kind:?}: {history:#?}");
        }
        assert_eq!(unfounded(&transcript), [] as [&Request; 0], "{topology} {number}: {transcript:#?}");
        let reentered = held.iter().any(|lease| lease.reentered);
        assert_eq!(reentered, kind == Kind::ReEntrant, "{topology} {number}: {held:#?}");
        (held.len(), contended(held.iter().copied()), transcript.refused.len())
    };
    let made: Vec<_> = stream::iter((0..wanted()).map(one)).buffer_unordered(AT_A_TIME).collect().await;
    let sum = made.iter().fold((0, 0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2));
    let (leases, contended, refused) = sum;
    println!(
        "{topology}: {} histories, {leases} leases, {contended} contended, {refused} refused",
        made.len()
    );
    assert!(leases > 0 && contended > 0, "no contention: {made:?}");
}

const ALL: [Kind; 4] = [Kind::Exclusive, Kind::ReadWrite, Kind::Permits, Kind::ReEntrant];

/// Cuts the connections, forgets the scripts, or stops the server for a moment.
async fn disturb(server: &RedisServer, number: usize) {
    match number % FAULTS {
        0 => drop(server.try_command(&["CLIENT", "KILL", "TYPE", "normal"])),
        1 => drop(server.try_command(&["SCRIPT", "FLUSH"])),
        _ => {
            server.pause();
            sleep(Duration::from_millis(50)).await;
            server.resume();
        }
    }
}

#[actix::test]
async fn a_fault_of_one_history_waits_for_that_of_another() {
    let (store, is_busy, faults) = (MemoryStore::default(), Cell::new(false), Cell::new(0));
    let fault = async |_| {
        assert!(!is_busy.replace(true), "beside another one");
        sleep(Duration::from_millis(20)).await;
        is_busy.set(false);
        faults.set(faults.get() + 1);
    };
    make("memory", &ALL, || manager(store.clone()), fault).await;
    assert!(faults.get() > 1, "{} faults", faults.get());
}

#[actix::test]
async fn histories_of_one_server_are_those_of_a_lock() {
    let server = RedisServer::start();
    let open = || manager(patient::open(&server.url()));
    make("one_server", &ALL, open, async |number| disturb(&server, number).await).await;
}

#[actix::test]
async fn histories_of_sentinel_are_those_of_a_lock() {
    let sentinels = Sentinels::calm();
    let open = || manager(patient::open(&sentinels.url()));
    let master = &sentinels.servers[sentinels.master()];
    make("sentinel", &ALL, open, async |number| disturb(master, number).await).await;
}

#[actix::test]
async fn histories_of_a_cluster_are_those_of_a_lock() {
    let cluster = RedisCluster::calm();
    let open = || manager(patient::open(&cluster.url()));
    // Every node, for one of them has the resource.
    let fault = async |number: usize| {
        for node in &cluster.nodes {
            disturb(node, number).await;
        }
    };
    make("cluster", &ALL, open, fault).await;
}

#[actix::test]
async fn histories_of_a_quorum_are_those_of_a_lock() {
    // One of five may be gone for good: a node that comes back empty does not vote.
    let servers = RefCell::new((0..5).map(|_| RedisServer::start()).collect::<Vec<_>>());
    let urls: Vec<_> = servers.borrow().iter().map(RedisServer::url).collect();
    let options =
        QuorumOptions { fresh_start: true, node_timeout: Duration::from_secs(1), ..QuorumOptions::default() };
    let open = || {
        let node = |url: &String| (url.clone(), Arc::new(patient::open(url)) as Arc<dyn QuorumNode>);
        manager(QuorumStore::new(urls.iter().map(node), options.clone()).unwrap())
    };
    let fault = async |number: usize| match number % 2 {
        0 => servers.borrow_mut()[0].restart(),
        _ => {
            servers.borrow()[1].pause();
            sleep(Duration::from_millis(50)).await;
            servers.borrow()[1].resume();
        }
    };
    make("quorum", &[Kind::Exclusive, Kind::ReadWrite, Kind::ReEntrant], open, fault).await;
}
