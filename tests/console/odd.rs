//! A store in memory that denies one name, keeps no queues, or never comes to the end of a walk.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt, stream};
use leasehold::{
    Inspection, Listing, MemoryStore, ResourceName, StoreError,
    store::{
        Acquired, Acquisition, Hold, Inbox, Names, Notifications, Register, RegisterWrite, Released, Renewed,
        Replies, Reply, Store, Walk,
    },
};

/// A store that is odd in what it tells.
#[derive(Clone, Debug)]
pub(crate) struct Odd {
    pub(crate) inner: MemoryStore,
    /// The name about which nothing is told.
    pub(crate) denied: Option<&'static str>,
    /// True if it has no queues and no fences, as the plain layout.
    pub(crate) plain: bool,
    /// True if its walks are always cut short.
    pub(crate) unfinished: bool,
}

impl Odd {
    pub(crate) fn new(inner: &MemoryStore) -> Self {
        Self { inner: inner.clone(), denied: None, plain: false, unfinished: false }
    }

    fn denies(&self, name: &ResourceName) -> bool {
        self.denied.is_some_and(|denied| name.as_bytes() == denied.as_bytes())
    }
}

fn denied<'a, T: Send + 'a>() -> Reply<'a, T> {
    async { Err(StoreError::Denied { reason: "no permissions to access a key".to_owned() }) }.boxed()
}

impl Store for Odd {
    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired> {
        self.inner.acquire_each(asked)
    }

    fn renew_each<'a>(&'a self, renewals: &'a [(&'a Hold, Duration)]) -> Replies<'a, Renewed> {
        self.inner.renew_each(renewals)
    }

    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released> {
        self.inner.release_each(releases)
    }

    fn is_held<'a>(&'a self, hold: &'a Hold) -> Reply<'a, bool> {
        self.inner.is_held(hold)
    }

    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection> {
        if self.denies(resource) {
            return denied();
        }
        let plain = self.plain;
        let found = self.inner.inspect(resource, limit);
        let told = move |mut seen: Inspection| {
            if plain {
                seen.holders.iter_mut().for_each(|holder| holder.fence = None);
            }
            seen
        };
        async move { found.await.map(told) }.boxed()
    }

    fn list<'a>(&'a self, walk: &'a Walk) -> Reply<'a, Listing> {
        let (unfinished, keeps_none) = (self.unfinished, self.plain && walk.names == Names::WaitedFor);
        let found = self.inner.list(walk);
        let told = move |mut listing: Listing| {
            if keeps_none {
                (listing.resources, listing.walked) = (Vec::new(), 0);
            }
            if unfinished {
                (listing.complete, listing.cut_short) = (false, true);
            }
            listing
        };
        async move { found.await.map(told) }.boxed()
    }

    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64> {
        self.inner.force_release(resource)
    }

    fn register<'a>(
        &'a self,
        name: &'a ResourceName,
        write: Option<&'a RegisterWrite>,
    ) -> Reply<'a, Register> {
        if self.denies(name) { denied() } else { self.inner.register(name, write) }
    }

    fn listen(&self, inbox: &Inbox) -> Notifications {
        if self.plain { stream::empty().boxed() } else { self.inner.listen(inbox) }
    }
}
