//! How a quorum uses its nodes: its settings, checked.

use std::time::Duration;

use crate::protocol::{Invalid, exact};

/// How a [`QuorumStore`](super::QuorumStore) uses its nodes.
///
/// # Default
/// 50 ms for the answer of a node, 1 s for its first one, TTLs up to 24 h, no fresh start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumOptions {
    /// How long a node is waited for when the others have not decided yet; never longer than a twentieth of the TTL. A
    /// node that answers later is not lost: what it granted is given back. One that has not answered for four times as long
    /// is asked for nothing more until it does, or its call has failed. From 1 ms to 10 s. Default: 50 ms.
    pub node_timeout: Duration,
    /// How long a node is waited for instead, at most, by its first verb, which has to connect; also by a renewal while its
    /// lease has plenty of time left. Never longer than a quarter of the TTL, or of what is left, and never once a majority
    /// has decided. As `store.connect_timeout`: from 1 ms to 60 s. Default: 1 s.
    pub connect_timeout: Duration,
    /// The longest TTL that may be asked for. A node that may have forgotten abstains at least for this long after it was
    /// started: until then leases may be valid that it has forgotten. Afterwards it counts once it was taught the largest
    /// fence. All who share locks must name the same. From 50 ms to 365 days. Default: 24 h.
    pub max_ttl: Duration,
    /// Whether nodes may count however young they are: for the first start of a deployment, when there is nothing yet that
    /// they could have forgotten. It needs all nodes, as every first start does, and means nothing while any of them counts;
    /// but if all forget at once it has them grant what may still be held, so remove it afterwards. Nodes without fences vote
    /// with it in the incarnation in which they are met first. Default: no.
    pub fresh_start: bool,
}

impl Default for QuorumOptions {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Self {
            node_timeout: Duration::from_millis(50),
            connect_timeout: Duration::from_secs(1),
            max_ttl: DAY,
            fresh_start: false,
        }
    }
}

impl QuorumOptions {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let Self { node_timeout, connect_timeout, max_ttl, fresh_start: _ } = self;
        let millisecond = Duration::from_millis(1);
        let bounds = [
            ("store.node_timeout", node_timeout, millisecond, Duration::from_secs(10)),
            ("store.connect_timeout", connect_timeout, millisecond, Duration::from_secs(60)),
            ("limits.max_ttl", max_ttl, Duration::from_millis(50), Duration::from_secs(365 * 24 * 60 * 60)),
        ];
        for (field, value, least, most) in bounds {
            if !(least..=most).contains(value) {
                return Err(Invalid::new(
                    field,
                    exact(*value),
                    format!("{} to {}", exact(least), exact(most)),
                ));
            }
        }
        Ok(())
    }

    /// After how long without an answer a node is not asked for more, if it has been met.
    pub(super) fn silence(&self) -> Duration {
        4 * self.node_timeout
    }

    /// How long nodes are waited for.
    pub(super) fn patience(&self) -> Patience {
        Patience { met: self.node_timeout, new: self.connect_timeout.max(self.node_timeout) }
    }

    /// How long nodes are waited for when a lease of this TTL is at stake.
    pub(super) fn patience_for(&self, ttl: Duration) -> Patience {
        let met = self.node_timeout.min(ttl / 20).max(Duration::from_millis(1));
        Patience { met, new: self.connect_timeout.min(ttl / 4).max(met) }
    }

    /// How long nodes are waited for when a lease is renewed that has so much left: an attempt that gives up early is
    /// only made again, while the lease is valid either way.
    pub(super) fn patience_with(&self, left: Duration) -> Patience {
        let met = self.connect_timeout.min(left / 4).max(Duration::from_millis(1));
        Patience { met, new: met }
    }
}

/// How long is waited for nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For those that have answered before, or failed.
    pub(super) met: Duration,
    /// For those that have yet to be connected.
    pub(super) new: Duration,
}

impl Patience {
    /// As much of it as is left after some of it was spent: at least the usual while the longest is not over.
    pub(super) fn left(self, spent: Duration) -> Self {
        let new = self.new.saturating_sub(spent);
        Self { met: self.met.min(new), new }
    }
}
