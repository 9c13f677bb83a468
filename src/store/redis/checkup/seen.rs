//! What was seen, as plain values.

use std::{collections::BTreeMap, time::Duration};

use crate::{protocol::Recovered, store::StoreError};

/// Names and values, as `INFO` and `CONFIG GET` tell them.
pub(crate) type Table = BTreeMap<String, String>;

/// An answer, or why the server did not give it.
pub(crate) type Answer<T> = Result<T, String>;

/// What was seen of a deployment.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) servers: Vec<Server>,
    pub(crate) directory: Directory,
}

/// What says which servers there are.
#[derive(Debug)]
pub(crate) enum Directory {
    /// The URL itself.
    None,
    Sentinels(Vec<SentinelSeen>),
    Cluster(ClusterSeen),
}

/// One server that holds keys.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: String,
    /// Whether it is known as a replica, and not asked for locks today.
    pub(crate) is_replica: bool,
    pub(crate) facts: Result<Facts, StoreError>,
}

/// What a server said of itself.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The shortest of a few.
    pub(crate) round_trip: Duration,
    pub(crate) clock: Answer<Reading>,
    pub(crate) info: Answer<Table>,
    pub(crate) config: Answer<Table>,
    /// `CLUSTER INFO` of a node of a cluster, else nothing.
    pub(crate) cluster: Answer<Table>,
    /// What it has written down as a node of a quorum, if anything.
    pub(crate) recovered: Answer<Option<Recovered>>,
    /// What the user may not do, and would have to.
    pub(crate) lacks: Vec<Lack>,
}

/// One look at the clock of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// When it was looked at, after the examination began: the middle of the round trip.
    pub(crate) at: Duration,
    /// What it showed, since 1970.
    pub(crate) shown: Duration,
}

/// Something that the user may not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lack {
    /// As in an ACL rule: `+zadd`, `~leasehold:*`, `&leasehold:inbox:*`.
    pub(crate) right: String,
    /// Whether the server has no such command at all, for anybody.
    pub(crate) unknown: bool,
    pub(crate) purpose: Purpose,
}

/// What a right is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    Locks,
    HandOvers,
    Lists,
}

/// One sentinel.
#[derive(Debug)]
pub(crate) struct SentinelSeen {
    pub(crate) address: String,
    /// What it says of the service; `None` if it does not know it.
    pub(crate) said: Result<Option<Opinion>, StoreError>,
}

/// What a sentinel says of a service.
#[derive(Clone, Debug)]
pub(crate) struct Opinion {
    pub(crate) master: String,
    /// Of two opinions the one of the later failover counts.
    pub(crate) epoch: u64,
    /// How many other sentinels it knows.
    pub(crate) others: usize,
    /// How many replicas it knows.
    pub(crate) replicas: u64,
    /// Whether it told where they are; else its words.
    pub(crate) listed: Answer<()>,
    /// After how long without an answer it takes the master for dead.
    pub(crate) down_after: Duration,
    /// Whether enough sentinels could agree on a failover now; else its words.
    pub(crate) could_fail_over: Answer<()>,
}

/// What a cluster says of its slots.
#[derive(Debug)]
pub(crate) struct ClusterSeen {
    /// The slots that are served, or why nobody tells.
    pub(crate) ranges: Result<Vec<Range>, StoreError>,
}

/// Slots that one master serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) first: u16,
    pub(crate) last: u16,
    /// Its place among the servers.
    pub(crate) master: usize,
    pub(crate) replicas: usize,
}

impl Facts {
    /// A number in `INFO`.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// A value in `INFO`.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.info.as_ref().ok()?.get(name).map(String::as_str)
    }

    /// A setting.
    pub(crate) fn setting(&self, name: &str) -> Option<&str> {
        self.config.as_ref().ok()?.get(name).map(String::as_str)
    }
}
