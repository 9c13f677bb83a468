//! The snapshot of a deployment, as plain values.

use std::time::Duration;

use crate::{
    core::Recovered,
    store::{
        StoreError,
        redis::net::info::{self, InfoTable},
    },
};

/// An answer, or the reason why the server did not give it.
pub(crate) type ServerAnswer<T> = Result<T, String>;

#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) servers: Vec<ProbedServer>,
    pub(crate) directory: Directory,
}

/// The source that says which servers there are.
#[derive(Debug)]
pub(crate) enum Directory {
    /// The URL itself.
    None,
    Sentinels(Vec<SentinelSnapshot>),
    /// The slots that are served, or the reason why nobody tells.
    Cluster(Result<Vec<Range>, StoreError>),
}

/// One server that holds keys.
#[derive(Debug)]
pub(crate) struct ProbedServer {
    pub(crate) address: String,
    /// True if it is known as a replica, and not asked for locks now.
    pub(crate) is_replica: bool,
    pub(crate) info: Result<ServerInfo, StoreError>,
}

/// The information that a server gave of itself.
#[derive(Debug)]
pub(crate) struct ServerInfo {
    /// The shortest of a few round trips.
    pub(crate) round_trip: Duration,
    pub(crate) clock: ServerAnswer<Reading>,
    pub(crate) info: ServerAnswer<InfoTable>,
    pub(crate) config: ServerAnswer<InfoTable>,
    /// `CLUSTER INFO` of a node of a cluster, else nothing.
    pub(crate) cluster: ServerAnswer<InfoTable>,
    /// The record of its recovery as a node of a quorum, if it has one.
    pub(crate) recovered: ServerAnswer<Option<Recovered>>,
    /// The rights that the user needs and does not have.
    pub(crate) lacks: Vec<MissingRight>,
}

/// One reading of the clock of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The time of the reading, counted from the beginning of the probe: the middle of the round trip.
    pub(crate) at: Duration,
    /// The time that it showed, since 1970.
    pub(crate) shown: Duration,
}

/// A right that the user does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingRight {
    /// The right as in an ACL rule: `+zadd`, `~leasehold:*`, `&leasehold:inbox:*`.
    pub(crate) right: String,
    /// True if the server has no such command at all, for anybody.
    pub(crate) unknown: bool,
    pub(crate) purpose: Purpose,
}

/// The purpose of a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    Locks,
    HandOvers,
    /// Values that another program has made long are not read whole.
    LongValues,
    Lists,
}

#[derive(Debug)]
pub(crate) struct SentinelSnapshot {
    pub(crate) address: String,
    /// Its opinion of the service; `None` if it does not know the service.
    pub(crate) said: Result<Option<SentinelOpinion>, StoreError>,
}

/// A sentinel's opinion of a service.
#[derive(Clone, Debug)]
pub(crate) struct SentinelOpinion {
    pub(crate) master: String,
    /// The epoch of the latest failover. Of two opinions the one of the later failover counts.
    pub(crate) epoch: u64,
    pub(crate) others: usize,
    /// The number of replicas that it knows.
    pub(crate) replicas: u64,
    /// `Ok` if it told where the replicas are; else its words.
    pub(crate) listed: ServerAnswer<()>,
    /// The time without an answer after which it takes the master for dead.
    pub(crate) down_after: Duration,
    /// `Ok` if enough sentinels could agree on a failover now; else its words.
    pub(crate) could_fail_over: ServerAnswer<()>,
}

/// Slots that one master serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) first: u16,
    pub(crate) last: u16,
    /// The index of the master among the servers.
    pub(crate) master: usize,
    pub(crate) replicas: usize,
}

impl ServerInfo {
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        info::number(self.info.as_ref().ok()?, name)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.info.as_ref().ok()?.get(name).map(String::as_str)
    }

    /// Returns the time since the start of the server, never overstated.
    pub(crate) fn age(&self) -> Option<Duration> {
        info::age(self.info.as_ref().ok()?)
    }

    /// Returns true if the server forgets nothing that it acknowledged unless its disk is lost.
    pub(crate) fn is_durable(&self) -> bool {
        self.info.as_ref().is_ok_and(info::is_append_only)
            && self.config.as_ref().is_ok_and(info::syncs_always)
    }

    pub(crate) fn setting(&self, name: &str) -> Option<&str> {
        self.config.as_ref().ok()?.get(name).map(String::as_str)
    }
}
