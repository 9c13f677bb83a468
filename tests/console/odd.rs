//! A store in memory that denies one name, keeps no queues, or never comes to the end of a walk.

use std::any::Any;

use futures_util::{FutureExt, future::BoxFuture};
use leasehold::{
    Inspection, Listing, MemoryStore, ResourceName, StoreError,
    store::{Names, Store},
};
use leasehold_testing::decorated::{Decorated, Hooks, Verb};

/// The ways in which a store is odd in what it tells.
#[derive(Debug, Default)]
pub(crate) struct Odd {
    /// The name about which nothing is told.
    pub(crate) denied: Option<&'static str>,
    /// True if it has no queues, no fences and no times of grants, as the plain layout.
    pub(crate) plain: bool,
    /// True if its walks are always cut short.
    pub(crate) unfinished: bool,
}

impl Odd {
    /// Puts it around a store.
    pub(crate) fn around(self, store: MemoryStore) -> impl Store {
        let plain = self.plain;
        let store = Decorated::new(store, self);
        if plain { store.without_queue() } else { store }
    }

    fn denies(&self, name: &ResourceName) -> bool {
        self.denied.is_some_and(|denied| name.as_bytes() == denied.as_bytes())
    }
}

impl Hooks for Odd {
    fn before<'a>(&'a self, verb: Verb<'a>) -> BoxFuture<'a, Result<(), StoreError>> {
        let denied = match verb {
            Verb::Inspect(name) | Verb::Register(name, _) => self.denies(name),
            _ => false,
        };
        let reason = || "no permissions to access a key".to_owned();
        async move { if denied { Err(StoreError::Denied { reason: reason() }) } else { Ok(()) } }.boxed()
    }

    fn after<'a>(&'a self, verb: Verb<'a>, answer: &mut dyn Any) -> BoxFuture<'a, ()> {
        if let Some(Ok(seen)) = answer.downcast_mut::<Result<Inspection, StoreError>>()
            && self.plain
        {
            seen.holders.iter_mut().for_each(|holder| (holder.fence, holder.held_for) = (None, None));
        }
        if let Some(Ok(listing)) = answer.downcast_mut::<Result<Listing, StoreError>>() {
            if self.plain && matches!(verb, Verb::List(walk) if walk.names == Names::WaitedFor) {
                (listing.resources, listing.walked) = (Vec::new(), 0);
            }
            if self.unfinished {
                (listing.complete, listing.cut_short) = (false, true);
            }
        }
        async {}.boxed()
    }
}
