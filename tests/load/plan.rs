//! What the callers of a process do.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What the callers of a process do.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The configuration of the managers, as in `config.toml`.
    pub(crate) config: String,
    /// Whether each call of the store is delivered twice.
    pub(crate) repeated: bool,
    /// How many managers the callers of a process share.
    pub(crate) managers: usize,
    /// How many callers a process has.
    pub(crate) callers: usize,
    /// How many of the callers keep what they get, for up to twice the longest TTL.
    pub(crate) keepers: usize,
    /// The kinds of the resources, in turn: what is mixed on one resource must have one capacity.
    pub(crate) kinds: Vec<Kind>,
    /// How many resources there are.
    pub(crate) resources: usize,
    /// How many of them, the last ones, are for keepers alone.
    pub(crate) kept: usize,
    /// The shortest and the longest TTL.
    pub(crate) ttl: (Duration, Duration),
    /// The longest pause between two turns of a caller.
    pub(crate) pause: Duration,
    /// How many of the leases that are not for keepers are held for twice the longest TTL all the same.
    pub(crate) long: f64,
    /// How many leases are never renewed.
    pub(crate) not_renewed: f64,
}

/// How a resource is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    Exclusive,
    ReadWrite,
    Permits,
    ReEntrant,
}

impl Plan {
    /// The kind of a resource.
    pub(crate) fn kind(&self, resource: usize) -> Kind {
        self.kinds[resource % self.kinds.len()]
    }

    /// The number of the first resource that is for keepers alone.
    pub(crate) const fn first_kept(&self) -> usize {
        self.resources - self.kept
    }

    /// The longest TTL, after which whatever the callers left has ended.
    pub(crate) const fn longest_ttl(&self) -> Duration {
        self.ttl.1
    }
}
