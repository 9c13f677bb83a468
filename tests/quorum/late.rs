//! Acquisitions that nodes execute after they were given up and released, and releases that take long.

use std::{any::Any, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use leasehold::{
    MemoryStore, QuorumOptions, QuorumStore, StoreError, Token,
    env::RuntimeClock,
    store::{Hold, QuorumNode, Released, Store},
};
use leasehold_testing::decorated::{Decorated, Hooks, Verb};

use crate::quorum::nodes::{exclusive, granted};
use support::odd_store::odd_store;

/// The time after which an acquisition is executed.
const LATE: Duration = Duration::from_millis(300);

/// Returns a quorum of three nodes that has granted before, and these. Those from `first` on execute the next acquisition late.
async fn quorum_with_late_nodes(first: usize) -> (QuorumStore, Vec<MemoryStore>) {
    let clock = Arc::new(RuntimeClock::start());
    let memories: Vec<_> = (0..3).map(|_| MemoryStore::new(clock.clone())).collect();
    let nodes: Vec<_> = memories.iter().map(|memory| Arc::new(odd_store(memory.clone()))).collect();
    let named = nodes.iter().enumerate();
    let named = named.map(|(which, node)| (format!("node {which}"), Arc::clone(node) as Arc<dyn QuorumNode>));
    let options = QuorumOptions { fresh_start: true, ..QuorumOptions::default() };
    let quorum = QuorumStore::with_clock(named, options, clock.clone()).unwrap();
    let before = exclusive();
    granted(&quorum, &before).await;
    assert_eq!(quorum.release(&before.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    nodes[first..].iter().for_each(|node| node.execute_late(LATE));
    (quorum, memories)
}

#[tokio::test(start_paused = true)]
async fn an_acquisition_that_is_executed_after_its_release_is_released_again() {
    let (quorum, memories) = quorum_with_late_nodes(0).await;
    let (late, asked) = (LATE, exclusive());
    let refused = quorum.acquire(&asked).await.unwrap_err();
    assert!(matches!(refused, StoreError::NoQuorum { .. }), "{refused}");
    tokio::time::sleep(late + Duration::from_millis(10)).await;
    assert!(memories[0].is_held(&asked.hold).await.unwrap(), "released before and executed after that");
    tokio::time::sleep(2 * late).await;
    for memory in &memories {
        assert!(!memory.is_held(&asked.hold).await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_node_executes_after_the_release_of_a_lease_that_the_others_granted_is_released_again() {
    let (quorum, memories) = quorum_with_late_nodes(2).await;
    let asked = exclusive();
    granted(&quorum, &asked).await;
    assert_eq!(quorum.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    tokio::time::sleep(LATE + Duration::from_millis(10)).await;
    assert!(memories[2].is_held(&asked.hold).await.unwrap(), "released before and executed after that");
    tokio::time::sleep(2 * LATE).await;
    assert!(!memories[2].is_held(&asked.hold).await.unwrap());
}

/// A server that takes 10 µs for each release.
#[derive(Debug)]
struct Slow;

impl Hooks for Slow {
    fn after<'a>(&'a self, verb: Verb<'a>, _: &mut dyn Any) -> BoxFuture<'a, ()> {
        let releases = if let Verb::Release(releases) = verb { releases.len() } else { 0 };
        tokio::time::sleep(Duration::from_micros(10) * releases as u32).boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn the_release_of_very_many_leases_at_once_waits_for_as_long_as_that_takes() {
    let clock = Arc::new(RuntimeClock::start());
    let node = |which| {
        let node = Decorated::new(MemoryStore::new(clock.clone()), Arc::new(Slow));
        (format!("node {which}"), Arc::new(node) as Arc<dyn QuorumNode>)
    };
    let quorum = QuorumStore::with_clock((0..3).map(node), QuorumOptions::default(), clock.clone()).unwrap();
    let asked = exclusive();
    let holds: Vec<_> =
        (0..20_000).map(|token| Hold { token: Token::from_bits(token), ..asked.hold.clone() }).collect();
    // From here on the nodes have the shorter time.
    assert_eq!(quorum.release(&holds[0], Duration::ZERO).await.unwrap(), Released::NotHeld { count: 0 });
    let releases: Vec<_> = holds.iter().map(|hold| (hold, Duration::ZERO)).collect();
    let answers = quorum.release_each(&releases).await;
    assert!(answers.iter().all(Result::is_ok), "{:?}", answers.iter().find(|answer| answer.is_err()));
}
