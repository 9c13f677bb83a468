//! A store on a simulated server, as one process sees it: over a connection that takes time.

use std::{
    slice,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use leasehold::{
    Fence, Inspection, Listing, ResourceName, StoreError,
    rules::{AcquiredFrom, HandOff, Incarnation, Recovered, Report},
    store::{
        Acquired, Acquisition, HandedOff, Hold, Inbox, Notification, Notifications, QuorumNode, Released,
        Renewal, Renewed, Replies, Reply, ServerLoad, Store, Walk,
    },
};
use tokio::{sync::oneshot, time::Instant};

use super::server::SimulatedServer;
use crate::laboratory::chance::Chance;

/// The number of notifications that may be on their way at a time.
const ON_THE_WAY: usize = 1_024;

/// A connection to a server.
#[derive(Debug)]
pub(super) struct TimedStore {
    server: Arc<SimulatedServer>,
    way: Arc<Mutex<ServerRoute>>,
    response_timeout: Duration,
}

/// The way to a server. What is sent later arrives later.
#[derive(Debug)]
struct ServerRoute {
    chance: Chance,
    last_arrives: Option<Instant>,
    /// The last time that something went this way.
    idle_since: Option<Instant>,
}

impl TimedStore {
    pub(super) fn new(server: Arc<SimulatedServer>, chance: Chance, response_timeout: Duration) -> Self {
        let way = ServerRoute { chance, last_arrives: None, idle_since: None };
        Self { server, way: Arc::new(Mutex::new(way)), response_timeout }
    }

    /// Draws half of a round trip.
    fn one_way(&self) -> Duration {
        // Nothing that can panic happens while this is locked.
        let mut way = self.way.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let idle = way.idle_since.replace(now).map_or(Duration::MAX, |since| now - since);
        Duration::from_secs_f64(self.server.profile.round_trip(idle, &mut way.chance) / 2e6)
    }

    /// Sends a call, which goes its own way whether somebody waits for it or not. Returns its answer; `None` if that takes
    /// longer than an answer may.
    fn send<T, F>(&self, execute: impl FnOnce(Arc<SimulatedServer>) -> F) -> BoxFuture<'static, Option<T>>
    where
        T: Send + 'static,
        F: Future<Output = (T, f64)> + Send + 'static,
    {
        let half = self.one_way();
        let arrives = {
            let mut way = self.way.lock().unwrap_or_else(PoisonError::into_inner);
            let arrives = (Instant::now() + half).max(way.last_arrives.unwrap_or_else(Instant::now));
            way.last_arrives = Some(arrives);
            arrives
        };
        let (answered, answer) = oneshot::channel();
        let (server, executed) = (Arc::clone(&self.server), execute(Arc::clone(&self.server)));
        tokio::spawn(async move {
            server.clockwork.until(arrives).await;
            let value = server.serve(executed).await;
            server.clockwork.until(Instant::now() + half).await;
            // Whoever asked may have stopped waiting.
            let _ = answered.send(value);
        });
        let within = self.response_timeout;
        async move { tokio::time::timeout(within, answer).await.ok()?.ok() }.boxed()
    }

    /// Sends a call with an answer of its own.
    fn ask<'a, T, F>(&'a self, execute: impl FnOnce(Arc<SimulatedServer>) -> F) -> Reply<'a, T>
    where
        T: Send + 'static,
        F: Future<Output = (Result<T, StoreError>, f64)> + Send + 'static,
    {
        let (answer, within) = (self.send(execute), self.response_timeout);
        async move { answer.await.unwrap_or_else(|| Err(StoreError::timed_out(within))) }.boxed()
    }

    /// Sends a call with several answers.
    fn ask_each<'a, T, F>(
        &'a self,
        count: usize,
        execute: impl FnOnce(Arc<SimulatedServer>) -> F,
    ) -> Replies<'a, T>
    where
        T: Send + 'static,
        F: Future<Output = (Vec<Result<T, StoreError>>, f64)> + Send + 'static,
    {
        let (answer, within) = (self.send(execute), self.response_timeout);
        let late = move || (0..count).map(|_| Err(StoreError::timed_out(within))).collect();
        async move { answer.await.unwrap_or_else(late) }.boxed()
    }
}

