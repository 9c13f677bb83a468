//! The stores of a world whose managers each have a quorum of their own, of the same nodes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use leasehold::{
    MemoryStore, QuorumOptions, QuorumStore,
    env::{Clock, Moment},
    store::{QuorumNode, Store},
};
use rand::{RngExt, SeedableRng, rngs::StdRng, seq::IteratorRandom};
use tokio::time::sleep;

use super::{
    history::{History, What},
    network::{Network, millis},
    node::Link,
    witness::Witness,
};

/// Longer than every TTL with its lock delay.
const MAX_TTL: Duration = Duration::from_secs(16);
/// How often something goes wrong on the way to one node.
const RATES: [f64; 4] = [0.0, 0.02, 0.06, 0.12];

/// The nodes of a world, and all the ways to them.
pub(crate) struct Nodes {
    memories: Vec<MemoryStore>,
    /// The ms by which the wall clock of each node was stepped since its start.
    stepped: Vec<Arc<AtomicU64>>,
    history: Arc<History>,
    calm: Arc<AtomicBool>,
    clock: Arc<dyn Clock>,
    /// By node.
    networks: Vec<Vec<Network>>,
    links: Vec<Arc<dyn QuorumNode>>,
    rng: StdRng,
}

impl Nodes {
    /// Three nodes, or five, whose clocks are minutes apart.
    pub(crate) fn new(
        seed: u64,
        clock: &Arc<dyn Clock>,
        history: &Arc<History>,
        calm: &Arc<AtomicBool>,
    ) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let count = if rng.random_bool(0.5) { 3 } else { 5 };
        let memory = |_| {
            let ahead = millis(rng.random_range(0..600_000));
            MemoryStore::new(Arc::new(Ahead { clock: Arc::clone(clock), ahead }))
        };
        let memories: Vec<_> = (0..count).map(memory).collect();
        history.add(0, What::Nodes { count });
        Self {
            networks: vec![Vec::new(); count],
            memories,
            stepped: (0..count).map(|_| Arc::default()).collect(),
            history: Arc::clone(history),
            calm: Arc::clone(calm),
            clock: Arc::clone(clock),
            links: Vec::new(),
            rng,
        }
    }

    pub(crate) fn memories(&self) -> &[MemoryStore] {
        &self.memories
    }

    /// The ways of all managers to all nodes.
    pub(crate) fn links(&self) -> &[Arc<dyn QuorumNode>] {
        &self.links
    }

    /// A quorum of its own for one more manager.
    pub(crate) fn quorum(&mut self) -> Arc<dyn Store> {
        let mut named: Vec<(String, Arc<dyn QuorumNode>)> = Vec::new();
        for (node, memory) in self.memories.iter().enumerate() {
            let (history, calm) = (Arc::clone(&self.history), Arc::clone(&self.calm));
            let network = Network::new(history, calm, self.rng.random(), RATES).in_order();
            self.networks[node].push(network.clone());
            let link: Arc<dyn QuorumNode> =
                Arc::new(Link::new(node, memory.clone(), network, Arc::clone(&self.stepped[node])));
            self.links.push(Arc::clone(&link));
            named.push((format!("node {node}"), link));
        }
        let options = QuorumOptions { max_ttl: MAX_TTL, fresh_start: true, ..QuorumOptions::default() };
        let inner =
            QuorumStore::with_clock(named, options, Arc::clone(&self.clock)).expect("three or five nodes");
        Arc::new(Witness { inner, history: Arc::clone(&self.history) })
    }

    /// Cuts off, stops and restarts nodes, some with a clock that is stepped after their start, never more than a minority at a time, until it is calm.
    pub(crate) fn storms(&mut self) -> impl Future<Output = ()> + use<> {
        let (memories, networks) = (self.memories.clone(), self.networks.clone());
        let (history, calm) = (Arc::clone(&self.history), Arc::clone(&self.calm));
        let stepped = self.stepped.clone();
        let seed = self.rng.random();
        let mut rng = StdRng::seed_from_u64(seed);
        // Draws of its own, so that all else happens as it would without them.
        let mut clocks = StdRng::seed_from_u64(!seed);
        let minority = (memories.len() - 1) / 2;
        let mut restarted: Vec<Option<Duration>> = vec![None; memories.len()];
        async move {
            loop {
                sleep(millis(rng.random_range(50..2_500))).await;
                let calm = calm.load(Ordering::Relaxed);
                if !calm {
                    let (many, lasts) =
                        (rng.random_range(1..=minority), millis(rng.random_range(100..2_500)));
                    for ways in networks.iter().sample(&mut rng, many) {
                        befall(ways, history.now() + lasts, &mut rng);
                    }
                    sleep(lasts).await;
                }
                // Those that were away have missed what others may forget now.
                let silent = silent(&memories, &restarted, history.now()).await;
                let forgets: Vec<(usize, u64)> = match calm {
                    // As many as may be silent at a time, so that all others have to agree for a while.
                    true if clocks.random_bool(0.5) => {
                        let others = (0..memories.len()).filter(|node| !silent.contains(node));
                        others.take(minority.saturating_sub(silent.len())).map(|node| (node, 0)).collect()
                    }
                    false if silent.len() < minority && rng.random_bool(0.6) => {
                        // A machine that booted with a clock that was behind, which is then corrected, or with one that is right.
                        let step =
                            if clocks.random_bool(0.5) { clocks.random_range(1..7_200_000) } else { 0 };
                        vec![(rng.random_range(0..memories.len()), step)]
                    }
                    _ => Vec::new(),
                };
                for (node, step) in forgets {
                    memories[node].restart();
                    stepped[node].store(step, Ordering::Relaxed);
                    restarted[node] = Some(history.now());
                    history.add(0, What::Forgot { node });
                }
                if calm {
                    return;
                }
            }
        }
    }
}

/// Returns the nodes that may have no vote: they began less than the longest TTL ago, or have no record of their recovery.
async fn silent(memories: &[MemoryStore], restarted: &[Option<Duration>], now: Duration) -> Vec<usize> {
    let mut silent = Vec::new();
    for (node, (memory, restarted)) in memories.iter().zip(restarted).enumerate() {
        let recovered = memory.report().await.is_ok_and(|report| report.recovered.is_some());
        if !recovered || restarted.is_some_and(|then| then + MAX_TTL.mul_f64(1.1) > now) {
            silent.push(node);
        }
    }
    silent
}

/// A node that hangs, or that some managers or all are cut off from.
fn befall(ways: &[Network], until: Duration, rng: &mut StdRng) {
    let (hangs, all) = (rng.random_bool(0.5), rng.random_bool(0.6));
    for way in ways {
        match hangs {
            true => way.stall(until),
            false if all || rng.random_bool(0.5) => way.cut(until),
            false => {}
        }
    }
}

/// A clock that runs at the rate of another one.
#[derive(Debug)]
struct Ahead {
    clock: Arc<dyn Clock>,
    ahead: Duration,
}

impl Clock for Ahead {
    fn now(&self) -> Moment {
        self.clock.now() + self.ahead
    }
}
