//! Acquisitions that nodes execute after they were given up and released.

use std::{sync::Arc, time::Duration};

use leasehold::{
    MemoryStore, QuorumOptions, QuorumStore, StoreError,
    env::RuntimeClock,
    store::{QuorumNode, Store},
};

use crate::quorum::nodes::exclusive;
use support::odd_store::odd_store;

#[tokio::test(start_paused = true)]
async fn an_acquisition_that_is_executed_after_its_release_is_released_again() {
    let clock = Arc::new(RuntimeClock::start());
    let memories: Vec<_> = (0..3).map(|_| MemoryStore::new(clock.clone())).collect();
    let late = Duration::from_millis(300);
    let named = memories.iter().enumerate().map(|(which, memory)| {
        let node = odd_store(memory.clone());
        node.execute_late(late);
        (format!("node {which}"), Arc::new(node) as Arc<dyn QuorumNode>)
    });
    let quorum = QuorumStore::with_clock(named, QuorumOptions::default(), clock.clone()).unwrap();
    let asked = exclusive();
    let refused = quorum.acquire(&asked).await.unwrap_err();
    assert!(matches!(refused, StoreError::NoQuorum { .. }), "{refused}");
    tokio::time::sleep(late + Duration::from_millis(10)).await;
    assert!(memories[0].is_held(&asked.hold).await.unwrap(), "released before and executed after that");
    tokio::time::sleep(2 * late).await;
    for memory in &memories {
        assert!(!memory.is_held(&asked.hold).await.unwrap());
    }
}
