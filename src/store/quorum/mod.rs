//! A majority of independent stores as one store: locks outlive the loss of the minority.
//!
//! **Invariant:** nothing in this folder knows what kind of store a node is.

mod acquire;
mod aftercare;
mod ballot;
mod books;
mod circuit_breaker;
mod fences;
mod hand_off;
mod inspect;
mod listening;
mod node;
mod options;
mod recovery;
mod releases;
mod renew_release;
mod repair;
mod round;
mod shared;
mod tidying;
mod tokens;
mod voting;

use std::{collections::HashSet, future::ready, iter, sync::Arc, time::Duration};

use futures_util::FutureExt;

pub use self::options::QuorumOptions;
use self::{
    node::NamedNode,
    shared::{Quorum, in_background},
};
use crate::{
    core::{InvalidValue, Mode, ResourceName, ensure, exact},
    runtime::env::{Clock, SystemClock},
    store::{
        Acquired, Acquisition, Durability, HandedOff, Hold, HoldersNotified, Inbox, Inspection, Listing,
        Names, Notifications, QuorumNode, Register, RegisterWrite, Released, Renewal, Renewed, Replies,
        Reply, ServerLoad, Store, StoreError, ToHolders, Walk, acquire_unless, only, release_then_acquire,
    },
};

/// Locks on a majority of independent stores, its nodes: usually five Redis masters that know nothing of one another.
///
/// Every verb is sent to all nodes at once, and answered as soon as a majority has decided it. Later answers are handled
/// in the background: a hold that a node granted to a failed attempt is released there.
///
/// # What it promises
/// A lease is valid only while its token is on a majority of *all* nodes. Two conflicting leases therefore exclude each
/// other as long as at most a minority forgets acknowledged writes within one TTL. The clocks of the nodes must run at
/// about the same rate, and must not jump.
///
/// # Which nodes count
/// A node counts while it has a record of its recovery: [`Recovered`](crate::store::Recovered). After a restart it may have
/// forgotten. It counts again when it has been known for [`max_ttl`](QuorumOptions::max_ttl) and was taught the largest
/// fence known to a majority of nodes that have not forgotten. Without such a majority all nodes have to answer. A first
/// start needs all nodes too, and [`fresh_start`](QuorumOptions::fresh_start) spares it the wait. A node whose
/// [`Incarnation`](crate::store::Incarnation) is durable counts at once after a restart, unless it has come back empty.
///
/// Nodes without fences keep no record. They vote when they have been known for `max_ttl`, or by `fresh_start`.
///
/// An incarnation is known for the time since this client met it, or since a majority of the nodes was told of it, by
/// their own clocks. The uptime that a server reports does not count: it is wrong where a clock was corrected after boot.
///
/// # Fences
/// The largest fence of the majority is written back to a majority of the holders before a grant is answered. Readers
/// that are granted at the same moment may have the same fence. Nothing lowers a fence, so a node that was repaired may
/// keep a larger one. Whoever holds remembers it, so that a re-entry gets the fence of the hold before it. The fence counters
/// of the nodes never expire.
///
/// # Waiting
/// A waiter has a queue ticket on every node. Whom a majority of the nodes names as next is notified, and attempts at
/// once. The queues are hints: the votes on that attempt decide. The nodes have one order of arrival, because each waiter
/// proposes its place to all of them, by the fastest clock of a node that it knows. Of several waiters that less than a
/// majority granted, all give way to those who came before them. Nodes without queues leave their waiters to scheduled
/// attempts: with a majority of such nodes, an acquisition that would wait gets [`Acquired::Refused`].
///
/// # What it has not
/// Permits: with two permits on three nodes, three holders can each have a majority. They are answered with
/// [`StoreError::Unsupported`].
///
/// # Errors
/// [`StoreError::NoQuorum`] when too few nodes have a vote. It names each node without a vote, with its reason. A request
/// for more than the longest TTL, its lock delay included, is [`StoreError::Unsupported`].
///
/// # Cancel safety
/// A verb that is dropped goes on, and its grants are released. If its answer was already in flight, the lease ends with
/// its TTL.
#[derive(Debug)]
pub struct QuorumStore(Arc<Quorum>);

impl QuorumStore {
    /// Creates a store on these nodes, each with the name that errors use for it. Nothing is sent.
    ///
    /// # Errors
    /// [`InvalidValue`] when there are fewer than two nodes, two nodes have the same name, or an option is out of its
    /// bounds.
    pub fn new(
        nodes: impl IntoIterator<Item = (String, Arc<dyn QuorumNode>)>,
        options: QuorumOptions,
    ) -> Result<Self, InvalidValue> {
        Self::with_clock(nodes, options, Arc::new(SystemClock))
    }

    /// Creates the same store with its own clock. The timers are those of the tokio runtime.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn with_clock(
        nodes: impl IntoIterator<Item = (String, Arc<dyn QuorumNode>)>,
        options: QuorumOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, InvalidValue> {
        options.check()?;
        let nodes: Vec<_> = nodes.into_iter().map(|(name, store)| NamedNode { name, store }).collect();
        let mut names = HashSet::new();
        if let Some(node) = nodes.iter().find(|node| !names.insert(&node.name)) {
            let found = format_args!("{} twice", node.name);
            return Err(InvalidValue::new("store.url", found, "each node once"));
        }
        let found = format_args!("a quorum of {}", nodes.len());
        ensure(nodes.len() >= 2, "store.url", found, "2 or more nodes, better 3 or 5")?;
        if nodes.len() % 2 == 0 {
            tracing::warn!(
                nodes = nodes.len(),
                "one node less would survive as many failures: choose an odd number"
            );
        }
        Ok(Self(Arc::new(Quorum::new(nodes, options, clock))))
    }

