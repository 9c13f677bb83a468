//! One node of a quorum, as one manager sees it through its own bad network.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture};
use leasehold::{
    Fence, Inspection, Listing, MemoryStore, ResourceName, StoreError,
    rules::{AcquiredFrom, HandOff, Incarnation, Recovered, Report},
    store::{
        Acquired, Acquisition, Hold, Inbox, Notifications, QuorumNode, Released, Renewal, Renewed, Replies,
        Reply, Store, Walk, join_replies,
    },
};

use super::{
    history::What,
    network::Network,
    store::{number, wanted},
};

/// The way of one manager to one node. Until when a token holds there goes into the history.
#[derive(Debug)]
pub(crate) struct Link {
    node: usize,
    inner: MemoryStore,
    network: Network,
    /// The ms by which its wall clock was set forward since its start, which it tells as a part of its age.
    stepped: Arc<AtomicU64>,
}

impl Link {
    pub(crate) const fn new(
        node: usize,
        inner: MemoryStore,
        network: Network,
        stepped: Arc<AtomicU64>,
    ) -> Self {
        Self { node, inner, network, stepped }
    }

    fn send<T: Send + 'static>(
        &self,
        execute: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Reply<'static, T> {
        let (way, reply) = self.network.send(execute);
        // The tasks of a quorum are those of the runtime, and not of one arbiter.
        tokio::spawn(way);
        reply
    }

    /// Writes down until when a token holds here, and whose it is if that is new.
    fn notes(&self, hold: &Hold, request: Option<u64>) -> impl Fn(Duration) + Send + use<> {
        let (node, token, resource) = (self.node, hold.token, number(&hold.resource));
        let history = Arc::clone(&self.network.history);
        move |ttl| history.add(resource, What::OnNode { node, token, request, end: history.now() + ttl })
    }
}

impl Link {
    fn acquire_one<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, Acquired> {
        let (store, asked) = (self.inner.clone(), asked.clone());
        let notes = self.notes(&asked.hold, Some(wanted(asked.clone()).request));
        self.send(async move {
            let answer = store.acquire(&asked).await?;
            if matches!(answer, Acquired::Granted(_)) {
                notes(asked.ttl);
            }
            Ok(answer)
        })
    }

    fn renew_one<'a>(&'a self, hold: &'a Hold, ttl: Duration) -> Reply<'a, Renewed> {
        let (store, notes, hold) = (self.inner.clone(), self.notes(hold, None), hold.clone());
        self.send(async move {
            let answer = store.renew(&hold, ttl).await?;
            if answer == Renewed::Extended {
                notes(ttl);
            }
            Ok(answer)
        })
    }

    fn release_one<'a>(&'a self, hold: &'a Hold, cooldown: Duration) -> Reply<'a, Released> {
        let (store, node, hold) = (self.inner.clone(), self.node, hold.clone());
        let history = Arc::clone(&self.network.history);
        self.send(async move {
            let answer = store.release(&hold, cooldown).await?;
            history.add(number(&hold.resource), What::OffNode { node, token: hold.token });
            Ok(answer)
        })
    }
}

impl Store for Link {
    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired> {
        join_replies(asked.iter().map(|asked| self.acquire_one(asked)))
    }

    fn renew_each<'a>(&'a self, renewals: &'a [Renewal<'a>]) -> Replies<'a, Renewed> {
        join_replies(renewals.iter().map(|it| self.renew_one(it.hold, it.ttl)))
    }

    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released> {
        join_replies(releases.iter().map(|(hold, cooldown)| self.release_one(hold, *cooldown)))
    }

    fn is_held<'a>(&'a self, hold: &'a Hold) -> Reply<'a, bool> {
        self.inner.is_held(hold)
    }

    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection> {
        self.inner.inspect(resource, limit)
    }

    fn list<'a>(&'a self, walk: &'a Walk) -> Reply<'a, Listing> {
        self.inner.list(walk)
    }

    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64> {
        self.inner.force_release(resource)
    }

    fn listen(&self, inbox: &Inbox) -> Notifications {
        let network = self.network.clone();
        self.inner.listen(inbox).flat_map(move |notification| network.carry(notification)).boxed()
    }
}

