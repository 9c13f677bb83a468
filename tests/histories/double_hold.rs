//! A double hold that happened, of a quorum in an older version, is refused; today nobody holds twice there.

use std::{path::Path, sync::Arc, time::Duration};

use actix::Addr;
use leasehold::{Acquire, AcquireError, LockManager, QuorumOptions, QuorumStore, store::QuorumNode};
use leasehold_sim::linearizable::judge;
use leasehold_testing::{history::lines::Transcript, servers::RedisServer};
use support::patient;

fn verdict(text: &str) -> Result<usize, String> {
    judge(Transcript::read(text).unwrap().leases.iter().map(|(_, held)| held))
}

#[test]
fn a_double_hold_that_happened_is_refused() {
    let refused = verdict(include_str!("double_hold_of_a_quorum.jsonl")).unwrap_err();
    assert!(refused.contains("job"), "{refused}");
}

#[test]
fn the_same_history_without_the_second_holder_is_accepted() {
    for text in [include_str!("refused_by_a_quorum.jsonl"), include_str!("refused_today.jsonl")] {
        let read = Transcript::read(text).unwrap();
        assert_eq!((read.leases.len(), read.refused.len()), (2, 1), "one was refused");
        assert_eq!(verdict(text), Ok(2));
    }
}

#[test]
fn the_files_that_the_script_of_the_double_hold_names_exist() {
    let script = include_str!("double_hold");
    let named: Vec<_> = script.split('"').filter(|text| text.starts_with("crates/")).collect();
    assert_eq!(named.len(), 1, "{named:?}");
    for path in named {
        assert!(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path).is_file(), "{path}");
    }
}

fn manager(servers: [&RedisServer; 3], fresh_start: bool) -> Addr<LockManager> {
    let max_ttl = Duration::from_secs(60);
    let options = QuorumOptions {
        max_ttl,
        fresh_start,
        node_timeout: Duration::from_secs(3),
        ..QuorumOptions::default()
    };
    let node = |server: &RedisServer| -> (String, Arc<dyn QuorumNode>) {
        (server.url(), Arc::new(patient::open(&server.url())))
    };
    let store = QuorumStore::new(servers.map(node), options).unwrap();
    LockManager::builder(Arc::new(store)).start_here().unwrap()
}

#[actix::test]
async fn a_node_that_restarts_empty_with_a_wrong_clock_grants_nothing_beside_a_holder() {
    let mut away = RedisServer::start();
    away.kill();
    let [mut a, b, c] = [(); 3].map(|()| RedisServer::with_clock());
    let asked = |name| Acquire::new(name).ttl(Duration::from_secs(60));
    let first = manager([&a, &b, &c], true);
    first.send(asked("warm")).await.unwrap().unwrap().release().await.unwrap();
    // The holder does not reach the third node.
    let holder = manager([&a, &b, &away], false).send(asked("job")).await.unwrap().unwrap();
    let behind = Duration::from_secs(7_200);
    a.set_back(behind);
    a.restart();
    // Corrected, the node seems to be two hours old.
    a.advance(behind);
    let second = manager([&a, &b, &c], false);
    let answer = second.send(asked("job").wait(Duration::from_secs(10))).await.unwrap();
    assert!(matches!(answer, Err(AcquireError::Held { .. })), "{answer:?}");
    assert!(holder.is_valid());
}
