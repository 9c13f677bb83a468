//! The work of one partition: its actor, one life after the other, while this process owns it.

use std::{rc::Rc, sync::Arc};

use actix::{Actor, Addr};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::places::Places;
use crate::{
    leading::election::{Election, Singleton, SingletonContext, TermEnd, TermWork},
    lease::Lease,
};

/// A partition that this process stands for.
pub(super) struct Standing {
    pub(super) election: Addr<Election>,
    /// The time from which it is the share of another member.
    pub(super) foreign_since: Option<Instant>,
    pub(super) leaves: bool,
}

/// The work of one of them.
pub(super) struct Share<A: Actor> {
    pub(super) partition: u32,
    pub(super) actor: Rc<Singleton<A>>,
    pub(super) places: Arc<Places<A>>,
    /// Held until the last actor has stopped, also if its keeper has ended.
    pub(super) _counted: Arc<Lease>,
}

impl<A: Actor<Context = SingletonContext<A>>> TermWork for Share<A> {
    async fn term(self: Rc<Self>, lease: Arc<Lease>, stop: CancellationToken) -> TermEnd {
        self.places.begin(self.partition, &lease);
        let ended = Ended(&self);
        let end = Rc::clone(&self.actor).term(lease, stop).await;
        drop(ended);
        end
    }
}

/// Tells the end of a term, also if it is dropped or panics.
struct Ended<'a, A: Actor>(&'a Share<A>);

impl<A: Actor> Drop for Ended<'_, A> {
    fn drop(&mut self) {
        self.0.places.end(self.0.partition);
    }
}