impl QuorumNode for Link {
    fn acquire_each_from<'a>(
        &'a self,
        asked: &'a [Arc<Acquisition>],
        first: Fence,
    ) -> BoxFuture<'a, AcquiredFrom> {
        let (count, store, asked) = (asked.len(), self.inner.clone(), asked.to_vec());
        let notes: Vec<_> = asked
            .iter()
            .map(|asked| {
                (self.notes(&asked.hold, Some(wanted(Acquisition::clone(asked)).request)), asked.ttl)
            })
            .collect();
        let reply = self.send(async move {
            let paced = store.acquire_each_from(&asked, first).await;
            for (answer, (note, ttl)) in paced.answers.iter().zip(notes) {
                if matches!(answer, Ok(Acquired::Granted(_))) {
                    note(ttl);
                }
            }
            Ok(paced)
        });
        let failed = move |error: StoreError| {
            AcquiredFrom::without_clock((0..count).map(|_| Err(error.clone())).collect())
        };
        reply.map(move |paced| paced.unwrap_or_else(failed)).boxed()
    }

    fn hand_off_from<'a>(&'a self, from: &'a Hold, to: &'a Arc<Acquisition>, first: Fence) -> HandOff<'a> {
        let (store, node, from, to) = (self.inner.clone(), self.node, from.clone(), Arc::clone(to));
        let history = Arc::clone(&self.network.history);
        let (note, ttl) = (self.notes(&to.hold, Some(wanted(Acquisition::clone(&to)).request)), to.ttl);
        let reply = self.send(async move {
            let (released, acquired) = store.hand_off_from(&from, &to, first).await;
            if released.is_ok() {
                history.add(number(&from.resource), What::OffNode { node, token: from.token });
            }
            if matches!(acquired.answers[..], [Ok(Acquired::Granted(_))]) {
                note(ttl);
            }
            Ok((released, acquired))
        });
        let failed = |error: StoreError| (Err(error.clone()), AcquiredFrom::without_clock(vec![Err(error)]));
        reply.map(move |answer| answer.unwrap_or_else(failed)).boxed()
    }

    fn give_way<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, bool> {
        let (store, node, asked) = (self.inner.clone(), self.node, asked.clone());
        let history = Arc::clone(&self.network.history);
        self.send(async move {
            let answer = store.give_way(&asked).await?;
            let Hold { resource, token, .. } = &asked.hold;
            history.add(number(resource), What::OffNode { node, token: *token });
            Ok(answer)
        })
    }

    fn raise_fences<'a>(&'a self, raises: &'a [(&'a Hold, Fence)]) -> Replies<'a, bool> {
        let count = raises.len();
        let raises: Vec<_> = raises.iter().map(|(hold, fence)| ((*hold).clone(), *fence)).collect();
        let store = self.inner.clone();
        let reply = self.send(async move {
            let raises: Vec<_> = raises.iter().map(|(hold, fence)| (hold, *fence)).collect();
            Ok(store.raise_fences(&raises).await)
        });
        reply
            .map(move |answer| {
                answer.unwrap_or_else(|error| (0..count).map(|_| Err(error.clone())).collect())
            })
            .boxed()
    }

    fn incarnation(&self) -> Reply<'_, Incarnation> {
        let (store, stepped) = (self.inner.clone(), Arc::clone(&self.stepped));
        self.send(async move { Ok(by_its_clock(store.incarnation().await?, &stepped)) })
    }

    fn report(&self) -> Reply<'_, Report> {
        let (store, stepped) = (self.inner.clone(), Arc::clone(&self.stepped));
        self.send(async move {
            let report = store.report().await?;
            Ok(Report { incarnation: by_its_clock(report.incarnation, &stepped), ..report })
        })
    }

    fn teach<'a>(&'a self, lesson: &'a Recovered) -> Reply<'a, ()> {
        let (store, lesson) = (self.inner.clone(), lesson.clone());
        self.send(async move { store.teach(&lesson).await })
    }
}

/// The incarnation as a node tells it whose wall clock was stepped after its start.
fn by_its_clock(told: Incarnation, stepped: &AtomicU64) -> Incarnation {
    Incarnation { age: told.age + Duration::from_millis(stepped.load(Ordering::Relaxed)), ..told }
}
