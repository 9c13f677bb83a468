//! The fence that a hold was given, and the larger ones by which some nodes know it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::core::Fence;

/// The fence that was given to a hold and to all that repeat or re-enter it.
#[derive(Debug)]
pub(super) struct GivenFence {
    fence: Fence,
    /// For each node the larger one that it gave, or zero. It did not count, or counted later; nothing lowers its fence.
    larger: Box<[AtomicU64]>,
}

impl GivenFence {
    /// Creates a fence that was just given out, or returns the expected one if it is the same.
    pub(super) fn new(fence: Fence, nodes: usize, expected: Option<&Arc<Self>>) -> Arc<Self> {
        match expected.filter(|expected| expected.fence == fence) {
            Some(expected) => Arc::clone(expected),
            None => Arc::new(Self { fence, larger: (0..nodes).map(|_| AtomicU64::default()).collect() }),
        }
    }

    pub(super) const fn get(&self) -> Fence {
        self.fence
    }

    /// Notes what a node gave to a hold that has this fence.
    pub(super) fn said(&self, node: usize, said: Fence) {
        if said > self.fence {
            self.larger[node].store(said.get(), Ordering::Relaxed);
        }
    }

    /// Returns the fence for which that of a node stands. A node never gives one fence to two holds that do not enter one
    /// another, so the one that it gave before proves that nobody else has held there since. It does not prove it for the
    /// time before: a forced release that reached only some nodes may have let somebody in until then.
    pub(super) fn meant(&self, node: usize, said: Fence) -> Fence {
        let is_the_same = said > self.fence && self.larger[node].load(Ordering::Relaxed) == said.get();
        if is_the_same { self.fence } else { said }
    }
}
