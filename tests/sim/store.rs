//! One store behind the network: what it executes goes into the history.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use leasehold::{
    Inspection, Listing, MemoryStore, ResourceName, StoreError,
    store::{
        Acquired, Acquisition, HandedOff, Hold, Inbox, Notifications, Released, Renewal, Renewed, Replies,
        Reply, Store, Walk, join_replies,
    },
};

use super::{
    history::{History, Wanted, What},
    network::Network,
    queue::Seen,
};

/// The store as it is seen through a bad network.
#[derive(Debug)]
pub(crate) struct FaultyStore {
    inner: MemoryStore,
    network: Network,
    /// How often in a row its managers pass a resource on.
    limit: u32,
}

impl FaultyStore {
    pub(crate) const fn new(inner: MemoryStore, network: Network, limit: u32) -> Self {
        Self { inner, network, limit }
    }

    fn send<T, F>(&self, execute: F) -> Reply<'static, T>
    where
        T: Send + 'static,
        F: AsyncFnOnce(MemoryStore, Arc<History>) -> Result<T, StoreError> + 'static,
    {
        let (way, reply) = self.network.send(execute(self.inner.clone(), Arc::clone(&self.network.history)));
        actix_rt::spawn(way);
        reply
    }
}

impl FaultyStore {
    fn acquire_one<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, Acquired> {
        let asked = asked.clone();
        self.send(async move |store, history| {
            let answer = store.acquire(&asked).await;
            let seen = seen(&store, &asked.hold).await?;
            let resource = number(&asked.hold.resource);
            let asked = wanted(asked);
            history.add(resource, What::Acquired { asked, answer: answer.clone(), seen });
            answer
        })
    }

    fn renew_one<'a>(&'a self, hold: &'a Hold, ttl: Duration) -> Reply<'a, Renewed> {
        let (resource, token, hold) = (number(&hold.resource), hold.token, hold.clone());
        self.network.history.add(resource, What::RenewalSent { token });
        self.send(async move |store, history| {
            let answer = store.renew(&hold, ttl).await?;
            history.add(resource, What::Renewed { token, ttl, answer });
            Ok(answer)
        })
    }

    fn release_one<'a>(&'a self, hold: &'a Hold, cooldown: Duration) -> Reply<'a, Released> {
        let (resource, hold) = (number(&hold.resource), hold.clone());
        self.network.history.add(resource, What::ReleaseSent { token: hold.token });
        self.send(async move |store, history| {
            let answer = store.release(&hold, cooldown).await?;
            let seen = seen(&store, &hold).await?;
            let Hold { token, owner, .. } = hold;
            history.add(resource, What::Released { token, owner, cooldown, answer, seen });
            Ok(answer)
        })
    }
}

impl Store for FaultyStore {
    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired> {
        join_replies(asked.iter().map(|asked| self.acquire_one(asked)))
    }

    fn renew_each<'a>(&'a self, renewals: &'a [Renewal<'a>]) -> Replies<'a, Renewed> {
        join_replies(renewals.iter().map(|it| self.renew_one(it.hold, it.ttl)))
    }

    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released> {
        join_replies(releases.iter().map(|(hold, cooldown)| self.release_one(hold, *cooldown)))
    }

    fn hand_off<'a>(&'a self, from: &'a Hold, to: &'a Acquisition, overtake: bool) -> Reply<'a, HandedOff> {
        let (resource, from, to, limit) = (number(&from.resource), from.clone(), to.clone(), self.limit);
        self.network.history.add(resource, What::ReleaseSent { token: from.token });
        self.send(async move |store, history| {
            let answer = store.hand_off(&from, &to, overtake).await?;
            let seen = seen(&store, &from).await?;
            let (from, to) = (from.token, wanted(to));
            history
                .add(resource, What::HandedOff { from, to, overtake, limit, answer: answer.clone(), seen });
            Ok(answer)
        })
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

/// What the resource is at this moment.
async fn seen(store: &MemoryStore, hold: &Hold) -> Result<Seen, StoreError> {
    Ok(store.inspect(&hold.resource, usize::MAX).await?.into())
}

/// The number of a resource stands at the end of its name.
pub(crate) fn number(resource: &ResourceName) -> usize {
    usize::from(resource.as_bytes().last().map_or(0, |digit| digit - b'0'))
}

pub(crate) fn wanted(asked: Acquisition) -> Wanted {
    let request = asked.metadata.get("request").and_then(|number| number.parse().ok());
    Wanted {
        request: request.expect("every simulated request tells its number"),
        token: asked.hold.token,
        owner: asked.hold.owner,
        mode: asked.mode,
        reentrant: asked.reentrant,
        ttl: asked.ttl,
        lock_delay: asked.lock_delay,
        ticket_ttl: asked.ticket.map(|ticket| ticket.ttl),
        window: asked.ticket.map_or(Duration::ZERO, |ticket| ticket.grant_window),
    }
}
