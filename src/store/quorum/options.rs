//! The settings of a quorum, with their checks.

use std::time::Duration;

use crate::core::{InvalidValue, in_range};

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The settings by which a [`QuorumStore`](crate::QuorumStore) uses its nodes.
///
/// # Default
/// 50 ms for the answer of a node, 1 s for its first answer, TTLs up to 24 h, no fresh start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumOptions {
    /// The timeout for the answer of a node while the other nodes have not decided yet; never longer than a twentieth of the TTL. A
    /// node that answers later is not lost: a hold that it granted is released. A node that has not answered for four times this
    /// timeout gets no further request until it answers or its call has failed. From 1 ms to 10 s. Default: 50 ms.
    pub node_timeout: Duration,
    /// The timeout for the first verb on a node, which has to connect, and for a renewal while its lease has plenty of
    /// time left; in place of `node_timeout`. Never longer than a quarter of the TTL or of the time left, and it ends
    /// once a majority has decided. Like `store.connect_timeout`: from 1 ms to 60 s. Default: 1 s.
    pub connect_timeout: Duration,
    /// The longest TTL that may be requested. A node that may have forgotten abstains for at least this time after its
    /// start, because leases that it has forgotten may be valid until then. Afterwards it counts once it was taught the
    /// largest fence. All clients that share locks must use the same value. From 50 ms to 365 days. Default: 24 h.
    pub max_ttl: Duration,
    /// True if nodes may count whatever their age: for the first start of a deployment, when there is nothing yet that
    /// they could have forgotten. It needs all nodes, as every first start does, and has no effect while any node counts.
    /// If all nodes forget at once, it has them grant resources that may still be held, so remove it afterwards. Nodes
    /// without fences vote with it in the first incarnation that is met. Default: false.
    pub fresh_start: bool,
}

impl Default for QuorumOptions {
    fn default() -> Self {
        Self {
            node_timeout: Duration::from_millis(50),
            connect_timeout: SECOND,
            max_ttl: DAY,
            fresh_start: false,
        }
    }
}

impl QuorumOptions {
    pub(super) fn check(&self) -> Result<(), InvalidValue> {
        let Self { node_timeout, connect_timeout, max_ttl, fresh_start: _ } = self;
        let millisecond = Duration::from_millis(1);
        in_range("store.node_timeout", *node_timeout, millisecond, 10 * SECOND)?;
        in_range("store.connect_timeout", *connect_timeout, millisecond, 60 * SECOND)?;
        in_range("limits.max_ttl", *max_ttl, 50 * millisecond, 365 * DAY)
    }

    /// Returns the timeouts for answers of nodes.
    pub(super) fn timeouts(&self) -> Timeouts {
        Timeouts { met: self.node_timeout, new: self.connect_timeout.max(self.node_timeout) }
    }

    /// Returns the timeouts for a request that concerns a lease of this TTL.
    pub(super) fn timeouts_for(&self, ttl: Duration) -> Timeouts {
        let met = self.node_timeout.min(ttl / 20).max(Duration::from_millis(1));
        Timeouts { met, new: self.connect_timeout.min(ttl / 4).max(met) }
    }

    /// Returns the timeouts for the renewal of a lease that has this time left. An attempt that gives up early would only
    /// be made again, while the lease is valid either way.
    pub(super) fn timeouts_with(&self, left: Duration) -> Timeouts {
        let met = self.connect_timeout.min(left / 4).max(Duration::from_millis(1));
        Timeouts { met, new: met }
    }
}

/// The timeouts for answers of nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    /// The timeout for nodes that have answered before, or failed.
    pub(super) met: Duration,
    /// The timeout for nodes that have yet to be connected.
    pub(super) new: Duration,
}

impl Timeouts {
    /// Returns the timeouts for a call about so many leases: a shutdown may release very many at once.
    pub(super) fn for_each_of(self, leases: usize) -> Self {
        let times = 1 + (leases / 256) as u32;
        Self { met: self.met * times, new: self.new * times }
    }

    /// Returns the timeouts for a second round after `spent`. Nodes that are connected by now have their whole timeout.
    pub(super) fn second_round(self, spent: Duration) -> Self {
        Self { met: self.met, new: self.new.saturating_sub(spent).max(self.met) }
    }

    /// Returns the timeouts that are left after `spent`: `new` is reduced by it, and `met` is capped at the rest.
    pub(super) fn left(self, spent: Duration) -> Self {
        let new = self.new.saturating_sub(spent);
        Self { met: self.met.min(new), new }
    }
}
