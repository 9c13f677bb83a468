//! The fence that a hold was given, and the larger ones by which some nodes know it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::core::Fence;

/// The fence that was given to a hold and to all that repeat or re-enter it.
#[derive(Debug)]
pub(super) struct GivenFence {
    fence: Fence,
    /// The nodes that gave a larger one and did not count, or counted later. Nothing lowers it there.
    larger: Mutex<Vec<(usize, Fence)>>,
}

impl GivenFence {
    /// Creates a fence that was just given out, or returns the expected one if it is the same.
    pub(super) fn new(fence: Fence, expected: Option<&Arc<Self>>) -> Arc<Self> {
        match expected.filter(|expected| expected.fence == fence) {
            Some(expected) => Arc::clone(expected),
            None => Arc::new(Self { fence, larger: Mutex::default() }),
        }
    }

    pub(super) fn get(&self) -> Fence {
        self.fence
    }

    /// Notes what a node gave to a hold that has this fence.
    pub(super) fn said(&self, node: usize, said: Fence) {
        if said > self.fence {
            let mut larger = self.larger();
            larger.retain(|(other, _)| *other != node);
            larger.push((node, said));
        }
    }

    /// Returns the fence for which that of a node stands. A node never gives one fence to two holds that do not enter one
    /// another, so the one that it gave before proves that nobody else has held there since. It does not prove it for the
    /// time before: a forced release that reached only some nodes may have let somebody in until then.
    pub(super) fn meant(&self, node: usize, said: Fence) -> Fence {
        if self.larger().contains(&(node, said)) { self.fence } else { said }
    }

    fn larger(&self) -> MutexGuard<'_, Vec<(usize, Fence)>> {
        // No code panics while it holds this lock.
        self.larger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
