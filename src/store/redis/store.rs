//! The verbs of a Redis store, each as calls of its script.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use futures_util::{
    FutureExt, StreamExt,
    future::{BoxFuture, try_join_all},
    stream,
};
use redis::Value;

use crate::{
    core::{Fence, Mode, ResourceName},
    store::{
        Acquired, AcquiredAll, AcquiredFrom, Acquisition, Durability, HandOff, HandedOff, Hold,
        HoldersNotified, Inbox, Incarnation, Inspection, Listing, Notifications, QuorumNode, Recovered,
        Register, RegisterWrite, Released, Renewal, Renewed, Replies, Reply, Report, ServerLoad, Store,
        StoreError, ToHolders, Walk, acquire_unless,
        node::release_then_acquire_from,
        one_after_the_other,
        redis::{
            RedisStore,
            calls::{self, CallOrder, send_each},
            listing,
            net::{
                call::{Call, CallAnswer},
                connection::Connection,
                status::{self, KnownIncarnation},
                topology::Topology,
            },
            wire::{decode, inspected, keys},
        },
        release_then_acquire,
    },
};

impl Store for RedisStore {
    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired> {
        if self.encoder.is_plain() && asked.iter().any(|asked| plain_lacks(asked).is_some()) {
            let acquire = async |fit: Vec<_>| self.acquire_in_calls(&fit, None).await.answers;
            return acquire_unless(asked, plain_lacks, acquire).boxed();
        }
        if let Some(raised) = self.thin.suits(asked) {
            return self.acquire_thin(asked, raised).boxed();
        }
        self.acquire_in_calls(asked, None).map(|acquired| acquired.answers).boxed()
    }