    /// Returns the reason, if any, why this quorum can never grant a request that may keep its resource closed for this `ttl`.
    fn refused(&self, mode: Mode, ttl: Duration) -> Option<StoreError> {
        if matches!(mode, Mode::Permits { .. }) {
            let reason = "permits need one store that counts them all; of 2 permits on 3 nodes, 3 holders could each \
                          have a majority";
            return Some(StoreError::unsupported("permits", reason));
        }
        let max_ttl = self.0.options.max_ttl;
        (ttl > max_ttl).then(|| StoreError::Unsupported {
            asked: format!("TTL (with its lock delay) of {}", exact(ttl)),
            reason: format!("its nodes vote again {} after a restart (limits.max_ttl)", exact(max_ttl)),
        })
    }
}

impl Store for QuorumStore {
    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired> {
        let refused =
            |asked: &Acquisition| self.refused(asked.mode, asked.ttl.saturating_add(asked.lock_delay));
        let acquire = |fit: Vec<_>| {
            let quorum = Arc::clone(&self.0);
            in_background(fit.len(), |reply| acquire::acquire(quorum, fit, reply))
        };
        acquire_unless(asked, refused, acquire).boxed()
    }

    fn hand_off<'a>(&'a self, from: &'a Hold, to: &'a Acquisition, _: bool) -> Reply<'a, HandedOff> {
        if self.refused(to.mode, to.ttl.saturating_add(to.lock_delay)).is_some() {
            return release_then_acquire(self, from, to).boxed();
        }
        let (quorum, from, to) = (Arc::clone(&self.0), from.clone(), Arc::new(to.clone()));
        let handed_off = in_background(1, |reply| acquire::hand_off(quorum, from, to, reply));
        handed_off.map(|answers| only("hand_off", answers)).boxed()
    }

    fn renew_each<'a>(&'a self, renewals: &'a [Renewal<'a>]) -> Replies<'a, Renewed> {
        let refused = renewals.iter().find_map(|it| self.refused(Mode::Exclusive, it.ttl));
        if let Some(error) = refused {
            return ready(iter::repeat_n(error, renewals.len()).map(Err).collect()).boxed();
        }
        let now = self.0.now();
        self.0.books(|books| renewals.iter().for_each(|renewal| books.describe(renewal, now)));
        let owned = renewals.iter().map(|it| (it.hold.clone(), it.ttl)).collect();
        let quorum = Arc::clone(&self.0);
        in_background(renewals.len(), |reply| renew_release::renew(quorum, owned, reply)).boxed()
    }

    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released> {
        let (quorum, releases) = (Arc::clone(&self.0), owned(releases));
        in_background(releases.len(), |reply| renew_release::release(quorum, releases, reply)).boxed()
    }

    fn is_held<'a>(&'a self, hold: &'a Hold) -> Reply<'a, bool> {
        renew_release::is_held(&self.0, hold).boxed()
    }

    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection> {
        inspect::inspect(&self.0, resource, limit).boxed()
    }

    fn list<'a>(&'a self, walk: &'a Walk) -> Reply<'a, Listing> {
        match walk.names {
            Names::Held | Names::WaitedFor => inspect::list(&self.0, walk).boxed(),
            Names::Registers => ready(Err(no_registers())).boxed(),
        }
    }

    fn notify_holders<'a>(&'a self, to: &'a ToHolders) -> Reply<'a, HoldersNotified> {
        inspect::notify_holders(&self.0, to).boxed()
    }

    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64> {
        inspect::force_release(&self.0, resource).boxed()
    }

    fn register<'a>(&'a self, _: &'a ResourceName, _: Option<&'a RegisterWrite>) -> Reply<'a, Register> {
        ready(Err(no_registers())).boxed()
    }

    fn listen(&self, inbox: &Inbox) -> Notifications {
        listening::listen(&self.0, *inbox)
    }

    fn server_load(&self) -> Reply<'_, Vec<ServerLoad>> {
        inspect::server_load(&self.0).boxed()
    }

    fn describe(&self) -> String {
        let nodes: Vec<_> = self.0.nodes.iter().map(|node| node.store.describe()).collect();
        format!("a quorum of {}: {}", nodes.len(), nodes.join("; "))
    }

    fn durability(&self) -> Durability {
        Durability::Majority { nodes: self.0.needed(), of: self.0.nodes.len() }
    }
}

fn no_registers() -> StoreError {
    let reason =
        "compare-and-set over a majority takes consensus; schedules need one server, Sentinel or a cluster";
    StoreError::unsupported("registers", reason)
}

fn owned(asked: &[(&Hold, Duration)]) -> Vec<(Hold, Duration)> {
    asked.iter().map(|(hold, time)| ((*hold).clone(), *time)).collect()
}
