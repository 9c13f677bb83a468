//! Where the locks of a world live: in one store, or on the nodes of a quorum.

use std::{
    slice,
    sync::{Arc, atomic::AtomicBool},
};

use leasehold::{
    MemoryStore,
    env::Clock,
    store::{Store, Walk},
};

use super::{
    Kind, RESOURCES,
    history::{History, What},
    network::Network,
    quorum::Nodes,
    resource,
    store::FaultyStore,
};

/// How often something goes wrong on the way to the one store.
const RATES: [f64; 4] = [0.02, 0.08, 0.16, 0.3];

/// What the managers of a world are started on.
pub(crate) enum Stores {
    One { memory: MemoryStore, faulty: Arc<dyn Store> },
    Quorum(Box<Nodes>),
}

impl Stores {
    /// Stores with faults until it is `calm`. The one store is told how often in a row its managers pass a resource on.
    pub(crate) fn new(
        (kind, seed, limit): (Kind, u64, u32),
        clock: &Arc<dyn Clock>,
        history: &Arc<History>,
        calm: &Arc<AtomicBool>,
    ) -> Self {
        match kind {
            Kind::OneStore => {
                let memory = MemoryStore::new(Arc::clone(clock));
                let network = Network::new(Arc::clone(history), Arc::clone(calm), seed, RATES);
                let faulty = Arc::new(FaultyStore::new(memory.clone(), network, limit));
                Self::One { memory, faulty }
            }
            Kind::Quorum => Self::Quorum(Box::new(Nodes::new(seed, clock, history, calm))),
        }
    }

    /// For one more manager.
    pub(crate) fn of_a_manager(&mut self) -> Arc<dyn Store> {
        match self {
            Self::One { faulty, .. } => Arc::clone(faulty),
            Self::Quorum(nodes) => nodes.quorum(),
        }
    }

    fn memories(&self) -> &[MemoryStore] {
        match self {
            Self::One { memory, .. } => slice::from_ref(memory),
            Self::Quorum(nodes) => nodes.memories(),
        }
    }

    /// Nobody stands in a queue, though no ticket may have expired yet.
    pub(crate) async fn nobody_waits(&self, history: &History) {
        for memory in self.memories() {
            for number in 0..RESOURCES {
                match memory.inspect(&resource(number), 1).await {
                    Ok(inspection) if inspection.waiting == 0 => {}
                    other => wrong(history, "P14", format!("somebody waits at the end: {other:?}")),
                }
            }
        }
    }

    /// No key, and no task that still has the store.
    pub(crate) async fn nothing_is_left(&self, history: &History) {
        for memory in self.memories() {
            match memory.list(&Walk::new(b"", 100)).await {
                Ok(listing) if listing.resources.is_empty() => {}
                other => wrong(history, "P13", format!("still there: {other:?}")),
            }
        }
        let users: usize = match self {
            Self::One { faulty, .. } => Arc::strong_count(faulty) - 1,
            Self::Quorum(nodes) => nodes.links().iter().map(|link| Arc::strong_count(link) - 1).sum(),
        };
        if users > 0 {
            wrong(history, "P14", format!("{users} tasks or actors are still there"));
        }
    }
}

/// Writes down what is wrong with the world as a whole.
pub(crate) fn wrong(history: &History, property: &'static str, details: String) {
    history.add(0, What::Wrong { property, details });
}