    fn renew_each<'a>(&'a self, renewals: &'a [Renewal<'a>]) -> Replies<'a, Renewed> {
        // A node that gives a slot away refuses calls some of whose keys are gone already, and sends a call for a
        // single key to the other node. So leases survive a move that takes longer than they hold.
        let order = if self.topology.is_cluster() { CallOrder::Each } else { CallOrder::Together };
        send_each(renewals, |_| None, order, |open, _| self.renew_in_call(open)).boxed()
    }

    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released> {
        let send = async move |open: Vec<&'a (&'a Hold, Duration)>, _| {
            self.unwatch(open.iter().map(|(hold, _)| *hold));
            let CallAnswer { value, repeated, .. } = self.topology.send(&self.encoder.release(&open)).await?;
            calls::answers(value, &open, |_, answer| certain(decode::released(answer)?, repeated))
        };
        send_each(releases, |(hold, _)| self.slot(hold), CallOrder::Together, send).boxed()
    }

    fn hand_off<'a>(&'a self, from: &'a Hold, to: &'a Acquisition, overtake: bool) -> Reply<'a, HandedOff> {
        if self.encoder.is_plain() {
            // Not at one moment: otherwise clients of other libraries, which can only ask again and again, would never
            // get it.
            return release_then_acquire(self, from, to).boxed();
        }
        self.hand_off_in_call(from, to, overtake, None)
            .map(|told| told.map(|(handed_off, _)| handed_off))
            .boxed()
    }

    fn acquire_all<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Reply<'a, AcquiredAll> {
        let mut slots = asked.iter().map(|asked| self.slot(&asked.hold));
        let in_one_slot = slots.next().is_some_and(|first| slots.all(|slot| slot == first));
        if self.encoder.is_plain() || !in_one_slot {
            return one_after_the_other(self, asked).boxed();
        }
        async move {
            let CallAnswer { value, repeated, shortfall, .. } =
                self.counting.send(self.encoder.acquire_all(asked)).await?;
            match (decode::acquired_all(value, asked)?, shortfall) {
                (AcquiredAll::Granted(_), Some(shortfall)) => {
                    let holds = asked.iter().map(|asked| &asked.hold).collect();
                    let undone = self.release_unconfirmed(holds).await;
                    Err(shortfall.error(!undone.contains(&false)))
                }
                (granted @ AcquiredAll::Granted(_), None) => Ok(granted),
                // Whatever the first try granted was held before this one, and has been left as it is.
                _ if repeated => Err(repeated_in_vain("acquire_all", "not granted")),
                (kept_out, _) => Ok(kept_out),
            }
        }
        .boxed()
    }

    fn is_held<'a>(&'a self, hold: &'a Hold) -> Reply<'a, bool> {
        self.ask(self.encoder.is_held(hold), &hold.resource, decode::is_held).boxed()
    }

    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection> {
        self.ask(self.encoder.inspect(resource, limit), resource, inspected::inspected).boxed()
    }

    fn list<'a>(&'a self, walk: &'a Walk) -> Reply<'a, Listing> {
        listing::list(self, walk).boxed()
    }

    fn notify_holders<'a>(&'a self, to: &'a ToHolders) -> Reply<'a, HoldersNotified> {
        async move {
            if self.encoder.is_plain() {
                return Err(plain_has_no("revocation"));
            }
            // Without a token the script would tell all that hold.
            if to.among.as_ref().is_some_and(Vec::is_empty) {
                return Ok(HoldersNotified { holders: Vec::new(), complete: true });
            }
            self.ask(self.encoder.notify_holders(to), &to.resource, decode::notified).await
        }
        .boxed()
    }

    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64> {
        self.ask(self.encoder.force_release(resource), resource, decode::opened).boxed()
    }

    fn set_capacity<'a>(&'a self, resource: &'a ResourceName, permits: Option<NonZeroU32>) -> Reply<'a, ()> {
        async move {
            if self.encoder.is_plain() {
                return Err(plain_has_no("permits"));
            }
            let sent = self.counting.send(self.encoder.set_capacity(resource, permits)).await;
            let CallAnswer { value, shortfall, .. } = sent?;
            decode::capacity_set(value)?;
            shortfall.map_or(Ok(()), |shortfall| Err(shortfall.error(false)))
        }
        .map(|set| set.map_err(|error| error.about(resource)))
        .boxed()
    }

    fn register<'a>(&'a self, of: &'a ResourceName, write: Option<&'a RegisterWrite>) -> Reply<'a, Register> {
        async move {
            let call = self.encoder.register(of, write);
            let CallAnswer { value, repeated, shortfall, .. } = match write {
                None => self.topology.send(&call).await?,
                Some(_) => self.counting.send(call).await?,
            };
            let register = decode::registered(value, repeated && write.is_some())?;
            // Whatever the verdict: one that says `changed` may tell of an earlier try, over which somebody has written.
            shortfall.map_or(Ok(register), |shortfall| Err(shortfall.error(false)))
        }
        .map(|answer: Result<_, StoreError>| answer.map_err(|error| error.about(of)))
        .boxed()
    }

    fn listen(&self, inbox: &Inbox) -> Notifications {
        let prefix = &self.encoder.prefix;
        let channels = vec![keys::channel(prefix, inbox).to_string(), keys::channel_of_all(prefix)];
        let told = match self.encoder.is_plain() {
            true => stream::empty().boxed(),
            false => self.topology.notifications(channels),
        };
        match self.watch.clone() {
            None => told,
            Some(watch) => stream::select(told, self.renewals.topology.doubts(watch)).boxed(),
        }
    }

    fn server_load(&self) -> Reply<'_, Vec<ServerLoad>> {
        async move {
            let servers = self.topology.each().await?;
            try_join_all(servers.iter().map(|server| status::load(server))).await
        }
        .boxed()
    }

    fn describe(&self) -> String {
        format!("{}, prefix {}", self.address, self.encoder.prefix)
    }

    fn durability(&self) -> Durability {
        self.counting.durability()
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
        self.acquire_in_calls(asked, Some(first)).boxed()
    }

    fn hand_off_from<'a>(&'a self, from: &'a Hold, to: &'a Arc<Acquisition>, first: Fence) -> HandOff<'a> {
        if self.encoder.is_plain() || self.topology.is_cluster() {
            return release_then_acquire_from(self, from, to, first).boxed();
        }
        let told = self.hand_off_in_call(from, to, false, Some(first));
        told.map(|told| {
            AcquiredFrom::after_release(told.map(|(HandedOff { released, acquired, .. }, known)| {
                (released, AcquiredFrom { answers: vec![acquired], ..known })
            }))
        })
        .boxed()
    }

    fn give_way<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, bool> {
        if self.encoder.is_plain() || asked.ticket.is_none() {
            return self.release(&asked.hold, Duration::ZERO).map(|released| released.map(|_| false)).boxed();
        }
        async move {
            let answer = self.topology.send(&self.encoder.give_way(asked)).await?;
            decode::gave_way(answer.value)?;
            // The first try may still be executed, and would take from a later attempt.
            if answer.repeated { Err(repeated_in_vain("give_way", "queued again")) } else { Ok(false) }
        }
        .boxed()
    }

    fn raise_fences<'a>(&'a self, raises: &'a [(&'a Hold, Fence)]) -> Replies<'a, bool> {
        if self.encoder.is_plain() {
            return async move { raises.iter().map(|_| Err(plain_has_no("fences"))).collect() }.boxed();
        }
        let send = async move |open: Vec<&'a (&'a Hold, Fence)>, _| {
            let answer = self.topology.send(&self.encoder.raise(&open)).await?;
            calls::answers(answer.value, &open, |_, answer| Ok(decode::renewed(answer)? == Renewed::Extended))
        };
        send_each(raises, |(hold, _)| self.slot(hold), CallOrder::Together, send).boxed()
    }

    fn incarnation(&self) -> Reply<'_, Incarnation> {
        async move { self.this_incarnation(self.node()?).await }.boxed()
    }

    fn report(&self) -> Reply<'_, Report> {
        async move {
            let connection = self.node()?;
            let (number, incarnation) =
                (connection.number().await?, self.this_incarnation(connection).await?);
            let answer = self.topology.send(&self.encoder.report()).await?;
            let report = decode::reported(answer.value, incarnation)?;
            // Two connections may have told of two incarnations.
            if connection.number().await? == number {
                return Ok(report);
            }
            Err(StoreError::unavailable("its connection broke while it was asked whether it has recovered"))
        }
        .boxed()
    }

    fn teach<'a>(&'a self, lesson: &'a Recovered) -> Reply<'a, ()> {
        async move {
            self.node()?;
            decode::taught(self.topology.send(&self.encoder.teach(lesson)).await?.value)
        }
        .boxed()
    }
}