impl Store for TimedStore {
    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired> {
        let asked: Vec<_> = asked.iter().map(|asked| self.as_known(asked)).collect();
        self.ask_each(asked.len(), |server| async move {
            let answers = server.memory.acquire_each(&asked).await;
            let work = server.acquiring(&asked, &answers);
            (answers, work)
        })
    }

    fn renew_each<'a>(&'a self, renewals: &'a [Renewal<'a>]) -> Replies<'a, Renewed> {
        let renewals: Vec<_> =
            renewals.iter().map(|it| (it.hold.clone(), it.ttl, it.metadata.clone())).collect();
        self.ask_each(renewals.len(), |server| async move {
            let renewals = renewals.iter().map(|(hold, ttl, metadata)| Renewal {
                metadata: metadata.clone(),
                ..Renewal::new(hold, *ttl)
            });
            let answers = server.memory.renew_each(&renewals.collect::<Vec<_>>()).await;
            let work = server.renewing(&answers);
            (answers, work)
        })
    }

    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released> {
        let releases = owned(releases);
        self.ask_each(releases.len(), |server| async move {
            let answers = server.memory.release_each(&borrowed(&releases)).await;
            let holds: Vec<_> = releases.into_iter().map(|(hold, _)| hold).collect();
            let work = server.releasing(&holds, &answers).await;
            (answers, work)
        })
    }

    fn is_held<'a>(&'a self, hold: &'a Hold) -> Reply<'a, bool> {
        let hold = hold.clone();
        self.ask(|server| async move { (server.memory.is_held(&hold).await, 0.0) })
    }

    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection> {
        let resource = resource.clone();
        self.ask(move |server| async move { (server.memory.inspect(&resource, limit).await, 0.0) })
    }

    fn list<'a>(&'a self, walk: &'a Walk) -> Reply<'a, Listing> {
        let walk = walk.clone();
        self.ask(move |server| async move { (server.memory.list(&walk).await, 0.0) })
    }

    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64> {
        let resource = resource.clone();
        self.ask(|server| async move { (server.memory.force_release(&resource).await, 0.0) })
    }

    fn hand_off<'a>(&'a self, from: &'a Hold, to: &'a Acquisition, overtake: bool) -> Reply<'a, HandedOff> {
        if self.server.is_plain {
            // Two calls, as on a server.
            return async move {
                let released = self.release(from, Duration::ZERO).await?;
                let acquired = self.acquire(to).await;
                let others_wait = !matches!(acquired, Ok(Acquired::Granted(_)));
                Ok(HandedOff { released, acquired, others_wait })
            }
            .boxed();
        }
        let (from, to) = (from.clone(), to.clone());
        self.ask(move |server| async move {
            let answer = server.memory.hand_off(&from, &to, overtake).await;
            let work = server.handing_off(&to);
            (answer, work)
        })
    }

    fn listen(&self, inbox: &Inbox) -> Notifications {
        if self.server.is_plain {
            return stream::empty().boxed();
        }
        let (server, way, response_timeout) =
            (Arc::clone(&self.server), Arc::clone(&self.way), self.response_timeout);
        let connection = Self { server, way, response_timeout };
        let told = self.server.memory.listen(inbox).map(move |notification| connection.carry(notification));
        told.buffered(ON_THE_WAY).boxed()
    }

    fn server_load(&self) -> Reply<'_, Vec<ServerLoad>> {
        self.ask(|server| async move {
            let (_, busy) = server.spent();
            (Ok(vec![ServerLoad::new("a simulated server", busy)]), 0.0)
        })
    }

    fn describe(&self) -> String {
        "a simulated server".to_owned()
    }
}

