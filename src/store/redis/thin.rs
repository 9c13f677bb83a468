//! Thin acquisitions: free exclusive locks are taken by plain commands in one transaction, which costs a server about half
//! of what a script costs.
//!
//! ```text
//! MULTI · EXISTS <tickets of each> · INCRBY <fences> n · SET <main key> <value> NX PX <ttl>, for each · ECHO · EXEC
//! ```
//!
//! Nothing in it depends on an earlier answer. Whatever else there is goes on by script: a lock that is held, waiters that its
//! holder left behind, a server that takes no transactions. A resource that was in use lately is asked for by script at once:
//! that tells who holds it, and gives a place in the queue.
//!
//! # Fences
//! A script gives out the time of the server, or one more than the number before. The transaction adds to that number alone,
//! which is enough for as long as nothing is lost. So the first acquisition on each connection is by script: a failover, a
//! restart or a replica that lags ends all connections. A counter that is smaller than this client knows was lost.
//!
//! The value is written before its fence is known. In the place of the fence it has a 0, and about the time of the grant. A
//! repeat by the same token gets a new fence: nobody was told the first.

use std::{
    array,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use redis::RedisError;
use tokio::time::Instant;

use crate::{
    core::{Fence, Mode, ResourceName},
    store::{
        Acquired, Acquisition, Answers, Grant, Released, Store, StoreError,
        redis::{
            RedisStore,
            calls::{CallAnswers, MOST_REQUESTS},
            net::{cluster::slot, connection::TransactionFailure, options::Layout, topology::Topology},
            replicas::Replicas,
            wire::decode::{self, ThinAnswer},
        },
    },
};

/// The number from which on a counter is not added to: see `fence.lua`.
const TOO_LARGE: u64 = 9_000_000_000_000_000;

/// The time for which a server that takes no transactions is sent none: its rights may change.
const OFF_FOR: Duration = Duration::from_secs(600);

/// Whether acquisitions may be thin now.
pub(super) struct Thin {
    /// True if the layout and the servers allow it.
    is_possible: bool,
    /// The time for which a script's work on the counter of fences is enough.
    window: Duration,
    state: Mutex<State>,
    in_use: InUse,
}

/// The resources that somebody else held lately. Some share a place; those go by script as well.
struct InUse {
    began: Instant,
    /// The second until which each counts as in use.
    until: [AtomicU32; Self::PLACES],
}

impl InUse {
    const PLACES: usize = 1_024;
    /// The time for which a resource counts as in use.
    const SECONDS: u32 = 60;

    fn new() -> Self {
        Self { began: Instant::now(), until: array::from_fn(|_| AtomicU32::new(0)) }
    }

    fn note(&self, resource: &ResourceName, now: Instant) {
        self.place(resource).store(self.second(now) + Self::SECONDS, Ordering::Relaxed);
    }

    fn has(&self, resource: &ResourceName, now: Instant) -> bool {
        self.place(resource).load(Ordering::Relaxed) > self.second(now)
    }

    fn place(&self, resource: &ResourceName) -> &AtomicU32 {
        &self.until[usize::from(slot::of_tag(resource.as_bytes())) % Self::PLACES]
    }

    fn second(&self, now: Instant) -> u32 {
        now.duration_since(self.began).as_secs() as u32
    }
}

#[derive(Default)]
struct State {
    raised: Option<Raised>,
    /// The time until which a server that takes no transactions is sent none.
    off_until: Option<Instant>,
}

/// The work of a script on the counter of fences.
#[derive(Clone, Copy)]
pub(super) struct Raised {
    connection: u64,
    at: Instant,
    /// The fence that was given out then: about the server's time, in µs.
    fence: u64,
    /// The counter as this client last saw it. It grows.
    seen: u64,
}

/// Returns the part of a retention time within which a script is called again: transactions do not count the retention of the
/// counter anew.
pub(super) fn window(retention: Duration) -> Duration {
    retention / 4
}

impl Thin {
    pub(super) fn new(topology: &Topology, layout: Layout, counting: &Replicas, retention: Duration) -> Self {
        // On a cluster each slot has a counter of its own, and replicas confirm one call at a time.
        let is_possible = !topology.is_cluster() && matches!(layout, Layout::Full) && !counting.are_asked();
        Self { is_possible, window: window(retention), state: Mutex::default(), in_use: InUse::new() }
    }

    /// Returns the last work of a script on the counter if all of these may be thin.
    pub(super) fn suits(&self, asked: &[Arc<Acquisition>]) -> Option<Raised> {
        let raised = self.state.lock().raised?;
        let now = Instant::now();
        let suits = |asked: &Arc<Acquisition>| is_thin(asked) && !self.in_use.has(&asked.hold.resource, now);
        let is_recent = now < raised.at + self.window;
        (is_recent && asked.len() <= MOST_REQUESTS && asked.iter().all(suits)).then_some(raised)
    }

    /// Notes what a script that was sent then on this connection has answered.
    pub(super) fn raised(
        &self,
        connection: u64,
        sent: Instant,
        asked: &[&Arc<Acquisition>],
        answers: &CallAnswers<Acquired>,
    ) {
        if !self.is_possible {
            return;
        }
        let mut fence = None;
        for (asked, answer) in asked.iter().zip(answers) {
            match answer {
                Some(Ok(Acquired::Granted(grant))) => fence = fence.max(grant.fence),
                Some(Ok(_)) => self.in_use.note(&asked.hold.resource, sent),
                Some(Err(_)) | None => {}
            }
        }
        let mut state = self.state.lock();
        if let Some(fence) = fence
            && state.off_until.is_none_or(|until| until < sent)
        {
            state.raised = Some(Raised { connection, at: sent, fence: fence.get(), seen: fence.get() });
        }
    }

    /// Notes the counter after a transaction.
    fn saw(&self, raised: Raised, counter: u64) {
        let mut state = self.state.lock();
        if let Some(known) = state.raised.as_mut().filter(|known| known.connection == raised.connection) {
            known.seen = known.seen.max(counter);
        }
    }

    /// Notes that a transaction went wrong: the next acquisition is by script.
    fn forget(&self, raised: Raised) {
        let mut state = self.state.lock();
        state.raised = state.raised.filter(|known| known.connection != raised.connection);
    }

    /// Sends no transactions for a while, because the server takes none.
    fn turn_off(&self, error: &RedisError) {
        let mut state = self.state.lock();
        state.raised = None;
        if state.off_until.replace(Instant::now() + OFF_FOR).is_none() {
            tracing::info!(%error, "the server takes no transactions of plain commands: locks are taken by scripts alone");
        }
    }
}

/// Returns true for a lock without an owner and without a lock delay.
fn is_thin(asked: &Acquisition) -> bool {
    asked.mode == Mode::Exclusive && asked.hold.owner.is_none() && asked.lock_delay.is_zero()
}

/// Answers so far, in the order of the requests.
type SomeAnswers = Vec<Option<Result<Acquired, StoreError>>>;

impl RedisStore {
    /// Acquires each by one transaction, and by script what that does not grant.
    pub(super) async fn acquire_thin(&self, asked: &[Arc<Acquisition>], raised: Raised) -> Answers<Acquired> {
        let Topology::One(connection) = &self.topology else {
            return self.acquire_in_calls(asked, None).await.answers;
        };
        let time = raised.fence.saturating_add(raised.at.elapsed().as_micros() as u64);
        let transaction = self.encoder.acquire_thin(asked, time);
        let told = match connection.transact(&transaction, raised.connection).await {
            Some(Ok(answers)) => decode::acquired_thin(answers, asked.len()),
            Some(Err(TransactionFailure::Unknown(error))) => Err(error),
            Some(Err(TransactionFailure::Gone(lost))) => {
                // The script is the second try, and finds what the first may have taken.
                return Box::pin(self.by_script(asked, none(asked), |_| lost.clone())).await;
            }
            Some(Err(TransactionFailure::Aborted(error))) => {
                self.thin.forget(raised);
                let answers = Box::pin(self.by_script(asked, none(asked), |error| error)).await;
                // What aborted it does not concern scripts, so it is no state of the server but a missing right.
                if answers.iter().any(|answer| matches!(answer, Ok(Acquired::Granted(_)))) {
                    self.thin.turn_off(&error);
                }
                return answers;
            }
            Some(Err(TransactionFailure::NotTaken(error))) => {
                self.thin.turn_off(&error);
                let answers = Box::pin(self.give_back(asked, &vec![true; asked.len()])).await;
                return Box::pin(self.by_script(asked, answers, StoreError::perhaps_executed)).await;
            }
            None => {
                self.thin.forget(raised);
                return Box::pin(self.by_script(asked, none(asked), |error| error)).await;
            }
        };
        match told {
            Ok(told) => self.judge(asked, raised, told).await,
            Err(error) => asked.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    /// Returns the answers that follow from what the transaction did.
    async fn judge(
        &self,
        asked: &[Arc<Acquisition>],
        raised: Raised,
        ThinAnswer { is_waited_for, last, granted }: ThinAnswer,
    ) -> Answers<Acquired> {
        let before = last.map(|last| last.saturating_sub(asked.len() as u64));
        let grows = before.is_some_and(|before| (raised.seen..TOO_LARGE).contains(&before));
        match last {
            Some(last) if grows => self.thin.saw(raised, last),
            _ => self.thin.forget(raised),
        }
        let answers: SomeAnswers = match before {
            Some(before) if grows && !is_waited_for => {
                let grant = |number| Acquired::Granted(Grant { fence: Some(Fence::new(number)), holds: 1 });
                let fences = before + 1..;
                fences.zip(granted).map(|(fence, granted)| granted.then(|| Ok(grant(fence)))).collect()
            }
            _ => Box::pin(self.give_back(asked, &granted)).await,
        };
        if answers.iter().all(Option::is_some) {
            return answers.into_iter().flatten().collect();
        }
        Box::pin(self.by_script(asked, answers, |error| error)).await
    }

    /// Gives up what was granted ahead of those that wait, or without a fence. Returns an error for each that may not have been
    /// given up.
    async fn give_back(&self, asked: &[Arc<Acquisition>], granted: &[bool]) -> SomeAnswers {
        let taken = asked.iter().zip(granted).filter(|(_, granted)| **granted);
        let releases: Vec<_> = taken.map(|(asked, _)| (&asked.hold, Duration::ZERO)).collect();
        let mut released = self.release_each(&releases).await.into_iter();
        let error = |released: Result<Released, StoreError>| released.err().map(StoreError::perhaps_executed);
        let answer = |granted: &bool| if *granted { released.next().and_then(error).map(Err) } else { None };
        granted.iter().map(answer).collect()
    }

    /// Acquires by script each that has no answer yet. An error of the script becomes what `otherwise` says.
    async fn by_script(
        &self,
        asked: &[Arc<Acquisition>],
        answers: SomeAnswers,
        otherwise: impl Fn(StoreError) -> StoreError,
    ) -> Answers<Acquired> {
        let open = asked.iter().zip(&answers).filter(|(_, answer)| answer.is_none());
        let open: Vec<_> = open.map(|(asked, _)| Arc::clone(asked)).collect();
        let mut told = self.acquire_in_calls(&open, None).await.answers.into_iter();
        let answer = |answer: Option<_>| answer.or_else(|| Some(told.next()?.map_err(&otherwise)));
        answers.into_iter().filter_map(answer).collect()
    }
}

fn none(asked: &[Arc<Acquisition>]) -> SomeAnswers {
    asked.iter().map(|_| None).collect()
}