impl RedisStore {
    pub(super) fn slot(&self, hold: &Hold) -> Option<u16> {
        self.encoder.slot(&hold.resource)
    }

    async fn ask<R>(
        &self,
        call: Call,
        resource: &ResourceName,
        read: impl FnOnce(Value) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        let answer = self.topology.send(&call).await.and_then(|answer| read(answer.value));
        answer.map_err(|error| error.about(resource))
    }

    /// Returns the incarnation of the server. With confirmation by replicas it is asked for each time: what is known of
    /// this connection says nothing of those on which replicas confirm.
    async fn this_incarnation(&self, connection: &Connection) -> Result<Incarnation, StoreError> {
        match self.counting.are_asked() {
            false => self.known.incarnation(connection).await,
            true => KnownIncarnation::default().incarnation(connection).await,
        }
    }

    /// Returns the connection of a store that can be a node of a quorum with fences.
    fn node(&self) -> Result<&Connection, StoreError> {
        let reason = "it is on a cluster, whose servers start one by one";
        match &self.topology {
            Topology::One(connection) => Ok(connection),
            Topology::Cluster(_) => Err(StoreError::unsupported("incarnations to tell apart", reason)),
        }
    }
}

pub(super) fn certain(released: Released, repeated: bool) -> Result<Released, StoreError> {
    match released {
        // The first try may have released it, or the server may have lost it before that.
        Released::NotHeld { .. } if repeated => Err(repeated_in_vain("release", "not held")),
        released => Ok(released),
    }
}

fn repeated_in_vain(verb: &str, now: &str) -> StoreError {
    StoreError::reply_lost(format!("{verb}: an earlier try of it was lost, and now it is {now}"))
}

/// Returns the error of an acquisition that asks for what the plain layout lacks: a string that other libraries write too
/// has no place for it. The top of `lua/plain/holder.lua` describes how a resource is kept in it.
fn plain_lacks(asked: &Acquisition) -> Option<StoreError> {
    let &Acquisition { ref hold, mode, lock_delay, .. } = asked;
    let what = match mode {
        Mode::Shared => "read locks",
        Mode::Permits { .. } => "permits",
        Mode::Exclusive if hold.owner.is_some() => "owners, and so no re-entry",
        Mode::Exclusive if !lock_delay.is_zero() => "lock delay",
        Mode::Exclusive => return None,
    };
    Some(plain_has_no(what))
}

fn plain_has_no(what: &str) -> StoreError {
    let reason = "its layout is plain, for exclusive locks alone; use store.layout = \"full\"";
    StoreError::unsupported(what, reason)
}
