//! The verbs of a Redis store, each as calls of its script.

use std::{borrow::Cow, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};

use crate::{
    core::{Fence, ResourceName},
    store::{
        Acquired, AcquiredAll, AcquiredFrom, Acquisition, Durability, HandedOff, Hold, HoldersNotified,
        Inbox, Incarnation, Inspection, Listing, Metadata, Notifications, QuorumNode, Recovered, Register,
        RegisterWrite, Released, Renewed, Replies, Reply, Report, ServerLoad, Store, StoreError, ToHolders,
        Walk, all,
        redis::{
            RedisStore, listing,
            net::{connection::Connection, incarnation::Known, load, topology::Topology},
            replicas::{Confirmed, Replicas},
            wire::{batch, decode, inspected, keys, lessons, notified, plain, register},
        },
    },
};

impl Store for RedisStore {
    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired> {
        if self.encoder.is_plain() && asked.iter().any(|asked| plain::lacks(asked).is_some()) {
            return plain::acquire_each(self, asked).boxed();
        }
        batch::by_slot(asked, |asked| self.slot(&asked.hold), |asked| self.acquire_in_order(asked)).boxed()
    }

    fn renew_each<'a>(&'a self, renewals: &'a [(&'a Hold, Duration)]) -> Replies<'a, Renewed> {
        // A node that gives a slot away refuses calls some of whose keys are gone already, and sends a call for a
        // single key to the other node. So leases survive a move that takes longer than they hold.
        if self.topology.is_cluster() {
            // A call always serves its first request, so the order is kept.
            return batch::together(renewals.chunks(1).map(|renewal| self.renew_in_calls(renewal))).boxed();
        }
        let answer = |renewals| self.renew_in_calls(renewals);
        batch::in_order(renewals, |(hold, _)| bytes(hold), |(hold, _)| &hold.resource, answer).boxed()
    }

    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released> {
        let answer = async move |releases: Cow<'a, [(&'a Hold, Duration)]>| {
            let answer = |releases| self.release_in_calls(releases);
            batch::in_order(&releases, |(hold, _)| bytes(hold), |(hold, _)| &hold.resource, answer).await
        };
        batch::by_slot(releases, |(hold, _)| self.slot(hold), answer).boxed()
    }

    fn hand_off<'a>(&'a self, from: &'a Hold, to: &'a Acquisition, overtake: bool) -> Reply<'a, HandedOff> {
        if self.encoder.is_plain() {
            // Not at one moment: otherwise clients of other libraries, which can only ask again and again, would never
            // get it.
            return all::release_then_acquire(self, from, to).boxed();
        }
        async move {
            let Confirmed { answered, shortfall } =
                self.send_counting(&self.encoder.hand_off(from, to, overtake)).await?;
            let about = |error: StoreError| error.about(&to.hold.resource);
            let mut handed_off = decode::handed_off(answered.value, to.mode).map_err(about)?;
            handed_off.acquired = handed_off.acquired.map_err(about);
            if let (Some(shortfall), Ok(Acquired::Granted(_))) = (shortfall, &handed_off.acquired) {
                let undone = self.release_unconfirmed(vec![&to.hold]).await;
                handed_off.acquired = Err(shortfall.error(undone == [true]));
            }
            Ok(HandedOff { released: certain(handed_off.released, answered.repeated)?, ..handed_off })
        }
        .boxed()
    }

    fn acquire_all<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Reply<'a, AcquiredAll> {
        let in_one_slot = asked
            .first()
            .is_some_and(|first| asked.iter().all(|asked| self.slot(&asked.hold) == self.slot(&first.hold)));
        if self.encoder.is_plain() || !in_one_slot {
            return all::one_after_the_other(self, asked).boxed();
        }
        async move {
            let Confirmed { answered, shortfall } =
                self.send_counting(&self.encoder.acquire_all(asked)).await?;
            match (decode::acquired_all(answered.value, asked)?, shortfall) {
                (AcquiredAll::Granted(_), Some(shortfall)) => {
                    let undone =
                        self.release_unconfirmed(asked.iter().map(|asked| &asked.hold).collect()).await;
                    Err(shortfall.error(!undone.contains(&false)))
                }
                (granted @ AcquiredAll::Granted(_), None) => Ok(granted),
                // Whatever the first try granted was held before this one, and has been left as it is.
                _ if answered.repeated => Err(repeated_in_vain("acquire_all", "not granted")),
                (kept_out, _) => Ok(kept_out),
            }
        }
        .boxed()
    }

    fn is_held<'a>(&'a self, hold: &'a Hold) -> Reply<'a, bool> {
        async move {
            let answered = self.topology.send(&self.encoder.is_held(hold)).await;
            let held = answered.and_then(|answered| decode::is_held(answered.value));
            held.map_err(|error| error.about(&hold.resource))
        }
        .boxed()
    }

    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection> {
        async move {
            let call = self.encoder.inspect(resource, limit);
            let answered = self.topology.send(&call).await;
            let inspection = answered.and_then(|answered| inspected::inspected(answered.value));
            inspection.map_err(|error| error.about(resource))
        }
        .boxed()
    }

    fn list<'a>(&'a self, walk: &'a Walk) -> Reply<'a, Listing> {
        listing::list(&self.topology, &self.encoder, self.response_timeout, walk).boxed()
    }

    fn notify_holders<'a>(&'a self, to: &'a ToHolders) -> Reply<'a, HoldersNotified> {
        async move {
            if self.encoder.is_plain() {
                return Err(plain::unsupported("revocation"));
            }
            // Without a token the script would tell all that hold.
            if to.among.as_ref().is_some_and(Vec::is_empty) {
                return Ok(HoldersNotified { holders: Vec::new(), complete: true });
            }
            let answered = self.topology.send(&self.encoder.notify_holders(to)).await;
            let notified = answered.and_then(|answered| notified::holders_notified(answered.value));
            notified.map_err(|error| error.about(&to.resource))
        }
        .boxed()
    }

    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64> {
        async move {
            // Sent once: a second try could take the resource from somebody who got it after the first.
            let call = self.encoder.force_release(resource);
            let opened = self.topology.send_once(&call).await.and_then(decode::opened);
            opened.map_err(|error| error.about(resource))
        }
        .boxed()
    }

    fn register<'a>(
        &'a self,
        name: &'a ResourceName,
        write: Option<&'a RegisterWrite>,
    ) -> Reply<'a, Register> {
        async move {
            let call = register::call(&self.encoder, name, write);
            let about = |error: StoreError| error.about(name);
            if write.is_none() {
                let answered = self.topology.send(&call).await.map_err(about)?;
                return register::answer(answered.value, false).map_err(about);
            }
            let Confirmed { answered, shortfall } = self.send_counting(&call).await.map_err(about)?;
            let register = register::answer(answered.value, answered.repeated).map_err(about)?;
            // Whatever the verdict: one that says `changed` may tell of an earlier try, over which somebody has written.
            shortfall.map_or(Ok(register), |shortfall| Err(shortfall.error(false)))
        }
        .boxed()
    }

    fn listen(&self, inbox: &Inbox) -> Notifications {
        if self.encoder.is_plain() {
            return stream::empty().boxed();
        }
        let prefix = self.encoder.prefix();
        let channels = vec![keys::channel(prefix, inbox).to_string(), keys::channel_of_all(prefix)];
        self.topology.notifications(channels)
    }

    fn server_load(&self) -> Reply<'_, ServerLoad> {
        async move {
            match &self.topology {
                Topology::One(connection) => load::ask(connection).await,
                Topology::Cluster(_) => {
                    Err(StoreError::unsupported("the load of the server", "a cluster has several"))
                }
            }
        }
        .boxed()
    }

    fn describe(&self) -> String {
        format!("{}, prefix {}", self.address, self.encoder.prefix())
    }

    fn durability(&self) -> Durability {
        self.replicas.as_ref().map_or(Durability::OneCopy, Replicas::durability)
    }
}