impl QuorumNode for TimedStore {
    fn acquire_each_from<'a>(
        &'a self,
        asked: &'a [Arc<Acquisition>],
        first: Fence,
    ) -> BoxFuture<'a, AcquiredFrom> {
        let (asked, within) = (asked.to_vec(), self.response_timeout);
        let count = asked.len();
        let answer = self.send(move |server| async move {
            let from = server.memory.acquire_each_from(&asked, first).await;
            let work = server.acquiring(&asked, &from.answers);
            (from, work)
        });
        let late = move || (0..count).map(|_| Err(StoreError::timed_out(within))).collect();
        async move { answer.await.unwrap_or_else(|| AcquiredFrom::without_clock(late())) }.boxed()
    }

    fn hand_off_from<'a>(&'a self, from: &'a Hold, to: &'a Arc<Acquisition>, first: Fence) -> HandOff<'a> {
        if self.server.is_plain {
            return async move {
                let released = self.release(from, Duration::ZERO).await;
                (released, self.acquire_each_from(slice::from_ref(to), first).await)
            }
            .boxed();
        }
        let (from, to, within) = (from.clone(), Arc::clone(to), self.response_timeout);
        let answer = self.send(move |server| async move {
            let (released, acquired) = server.memory.hand_off_from(&from, &to, first).await;
            let work = server.handing_off(&to);
            ((released, acquired), work)
        });
        let late = move || StoreError::timed_out(within);
        async move {
            answer.await.unwrap_or_else(|| (Err(late()), AcquiredFrom::without_clock(vec![Err(late())])))
        }
        .boxed()
    }

    fn give_way<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, bool> {
        let asked = asked.clone();
        self.ask(|server| async move { (server.memory.give_way(&asked).await, server.profile.queued) })
    }

    fn raise_fences<'a>(&'a self, raises: &'a [(&'a Hold, Fence)]) -> Replies<'a, bool> {
        let raises = owned(raises);
        self.ask_each(raises.len(), |server| async move {
            let answers = server.memory.raise_fences(&borrowed(&raises)).await;
            let work = raises.len() as f64 * server.profile.renewed;
            (answers, work)
        })
    }

    fn incarnation(&self) -> Reply<'_, Incarnation> {
        // It is known from the connection.
        self.server.memory.incarnation()
    }

    fn report(&self) -> Reply<'_, Report> {
        self.ask(|server| async move { (server.memory.report().await, 0.0) })
    }

    fn teach<'a>(&'a self, lesson: &'a Recovered) -> Reply<'a, ()> {
        let lesson = lesson.clone();
        self.ask(|server| async move { (server.memory.teach(&lesson).await, 0.0) })
    }
}

impl TimedStore {
    /// Returns an acquisition as the server knows it: plain locks have no queue.
    fn as_known(&self, asked: &Arc<Acquisition>) -> Arc<Acquisition> {
        match self.server.is_plain {
            true => Arc::new(Acquisition { ticket: None, ..Acquisition::clone(asked) }),
            false => Arc::clone(asked),
        }
    }

    /// Carries a notification to the client.
    fn carry(&self, notification: Notification) -> BoxFuture<'static, Notification> {
        let (clockwork, arrives) = (self.server.clockwork.clone(), Instant::now() + self.one_way());
        async move {
            clockwork.until(arrives).await;
            notification
        }
        .boxed()
    }
}

fn owned<T: Copy>(asked: &[(&Hold, T)]) -> Vec<(Hold, T)> {
    asked.iter().map(|(hold, what)| ((*hold).clone(), *what)).collect()
}

fn borrowed<T: Copy>(asked: &[(Hold, T)]) -> Vec<(&Hold, T)> {
    asked.iter().map(|(hold, what)| (hold, *what)).collect()
}
