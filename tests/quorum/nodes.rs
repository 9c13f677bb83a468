//! A quorum of memory stores in virtual time, and what is asked of it.

use std::{sync::Arc, time::Duration};

use leasehold::{
    Fence, MemoryStore, Mode, QuorumOptions, QuorumStore, ResourceName, StoreError,
    env::{Random, RuntimeClock, SystemRandom},
    rules::AHEAD_AT_MOST,
    store::{Acquired, Acquisition, Hold, QuorumNode, Store, Walk},
};

pub(crate) const TTL: Duration = Duration::from_secs(10);

pub(crate) struct Quorum {
    pub(crate) nodes: Vec<MemoryStore>,
    pub(crate) store: QuorumStore,
    clock: Arc<RuntimeClock>,
}

impl Quorum {
    /// Five nodes that have been up for long.
    pub(crate) async fn of_five() -> Self {
        let clock = Arc::new(RuntimeClock::start());
        let nodes: Vec<_> = (0..5).map(|_| MemoryStore::new(clock.clone())).collect();
        tokio::time::sleep(2 * TTL).await;
        let first = QuorumOptions { max_ttl: TTL, fresh_start: true, ..QuorumOptions::default() };
        begin(&quorum_of(&nodes, &clock, first)).await;
        // What they were taught is ahead of their clocks.
        tokio::time::sleep(2 * AHEAD_AT_MOST).await;
        let store = quorum_of(&nodes, &clock, QuorumOptions { max_ttl: TTL, ..QuorumOptions::default() });
        Self { nodes, store, clock }
    }

    /// The same after each node has answered once, so that none is waited for until it is connected.
    pub(crate) async fn of_five_met() -> Self {
        let quorum = Self::of_five().await;
        assert!(quorum.store.list(&Walk::new(b"", 1)).await.unwrap().complete);
        quorum
    }

    /// Another client of the same nodes.
    pub(crate) fn another(&self) -> QuorumStore {
        self.another_with(QuorumOptions { max_ttl: TTL, ..QuorumOptions::default() })
    }

    pub(crate) fn another_with(&self, options: QuorumOptions) -> QuorumStore {
        quorum_of(&self.nodes, &self.clock, options)
    }

    /// Another client, of these nodes.
    pub(crate) fn client_of(&self, nodes: impl Iterator<Item = Arc<dyn QuorumNode>>) -> QuorumStore {
        let named = nodes.enumerate().map(|(which, node)| (format!("node {which}"), node));
        let options = QuorumOptions { max_ttl: TTL, ..QuorumOptions::default() };
        QuorumStore::with_clock(named, options, self.clock.clone()).unwrap()
    }

    /// On which nodes the token holds, counted from 0.
    pub(crate) async fn holders(&self, hold: &Hold) -> Vec<usize> {
        let mut holders = Vec::new();
        for (which, node) in self.nodes.iter().enumerate() {
            if node.is_held(hold).await.unwrap() {
                holders.push(which);
            }
        }
        holders
    }

    /// Waits until exactly these nodes hold it.
    pub(crate) async fn until_held_by(&self, hold: &Hold, nodes: &[usize]) {
        for _ in 0..2_000 {
            if self.holders(hold).await == nodes {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("held by {:?} and not by {nodes:?}", self.holders(hold).await);
    }
}

/// The first acquisition of a deployment, for which all nodes must answer.
pub(crate) async fn begin(store: &QuorumStore) {
    let mut first = exclusive();
    (first.hold.resource, first.ttl) = (ResourceName::new("first").unwrap(), Duration::from_secs(1));
    let _fence = granted(store, &first).await;
    let _released = store.release(&first.hold, Duration::ZERO).await.unwrap();
    // The others have answered too.
    tokio::time::sleep(Duration::from_millis(10)).await;
}

fn quorum_of(nodes: &[MemoryStore], clock: &Arc<RuntimeClock>, options: QuorumOptions) -> QuorumStore {
    let named = nodes.iter().enumerate().map(|(which, node)| {
        let store: Arc<dyn QuorumNode> = Arc::new(node.clone());
        (format!("node {which}"), store)
    });
    QuorumStore::with_clock(named, options, clock.clone()).unwrap()
}

pub(crate) fn ask(mode: Mode) -> Acquisition {
    let hold = Hold { resource: ResourceName::new("r").unwrap(), token: SystemRandom.token(), owner: None };
    let metadata = Arc::default();
    Acquisition { hold, mode, reentrant: false, ttl: TTL, lock_delay: Duration::ZERO, metadata, ticket: None }
}

pub(crate) fn exclusive() -> Acquisition {
    ask(Mode::Exclusive)
}

pub(crate) async fn granted(store: &impl Store, asked: &Acquisition) -> Fence {
    match store.acquire(asked).await {
        Ok(Acquired::Granted(grant)) => grant.fence.unwrap(),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn refused(store: &impl Store, asked: &Acquisition) {
    match store.acquire(asked).await {
        Ok(Acquired::Refused(_)) => {}
        other => panic!("{other:?}"),
    }
}

/// The nodes without a say that the error names, with what it says of all of them.
pub(crate) async fn short_of(store: &impl Store, asked: &Acquisition) -> (Vec<String>, StoreError) {
    match store.acquire(asked).await {
        Err(error @ StoreError::NoQuorum { .. }) => {
            let StoreError::NoQuorum { failures, .. } = &error else { unreachable!() };
            (failures.iter().map(|failure| failure.node.clone()).collect(), error)
        }
        other => panic!("{other:?}"),
    }
}