impl QuorumNode for RedisStore {
    fn acquire_each_from<'a>(
        &'a self,
        asked: &'a [Arc<Acquisition>],
        first: Fence,
    ) -> BoxFuture<'a, AcquiredFrom> {
        if self.encoder.is_plain() || self.topology.is_cluster() {
            // The layout has no fences, or each slot has its own counter.
            return self.acquire_each(asked).map(AcquiredFrom::without_clock).boxed();
        }
        self.acquire_from(asked, first).boxed()
    }

    fn give_way<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, bool> {
        if self.encoder.is_plain() || asked.ticket.is_none() {
            return self.release(&asked.hold, Duration::ZERO).map(|released| released.map(|_| false)).boxed();
        }
        async move {
            let answered = self.topology.send(&self.encoder.give_way(asked)).await?;
            decode::gave_way(answered.value)?;
            // The first try may still be executed, and would take from a later attempt.
            if answered.repeated { Err(repeated_in_vain("give_way", "queued again")) } else { Ok(false) }
        }
        .boxed()
    }

    fn raise_fences<'a>(&'a self, raises: &'a [(&'a Hold, Fence)]) -> Replies<'a, bool> {
        if self.encoder.is_plain() {
            return async move { raises.iter().map(|_| Err(plain::unsupported("fences"))).collect() }.boxed();
        }
        let answer = async move |raises: Cow<'a, [(&'a Hold, Fence)]>| {
            let answer = |raises| self.raise_in_calls(raises);
            batch::in_order(&raises, |(hold, _)| bytes(hold), |(hold, _)| &hold.resource, answer).await
        };
        batch::by_slot(raises, |(hold, _)| self.slot(hold), answer).boxed()
    }

    fn incarnation(&self) -> Reply<'_, Incarnation> {
        async move { self.this_incarnation(self.single()?).await }.boxed()
    }

    fn report(&self) -> Reply<'_, Report> {
        async move {
            let connection = self.single()?;
            let (number, incarnation) =
                (connection.number().await?, self.this_incarnation(connection).await?);
            let report =
                lessons::reported(self.topology.send(&self.encoder.report()).await?.value, incarnation)?;
            // Two connections may have told of two incarnations.
            if connection.number().await? == number {
                return Ok(report);
            }
            let reason = "its connection broke while it was asked whether it has recovered".to_owned();
            Err(StoreError::unavailable(reason))
        }
        .boxed()
    }

    fn teach<'a>(&'a self, lesson: &'a Recovered) -> Reply<'a, ()> {
        async move {
            self.single()?;
            lessons::taught(self.topology.send(&self.encoder.teach(lesson)).await?.value)
        }
        .boxed()
    }
}

