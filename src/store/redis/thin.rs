//! Thin acquisitions: free exclusive locks are taken by plain commands in one transaction, which costs a server about half
//! of what a script costs.
//!
//! ```text
//! MULTI · EXISTS <tickets of each> · INCRBY <fences> n · PEXPIRE <fences> … · SET <main key> <value> NX PX <ttl>, for each ·
//! ECHO · EXEC
//! ```
//!
//! Nothing in it depends on an earlier answer. Whatever else there is goes on by script: a lock that is held, waiters that its
//! holder left behind, a server that takes no transactions. A resource that was in use lately is asked for by script at once:
//! that tells who holds it, and gives a place in the queue.
//!
//! The value is written before its fence is known. In the place of the fence it has a 0, and about the time of the grant. The
//! scripts know by that 0 that nobody may have been told: a repeat by the same token gets a new fence, and one that was taken
//! beside a queue does not count. So the script may always be the next step.
//!
//! # Fences
//! A script gives out the time of the server, or one more than the number before. The transaction adds to that number alone,
//! which is enough for as long as nothing is lost. So the first acquisition on each connection is by script, and one in each
//! [`WINDOW`]: a failover, a restart or a replica that lags ends all connections. A counter that is smaller than this client
//! knows was lost.

use std::{
    array,
    fmt::Display,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use redis::ServerError;
use tokio::time::Instant;

use crate::{
    core::{Fence, Mode, ResourceName},
    store::{
        Acquired, Acquisition, Answers, Grant, StoreError,
        redis::{
            RedisStore,
            calls::{CallAnswers, fit_in_a_call},
            net::{
                call::TryFailure,
                cluster::slot,
                options::Layout,
                topology::Topology,
                transaction::{TransactionAnswer, is_lasting},
            },
            replicas::Replicas,
            wire::decode::{self, ThinAnswer},
        },
    },
};

/// The number from which on a counter is not added to: see `fence.lua`.
const TOO_LARGE: u64 = 9_000_000_000_000_000;

/// The time for which a server that takes no transactions is sent none: its rights may change.
const OFF_FOR: Duration = Duration::from_secs(600);

/// The time for which the work of a script on the counter of fences is enough. It bounds what a server forgets that is made
/// a replica and a master again without ending its connections.
const WINDOW: Duration = Duration::from_secs(60);

/// The number of connections in a row that end in a transaction, after which the server is said to take none.
const MOST_GONE: u32 = 2;

/// Whether acquisitions may be thin now.
pub(super) struct Thin {
    /// True if the layout and the servers allow it.
    is_possible: bool,
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
    /// The number of connections in a row that ended in a transaction.
    gone: u32,
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

impl Thin {
    pub(super) fn new(topology: &Topology, layout: Layout, counting: &Replicas) -> Self {
        // On a cluster each slot has a counter of its own, and replicas confirm one call at a time.
        let is_possible = !topology.is_cluster() && matches!(layout, Layout::Full) && !counting.are_asked();
        Self { is_possible, state: Mutex::default(), in_use: InUse::new() }
    }

    /// Returns the last work of a script on the counter if all of these may be thin.
    pub(super) fn suits(&self, asked: &[Arc<Acquisition>]) -> Option<Raised> {
        let raised = self.state.lock().raised?;
        let now = Instant::now();
        let suits = |asked: &Arc<Acquisition>| is_thin(asked) && !self.in_use.has(&asked.hold.resource, now);
        let is_recent = now < raised.at + WINDOW;
        (is_recent && asked.iter().all(suits) && fit_in_a_call(asked)).then_some(raised)
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
        if let Some(fence) = fence.map(Fence::get)
            && state.off_until.is_none_or(|until| until < sent)
        {
            let known = state.raised.filter(|known| known.connection == connection);
            let seen = known.map_or(fence, |known| known.seen.max(fence));
            state.raised = Some(Raised { connection, at: sent, fence, seen });
        }
    }

    /// Notes the counter after a transaction.
    fn saw(&self, raised: Raised, counter: u64) {
        let mut state = self.state.lock();
        state.gone = 0;
        if let Some(known) = state.raised.as_mut().filter(|known| known.connection == raised.connection) {
            known.seen = known.seen.max(counter);
        }
    }

    /// Notes that a transaction went wrong: the next acquisition is by script.
    fn forget(&self, raised: Raised) {
        let mut state = self.state.lock();
        state.raised = state.raised.filter(|known| known.connection != raised.connection);
    }

    /// Notes that the connection ended in a transaction. A proxy may end those that begin one.
    fn gone(&self, raised: Raised) {
        self.forget(raised);
        let mut state = self.state.lock();
        state.gone += 1;
        if state.gone >= MOST_GONE {
            state.turn_off(&"connections end when one begins");
        }
    }

    /// Sends no transactions for a while, because the server takes none.
    fn turn_off(&self, error: &ServerError) {
        self.state.lock().turn_off(error);
    }
}

impl State {
    fn turn_off(&mut self, reason: &dyn Display) {
        (self.raised, self.gone) = (None, 0);
        if self.off_until.replace(Instant::now() + OFF_FOR).is_none() {
            tracing::info!(%reason, "the server takes no transactions of plain commands: locks are taken by scripts alone");
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
        let otherwise: fn(StoreError) -> StoreError =
            match connection.transact(&transaction, raised.connection).await {
                Ok(Some(TransactionAnswer::Executed(answers))) => {
                    return match decode::acquired_thin(answers, asked.len()) {
                        Ok(answer) => self.judge(asked, raised, answer).await,
                        Err(error) => asked.iter().map(|_| Err(error.clone())).collect(),
                    };
                }
                Ok(Some(TransactionAnswer::Aborted(error))) if !is_lasting(&error) => {
                    self.thin.forget(raised);
                    |error| error
                }
                Ok(Some(TransactionAnswer::Aborted(error))) => {
                    self.thin.turn_off(&error);
                    |error| error
                }
                Ok(Some(TransactionAnswer::NotTaken(error))) => {
                    self.thin.turn_off(&error);
                    StoreError::perhaps_executed
                }
                Ok(Some(TransactionAnswer::OfAnother) | None) => {
                    self.thin.forget(raised);
                    |error| error
                }
                // The script is the second try, and finds what the first may have taken.
                Err(TryFailure::Gone(lost)) => {
                    self.thin.gone(raised);
                    return Box::pin(self.by_script(asked, none(asked), |_| lost.clone())).await;
                }
                Err(failure) => {
                    let error = failure.into_error();
                    return asked.iter().map(|_| Err(error.clone())).collect();
                }
            };
        Box::pin(self.by_script(asked, none(asked), otherwise)).await
    }

    /// Returns the answers that follow from what the transaction did.
    async fn judge(
        &self,
        asked: &[Arc<Acquisition>],
        raised: Raised,
        ThinAnswer { is_waited_for, last, granted }: ThinAnswer,
    ) -> Answers<Acquired> {
        let before = last.map(|last| last.saturating_sub(asked.len() as u64));
        let before = before.filter(|before| (raised.seen..TOO_LARGE).contains(before));
        match last.filter(|_| before.is_some()) {
            Some(last) => self.thin.saw(raised, last),
            None => self.thin.forget(raised),
        }
        let Some(before) = before.filter(|_| !is_waited_for) else {
            // What was taken ahead of those that wait, or without a fence, is the script's to judge.
            return Box::pin(self.by_script(asked, none(asked), StoreError::perhaps_executed)).await;
        };
        let grant = |number| Acquired::Granted(Grant { fence: Some(Fence::new(number)), holds: 1 });
        let fences = before + 1..;
        let answers: SomeAnswers =
            fences.zip(granted).map(|(fence, granted)| granted.then(|| Ok(grant(fence)))).collect();
        if answers.iter().all(Option::is_some) {
            return answers.into_iter().flatten().collect();
        }
        Box::pin(self.by_script(asked, answers, |error| error)).await
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
