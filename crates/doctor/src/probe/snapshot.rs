//! The snapshot of a deployment, as plain values.

use std::{collections::BTreeMap, time::Duration};

use leasehold::{StoreError, probe, rules::Recovered};

/// Names and values, as servers tell them.
pub(super) type InfoTable = BTreeMap<String, String>;

/// An answer, or the reason why the server did not give it.
pub type ServerAnswer<T> = Result<T, String>;

/// The snapshot of a deployment.
#[derive(Debug)]
pub struct Snapshot {
    /// The servers; the master before its replicas if sentinels name it.
    pub servers: Vec<ProbedServer>,
    /// The source that named them.
    pub directory: Directory,
}

/// The source that says which servers there are.
#[derive(Debug)]
pub enum Directory {
    /// The URL itself.
    None,
    /// Sentinels.
    Sentinels(Vec<SentinelSnapshot>),
    /// The slots of a cluster that are served, or the reason why nobody tells.
    Cluster(Result<Vec<Range>, StoreError>),
}

/// One server that holds keys.
#[derive(Debug)]
pub struct ProbedServer {
    /// The address, without user and password.
    pub address: String,
    /// True if it is known as a replica, and not asked for locks now.
    pub is_replica: bool,
    /// What it said, or why it did not.
    pub info: Result<ServerInfo, StoreError>,
}

/// The information that a server gave of itself.
#[derive(Debug)]
pub struct ServerInfo {
    /// The shortest of a few round trips.
    pub round_trip: Duration,
    /// Its clock.
    pub clock: ServerAnswer<Reading>,
    /// `INFO`.
    pub info: ServerAnswer<InfoTable>,
    /// The settings that matter for locks, of `CONFIG GET`.
    pub config: ServerAnswer<InfoTable>,
    /// `CLUSTER INFO` of a node of a cluster, else nothing.
    pub cluster: ServerAnswer<InfoTable>,
    /// The record of its recovery as a node of a quorum, if it has one.
    pub recovered: ServerAnswer<Option<Recovered>>,
    /// The rights that the user needs and does not have.
    pub lacks: Vec<MissingRight>,
}

/// One reading of the clock of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The time of the reading, counted from the beginning of the probe: the middle of the round trip.
    pub at: Duration,
    /// The time that it showed, since 1970.
    pub shown: Duration,
}

/// A right that the user does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingRight {
    /// The right as in an ACL rule: `+zadd`, `~leasehold:*`, `&leasehold:inbox:*`.
    pub right: String,
    /// True if the server has no such command at all, for anybody.
    pub unknown: bool,
    /// What it is needed for.
    pub purpose: Purpose,
}

/// The purpose of a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Acquiring, renewing and releasing.
    Locks,
    /// Telling waiters that it is their turn.
    HandOvers,
    /// Values that another program has made long are not read whole.
    LongValues,
    /// Taking free locks without scripts.
    PlainCommands,
    /// Listing resources.
    Lists,
}

/// One sentinel.
#[derive(Debug)]
pub struct SentinelSnapshot {
    /// The address, without user and password.
    pub address: String,
    /// Its opinion of the service; `None` if it does not know the service.
    pub said: Result<Option<SentinelOpinion>, StoreError>,
}

/// A sentinel's opinion of a service.
#[derive(Clone, Debug)]
pub struct SentinelOpinion {
    /// The address of the master.
    pub master: String,
    /// The epoch of the latest failover. Of two opinions the one of the later failover counts.
    pub epoch: u64,
    /// The number of other sentinels that it knows.
    pub others: usize,
    /// The number of replicas that it knows.
    pub replicas: u64,
    /// `Ok` if it told where the replicas are; else its words.
    pub listed: ServerAnswer<()>,
    /// The time without an answer after which it takes the master for dead.
    pub down_after: Duration,
    /// `Ok` if enough sentinels could agree on a failover now; else its words.
    pub could_fail_over: ServerAnswer<()>,
}

/// Slots that one master serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first slot.
    pub first: u16,
    /// The last slot.
    pub last: u16,
    /// The index of the master among the servers.
    pub master: usize,
    /// The number of its replicas.
    pub replicas: usize,
}

impl ServerInfo {
    /// Returns a number in `INFO`.
    pub fn number(&self, name: &str) -> Option<u64> {
        probe::number(self.info.as_ref().ok()?, name)
    }

    /// Returns a value in `INFO`.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.info.as_ref().ok()?.get(name).map(String::as_str)
    }

    /// Returns the time since the start of the server, never overstated.
    pub fn age(&self) -> Option<Duration> {
        probe::age(self.info.as_ref().ok()?)
    }

    /// Returns true if the server forgets nothing that it acknowledged unless its disk is lost.
    pub fn is_durable(&self) -> bool {
        self.info.as_ref().is_ok_and(probe::is_append_only)
            && self.config.as_ref().is_ok_and(probe::syncs_always)
    }

    /// Returns a setting.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.config.as_ref().ok()?.get(name).map(String::as_str)
    }
}