impl RedisStore {
    /// Returns the incarnation of the server. With confirmation by replicas it is asked for each time: what is known of
    /// this connection says nothing of those on which replicas confirm.
    async fn this_incarnation(&self, connection: &Connection) -> Result<Incarnation, StoreError> {
        match self.replicas {
            None => self.known.incarnation(connection).await,
            Some(_) => Known::default().incarnation(connection).await,
        }
    }

    /// Returns the connection of a store that can be a node of a quorum with fences.
    fn single(&self) -> Result<&Connection, StoreError> {
        match &self.topology {
            Topology::One(connection) => Ok(connection),
            Topology::Cluster(_) => Err(StoreError::unsupported(
                "incarnations to tell apart",
                "it is on a cluster, whose servers start one by one",
            )),
        }
    }

    /// Runs [`Store::release_each`] for each of these, in one call if the server serves all of them in one.
    async fn release_in_calls(&self, releases: &[(&Hold, Duration)]) -> Vec<Result<Released, StoreError>> {
        batch::until_served(releases, |open| async move {
            let answered = self.topology.send(&self.encoder.release(&open.requests)).await;
            let repeated = answered.as_ref().is_ok_and(|answered| answered.repeated);
            let value = answered.map(|answered| answered.value);
            decode::each(value, open.requests.len(), |number, answer| {
                let about = |error: StoreError| error.about(&open.requests[number].0.resource);
                certain(decode::released(answer).map_err(about)?, repeated)
            })
        })
        .await
    }

    /// Runs [`QuorumNode::raise_fences`] for each of these, in one call if the server serves all of them in one.
    async fn raise_in_calls(&self, raises: &[(&Hold, Fence)]) -> Vec<Result<bool, StoreError>> {
        batch::until_served(raises, |open| async move {
            let answered = self.topology.send(&self.encoder.raise(&open.requests)).await;
            let value = answered.map(|answered| answered.value);
            decode::each(value, open.requests.len(), |number, answer| {
                let about = |error: StoreError| error.about(&open.requests[number].0.resource);
                decode::renewed(answer).map(|renewed| renewed == Renewed::Extended).map_err(about)
            })
        })
        .await
    }
}

/// Returns the result of a release, if it is certain.
fn certain(released: Released, repeated: bool) -> Result<Released, StoreError> {
    match released {
        // The first try may have released it, or the server may have lost it before that.
        Released::NotHeld { .. } if repeated => Err(repeated_in_vain("release", "not held")),
        released => Ok(released),
    }
}

fn repeated_in_vain(verb: &str, now: &str) -> StoreError {
    let doing = format!("{verb}: an earlier try of it was lost, and now it is {now}");
    StoreError::reply_lost(doing)
}

/// Returns the approximate size of a request in bytes.
pub(super) fn bytes(hold: &Hold) -> usize {
    const REST: usize = 256;
    REST + hold.resource.as_bytes().len() + hold.owner.as_ref().map_or(0, |owner| owner.as_str().len())
}

/// Returns the approximate size of an acquisition in bytes. What takes the server longer, because it is not exclusive
/// or has an owner, counts as more: the server serves nobody else while it executes a call.
pub(super) fn weight(asked: &Acquisition) -> usize {
    const AT_LEAST: usize = 2_048;
    let bytes = bytes(&asked.hold) + bytes_of_metadata(&asked.metadata);
    if asked.is_simple() { bytes } else { bytes.max(AT_LEAST) }
}

fn bytes_of_metadata(metadata: &Metadata) -> usize {
    metadata.iter().map(|(name, text)| name.len() + text.len() + 6).sum()
}
