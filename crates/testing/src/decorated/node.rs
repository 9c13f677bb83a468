//! A decorated store as a node of a quorum.

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use leasehold::{
    Fence,
    rules::{AcquiredFrom, Incarnation, Recovered, Report},
    store::{Acquisition, Hold, QuorumNode, Replies, Reply},
};

use super::{Decorated, Hooks, Verb, refused};

impl<S: QuorumNode, H: Hooks> QuorumNode for Decorated<S, H> {
    fn acquire_each_from<'a>(
        &'a self,
        asked: &'a [Arc<Acquisition>],
        first: Fence,
    ) -> BoxFuture<'a, AcquiredFrom> {
        let execute =
            move || async move { self.inner.acquire_each_from(&self.asked(asked), first).await }.boxed();
        let refused = |error| AcquiredFrom::without_clock(refused(asked.len(), &error));
        self.through(Verb::Acquire(asked), execute, refused)
    }

    fn give_way<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, bool> {
        self.one(Verb::GiveWay(asked), || self.inner.give_way(asked))
    }

    fn raise_fences<'a>(&'a self, raises: &'a [(&'a Hold, Fence)]) -> Replies<'a, bool> {
        self.each(Verb::RaiseFences(raises), raises.len(), || self.inner.raise_fences(raises))
    }

    fn incarnation(&self) -> Reply<'_, Incarnation> {
        self.one(Verb::Incarnation, || self.inner.incarnation())
    }

    fn report(&self) -> Reply<'_, Report> {
        self.one(Verb::Report, || self.inner.report())
    }

    fn teach<'a>(&'a self, lesson: &'a Recovered) -> Reply<'a, ()> {
        self.one(Verb::Teach(lesson), || self.inner.teach(lesson))
    }
}
