//! A store that can be a node of a quorum: it issues fences at a proposal, raises them, and tells what it may have forgotten.

use std::{slice, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};

#[cfg(doc)]
use crate::core::AHEAD_AT_MOST;
use crate::{
    core::{Fence, Incarnation, Recovered, Report},
    store::{Acquired, Acquisition, Hold, Released, Replies, Reply, Store, StoreError},
};

/// A [`Store`] that can be a node of a [`QuorumStore`](crate::QuorumStore).
///
/// A store without fences (the plain layout) answers [`StoreError::Unsupported`] to all but
/// [`acquire_each_from`](Self::acquire_each_from) and [`incarnation`](Self::incarnation).
///
/// Its methods are for the quorum alone, and may change without notice.
pub trait QuorumNode: Store {
    /// Executes [`acquire_each`](Store::acquire_each) with a lower bound on fences: a new grant to the i-th of them,
    /// counted from 0, has a fence of at least `first + i`. The store limits a `first` that is too far ahead of its own
    /// time. The limit is [`AHEAD_AT_MOST`] past that time, or half of the time for which the store keeps its last fence,
    /// if that time ends and the half is shorter. The answer also carries the store's time and its record of recovery
    /// ([`teach`](Self::teach)), both as of the acquisitions.
    ///
    /// An exclusive acquisition without an owner that takes up a hand-over has a new fence as well: nobody has been told the
    /// one before.
    ///
    /// A quorum uses it to have its nodes issue the same fences, so that no fence has to be raised. A store that cannot
    /// do this ignores `first`, and returns neither its time nor its record.
    fn acquire_each_from<'a>(
        &'a self,
        asked: &'a [Arc<Acquisition>],
        first: Fence,
    ) -> BoxFuture<'a, AcquiredFrom>;

    /// Executes [`hand_off`](Store::hand_off), where nobody overtakes, with a lower bound on the fence as that of
    /// [`acquire_each_from`](Self::acquire_each_from). A store that cannot do both at one moment does one after the other.
    fn hand_off_from<'a>(&'a self, from: &'a Hold, to: &'a Arc<Acquisition>, first: Fence) -> HandOff<'a> {
        release_then_acquire_from(self, from, to, first).boxed()
    }

    /// Releases what this waiter was granted here and queues it again at the place that its ticket names, both at one
    /// moment. Returns true if it certainly holds again already; else it is notified of its turn.
    ///
    /// A store that cannot do this hands the resource off to the waiter itself, behind all others. On several such nodes two
    /// waiters whose votes were split may change places again and again.
    fn give_way<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, bool> {
        async move {
            let acquired = self.hand_off(&asked.hold, asked, false).await?.acquired?;
            Ok(matches!(acquired, Acquired::Granted(_)))
        }
        .boxed()
    }

    /// Raises the fence of each of these live holds to the given one, unless its own is larger. Every later fence of the
    /// resource is larger than that. Nothing lowers a fence. Returns for each whether its token holds; if it does not,
    /// nothing is changed. Nodes issue their own fences, and the largest is written back.
    fn raise_fences<'a>(&'a self, raises: &'a [(&'a Hold, Fence)]) -> Replies<'a, bool>;

    /// Returns the current incarnation of the store. A verb that was answered before this call was answered by this
    /// incarnation or by an earlier one.
    fn incarnation(&self) -> Reply<'_, Incarnation>;

    /// Returns the state that a quorum needs of a node that may have forgotten, all of it as of one moment.
    fn report(&self) -> Reply<'_, Report>;

    /// Makes every later fence larger than the one in the lesson, and stores the lesson. The lesson is forgotten together
    /// with everything else. A repeated lesson for the recorded incarnation never lowers its fence.
    fn teach<'a>(&'a self, lesson: &'a Recovered) -> Reply<'a, ()>;
}

/// Implements [`QuorumNode::hand_off_from`] for stores that cannot do both at one moment.
pub(super) async fn release_then_acquire_from<S: QuorumNode + ?Sized>(
    store: &S,
    from: &Hold,
    to: &Arc<Acquisition>,
    first: Fence,
) -> (Result<Released, StoreError>, AcquiredFrom) {
    let released = store.release(from, Duration::ZERO).await;
    // The clock was read later than a hand-off in one call is sent.
    let acquired = store.acquire_each_from(slice::from_ref(to), first).await;
    (released, AcquiredFrom { clock: None, ..acquired })
}

/// The answers of [`QuorumNode::hand_off_from`]: to the release, and to the acquisition.
pub type HandOff<'a> = BoxFuture<'a, (Result<Released, StoreError>, AcquiredFrom)>;

/// The result of [`QuorumNode::acquire_each_from`].
#[derive(Clone, Debug)]
pub struct AcquiredFrom {
    /// The answer to each acquisition, in their order.
    pub answers: Vec<Result<Acquired, StoreError>>,
    /// The store's own time in µs when it answered: the smallest fence that it could have given. `None` if the store does
    /// not report its time.
    pub clock: Option<Fence>,
    /// The record of recovery that the store had when it answered: see [`QuorumNode::teach`].
    pub recovered: Option<Recovered>,
}

impl AcquiredFrom {
    /// Returns the answers of a store that issues fences by its own time alone and does not report that time.
    pub const fn without_clock(answers: Vec<Result<Acquired, StoreError>>) -> Self {
        Self { answers, clock: None, recovered: None }
    }

    /// Returns what a hand-off in one call did: if that failed, both failed.
    pub(super) fn after_release(
        handed_off: Result<(Released, Self), StoreError>,
    ) -> (Result<Released, StoreError>, Self) {
        match handed_off {
            Ok((released, acquired)) => (Ok(released), acquired),
            Err(error) => (Err(error.clone()), Self::without_clock(vec![Err(error)])),
        }
    }
}
