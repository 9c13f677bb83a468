//! The reports of a store: on the holders and waiters of a resource, on names, and on itself.

use std::{collections::BTreeMap, num::NonZeroU32, time::Duration};

use crate::core::{Fence, InvalidValue, Mode, Owner, ResourceName, TokenPrefix, ensure};

/// The metadata that a holder supplies: host, process id, purpose, trace id… `Inspect` shows it, and so does a refusal.
pub(crate) type Metadata = BTreeMap<String, String>;

/// Refuses metadata that is too long in all.
pub(crate) fn ensure_short<'a>(
    told: impl Iterator<Item = (&'a String, &'a String)>,
) -> Result<(), InvalidValue> {
    let bytes: usize = told.map(|(key, value)| key.len() + value.len()).sum();
    let allowed = "at most 1024 bytes, keys and values together";
    ensure(bytes <= 1024, "metadata", format_args!("{bytes} bytes"), allowed)
}

/// A holder of a resource, or one that keeps it closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The first digits of its token.
    pub token: TokenPrefix,
    /// The share of the resource that it takes.
    pub mode: Mode,
    /// The state of the holder: it holds the resource, or only keeps it closed.
    pub state: HolderState,
    /// The owner that may re-enter, if any.
    pub owner: Option<Owner>,
    /// Its fencing number. `None` where the store issues none, and where the holder alone knows it: the Redis store writes the
    /// fence of a free lock down with its first renewal.
    pub fence: Option<Fence>,
    /// The time until its end. For [`HolderState::Closed`], the time until the resource opens.
    pub remaining: Duration,
    /// The time since its grant, by the clock of the server that granted it. Holds of an owner that has re-entered share a
    /// fence, and with it the time since the first of them.
    ///
    /// `None` where the store does not know it: in a refusal, in the plain layout, on a quorum (whose fences come from several
    /// clocks), for [`HolderState::Closed`], and while the server's clock is more than a second behind the grant because it was
    /// set back.
    pub held_for: Option<Duration>,
    /// The metadata that the holder supplied. A record of more than 12,000 bytes, of another program, is told with `cut` and
    /// the reason in place of it.
    pub metadata: Metadata,
}

/// The state of a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderState {
    /// It holds.
    Holding,
    /// It no longer holds, but keeps the resource closed by its lock delay or by its minimum hold.
    Closed,
}

/// A waiter for a resource, in the queue of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiter {
    /// The first digits of its token.
    pub token: TokenPrefix,
    /// The share of the resource that it asks for.
    pub mode: Mode,
    /// The owner that it names, if any.
    pub owner: Option<Owner>,
    /// The time since it joined the queue, by the clock of the server. `None` where the store does not know it: on a quorum,
    /// and while that clock is more than a second behind the arrival because it was set back.
    pub waited: Option<Duration>,
    /// The metadata that the waiter supplied.
    pub metadata: Metadata,
}

/// The largest number of holders, and of waiters, that one inspection tells, so that the server is not kept busy by it.
pub const TOLD_AT_MOST: usize = 400;

/// The holders of a resource and its waiters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// The holders that end first, in the order of their end, at most as many as requested, and at most 400.
    pub holders: Vec<Holder>,
    /// The number of all holders.
    pub total: u64,
    /// The number of waiters in the queue.
    pub waiting: u64,
    /// The first waiters in the order of the queue, at most as many as requested, and at most 400. A manager queues one waiter
    /// for all of its requests that ask for the same resource exclusively.
    pub waiters: Vec<Waiter>,
    /// The number of permits that [`SetCapacity`](crate::SetCapacity) has set, if one is.
    pub capacity: Option<NonZeroU32>,
}

/// The names that a walk has found: of the resources that are not free, unless it was after others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The names, in order.
    pub resources: Vec<ResourceName>,
    /// True if these are all the names. False if the limit was reached, or the time for the walk was over.
    pub complete: bool,
    /// True if the walk ended too early: its time was over, or on a quorum it came upon too many names that no majority has
    /// and upon no other. Then names may be missing anywhere, also in front of the last of these, and a page that begins behind
    /// it would miss them.
    pub cut_short: bool,
    /// The number of keys that the walk looked at, on all servers, at most: about, because it counts steps of 1,000 keys.
    pub walked: u64,
}

/// A walk over the names of a store: the argument of [`Store::list`](crate::store::Store::list).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Walk {
    /// The kind of names that it is after.
    pub names: Names,
    /// The beginning of every name. An empty one matches all.
    pub prefix: Vec<u8>,
    /// The name behind which it begins, in the order of the bytes. If empty, it begins with the first.
    pub after: Vec<u8>,
    /// The largest number of names in the answer.
    pub limit: usize,
}

/// The kind of names that a walk is after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Names {
    /// The resources that are not free.
    Held,
    /// The resources that somebody waits for.
    WaitedFor,
    /// The registers, one for each schedule.
    Registers,
}

impl Walk {
    /// Creates a walk to at most `limit` resources that are not free, and whose names start with `prefix`.
    pub fn new(prefix: impl AsRef<[u8]>, limit: usize) -> Self {
        Self { names: Names::Held, prefix: prefix.as_ref().to_vec(), after: Vec::new(), limit }
    }

    /// Returns true if it is after a name like this one.
    pub(crate) fn matches(&self, name: &ResourceName) -> bool {
        let name = name.as_bytes();
        name.starts_with(&self.prefix) && name > &*self.after
    }
}

/// The work of a server since its start, and its memory at this moment.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServerLoad {
    /// The name of the server, the same in each answer: its address, or the service that sentinels watch.
    pub server: String,
    /// The processor time of the thread that serves commands.
    pub busy: Duration,
    /// The share of `maxmemory` that is used, which may be above 1; `None` for a server without such a limit.
    pub memory: Option<f64>,
}

impl ServerLoad {
    /// Creates it from a name and a processor time, without a limit of memory.
    pub fn new(server: impl Into<String>, busy: Duration) -> Self {
        Self { server: server.into(), busy, memory: None }
    }

    /// Returns the share of a core that the busiest server needed between two answers, so much time apart; `None` if no server is
    /// in both. What is more than two cores is not counted: another server answers to the name, after a failover.
    pub fn busiest(before: &[Self], now: &[Self], passed: Duration) -> Option<f64> {
        let share = |now: &Self| {
            let before = before.iter().find(|before| before.server == now.server)?;
            Some(now.busy.checked_sub(before.busy)?.as_secs_f64() / passed.as_secs_f64())
        };
        now.iter().filter_map(share).filter(|share| *share <= 2.0).max_by(f64::total_cmp)
    }
}

/// The durability of a lease: see [`Store::durability`](crate::store::Store::durability).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// One server, or one process, certainly knows of the lease. The lease may be forgotten when that one fails, even if
    /// there are replicas.
    OneCopy,
    /// A number of replicas, besides the master, have confirmed the grant and every renewal that counts.
    Replicated {
        /// The smallest number of replicas that confirmed; 1 or more.
        replicas: u32,
    },
    /// A majority of independent nodes certainly knows of the lease. It survives the loss of all other nodes.
    Majority {
        /// The smallest number of nodes that know of the grant and of every renewal that counts.
        nodes: usize,
        /// The number of nodes.
        of: usize,
    },
}
