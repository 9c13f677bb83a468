//! The fences of a quorum: the clock that proposes one to all nodes, so that none has to be raised, and those that holds have.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::core::{Fence, Moment};

/// The lead of proposals over the known clocks of the nodes: about the variation in the transit time of requests. It does
/// not accumulate, because proposals follow the clocks and not the fences.
const LEAD: Duration = Duration::from_millis(5);

/// The known clocks and fences of the nodes.
#[derive(Debug, Default)]
pub(super) struct FenceClock {
    /// The reading of the fastest clock when it executed a request, less the time at which that request was sent, in µs.
    /// `None` until a node has reported its clock.
    ahead: Option<i64>,
    /// The same, but of the requests that arrived soonest.
    ahead_at_least: Option<i64>,
    /// The largest fence that was seen or proposed.
    largest: u64,
}

impl FenceClock {
    /// Returns the fence for the first of `count` requests that are sent now; zero if no clock is known.
    pub(super) fn propose(&mut self, count: usize, now: Moment) -> Fence {
        let Some(ahead) = self.ahead else { return Fence::new(0) };
        let first = ((now + LEAD).micros().saturating_add_signed(ahead)).max(self.largest.saturating_add(1));
        self.largest = first.saturating_add(count as u64 - 1);
        Fence::new(first)
    }

    /// Returns the place in the queues of a request that is sent now: about the time in µs. Those of two clients compare as
    /// the times at which they were sent, as far as both know the fastest clock. `None` if no clock is known.
    pub(super) fn place(&self, now: Moment) -> Option<u64> {
        Some(now.micros().saturating_add_signed(self.ahead_at_least?))
    }

    /// Records that nodes gave out fences up to this one.
    pub(super) fn seen(&mut self, fence: Fence) {
        self.largest = self.largest.max(fence.get());
    }

    /// Records the reading of the fastest clock when it executed a request that was sent at `sent`. A request that took
    /// long takes effect at once, and its effect fades slowly.
    pub(super) fn follow(&mut self, clock: Fence, sent: Moment) {
        const SLOWLY: i64 = 256;
        const SOON: i64 = 16;
        let now = ahead(clock, sent);
        let least = self.ahead_at_least.unwrap_or(now);
        // The fastest clock may have been out of reach, so it rises soon.
        self.ahead_at_least = Some(now.min(least + now.saturating_sub(least) / SOON));
        let before = self.ahead.unwrap_or(now);
        self.ahead = Some(now.max(before - before.saturating_sub(now) / SLOWLY));
    }

    /// Records that a clock read this before now.
    pub(super) fn at_least(&mut self, clock: Fence, now: Moment) {
        self.ahead = self.ahead.max(Some(ahead(clock, now)));
    }
}

fn ahead(clock: Fence, of: Moment) -> i64 {
    i64::try_from(clock.get()).unwrap_or(i64::MAX).saturating_sub_unsigned(of.micros())
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::made_up::at_millis as at;

    #[test]
    fn proposals_follow_the_clocks_at_the_pace_of_time_and_never_repeat_a_number() {
        let mut fence_clock = FenceClock::default();
        assert_eq!(fence_clock.propose(1, at(1_000)), Fence::new(0));
        fence_clock.follow(Fence::new(9_000_000), at(1_000));
        assert_eq!(fence_clock.propose(3, at(1_010)), Fence::new(9_015_000));
        assert_eq!(fence_clock.propose(1, at(1_010)), Fence::new(9_015_003));
        fence_clock.seen(Fence::new(9_900_000));
        assert_eq!(fence_clock.propose(1, at(1_010)), Fence::new(9_900_001));
        assert_eq!(fence_clock.propose(1, at(2_000)), Fence::new(10_005_000));
    }

    #[test]
    fn a_request_that_took_long_is_forgotten_slowly() {
        let mut fence_clock = FenceClock::default();
        fence_clock.follow(Fence::new(1_000_000), at(1_000));
        // The request took 30 ms to arrive.
        fence_clock.follow(Fence::new(1_130_000), at(1_100));
        assert_eq!(fence_clock.propose(1, at(1_200)), Fence::new(1_235_000));
        for turn in 2..4_000 {
            fence_clock.follow(Fence::new(turn * 100_000 + 1_000_000), at(turn * 100 + 1_000));
        }
        let proposed = fence_clock.propose(1, at(401_000)).get();
        assert!((401_005_000..401_005_300).contains(&proposed), "{proposed}");
    }
}
