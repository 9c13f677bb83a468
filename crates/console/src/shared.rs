//! The state that all workers of a server share for one console.

use std::sync::Arc;

use actix::{Actor, Addr, Handler, Message, dev::ToEnvelope};
use leasehold::{LockManager, ResourceName};
use tokio::sync::{Semaphore, watch};

use super::{
    examine::Doctor,
    failure::Failure,
    made::Changes,
    model::{ElectionView, Page, PartitionsView, SchedulesView, Watch},
    observer::Observer,
    recent::Recent,
};

/// The largest number of streams of events.
const STREAMS: usize = 100;

/// The state of one console.
pub(crate) struct Shared {
    pub(crate) locks: Addr<LockManager>,
    pub(crate) observer: Addr<Observer>,
    pub(crate) seen: watch::Receiver<Watch>,
    /// The elections and schedules that the application has named.
    pub(crate) elections: Vec<ResourceName>,
    pub(crate) schedules: Vec<ResourceName>,
    pub(crate) changes: Changes,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) pages: Recent<Page>,
    pub(crate) election_views: Recent<Vec<ElectionView>>,
    pub(crate) schedule_views: Recent<SchedulesView>,
    pub(crate) partition_views: Recent<PartitionsView>,
    pub(crate) doctor: Arc<Doctor>,
}

impl Shared {
    pub(crate) fn new(locks: Addr<LockManager>) -> Self {
        let (observer, seen) = Observer::start(locks.clone());
        let (elections, schedules, changes) = Default::default();
        Self {
            locks,
            observer,
            seen,
            elections,
            schedules,
            changes,
            streams: Arc::new(Semaphore::new(STREAMS)),
            pages: Recent::default(),
            election_views: Recent::default(),
            schedule_views: Recent::default(),
            partition_views: Recent::default(),
            doctor: Arc::default(),
        }
    }

    /// Returns what was seen last. Nothing of it is true for sure when nobody looks any more.
    pub(crate) fn watch(&self) -> Watch {
        let seen = self.seen.borrow().clone();
        if !self.is_blind() {
            return seen;
        }
        let trouble = Some("the lock manager is gone, and nobody looks any more".to_owned());
        Watch { contended: None, waiting: None, complete: false, trouble, ..seen }
    }

    /// Returns true if nobody looks any more.
    pub(crate) fn is_blind(&self) -> bool {
        self.seen.has_changed().is_err()
    }
}

/// Asks an actor; one that is gone is a failure.
pub(crate) async fn ask<A, M>(actor: &Addr<A>, message: M) -> Result<M::Result, Failure>
where
    A: Actor + Handler<M>,
    A::Context: ToEnvelope<A, M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    actor.send(message).await.map_err(|_| Failure::gone())
}
