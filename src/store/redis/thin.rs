//! Thin acquisitions: free exclusive locks are taken by plain commands, which cost a server far less than a script does.
//!
//! ```text
//! INCRBY <fences> n · SET <main key> <value> NX PX <ttl>, for each · EXISTS <tickets of each> · GET <fences> · ECHO <number>
//! ```
//!
//! They go out together, without a transaction: to read `QUEUED` takes the client library as long as to read an answer. So others may
//! be served between them, and the answers tell whether that did harm:
//!
//! * GET gives what INCRBY gave: nobody else was given a fence meanwhile. So these fences are larger than those of all grants
//!   before the SET, and smaller than those of all later grants.
//! * EXISTS finds no tickets: whoever waits came after the SET. So nobody was overtaken.
//!
//! Whatever else there is goes on by script: a lock that is held, waiters that its holder left behind, a server that lacks a command.
//! A resource that was in use lately is asked for by script at once: that tells who holds it, and gives a place in the queue.
//!
//! The value is written before its fence is known. In the place of the fence it has a 0, and about the time of the grant. The
//! scripts know by that 0 that nobody may have been told: a repeat by the same token gets a new fence, and gives back what was
//! taken beside a queue. So the script may always be the next step. For others it is a hold like any other.
//!
//! # Fences
//! A script gives out the time of the server, or one more than the number before. INCRBY adds to that number alone, which is
//! enough for as long as nothing is lost. So the first acquisition on each connection is by script, and one in each
//! [`WINDOW`]: a failover, a restart or a replica that lags ends all connections. A counter that is smaller than this client
//! knows was lost.

use std::{
    array,
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
        Acquired, Acquisition, Answers, Certainty, Grant, StoreError,
        redis::{
            RedisStore,
            calls::{CallAnswers, fit_in_a_call},
            net::{call::TryFailure, cluster::slot, options::Layout, topology::Topology},
            replicas::Replicas,
            wire::decode::{self, ThinAnswer},
        },
    },
};

/// The number from which on a counter is not added to: see `fence.lua`.
const TOO_LARGE: u64 = 9_000_000_000_000_000;

/// The time for which a server that denies a command is sent scripts alone: the rights may change.
const OFF_FOR: Duration = Duration::from_secs(600);

/// The time for which the work of a script on the counter of fences is enough. It bounds what a server forgets that is made
/// a replica and a master again without ending its connections.
const WINDOW: Duration = Duration::from_secs(60);

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
    /// The time until which a server that denies a command is sent scripts alone.
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
        (is_recent && !asked.is_empty() && asked.iter().all(suits) && fit_in_a_call(asked)).then_some(raised)
    }

    /// Notes which resources were found in use by a script that was sent then.
    pub(super) fn note_in_use(
        &self,
        sent: Instant,
        asked: &[&Arc<Acquisition>],
        answers: &CallAnswers<Acquired>,
    ) {
        for (asked, answer) in asked.iter().zip(answers) {
            if matches!(answer, Some(Ok(answer)) if !matches!(answer, Acquired::Granted(_))) {
                self.in_use.note(&asked.hold.resource, sent);
            }
        }
    }

    /// Notes the new fence that a script gave out, if any, which was sent then on this connection.
    pub(super) fn raised(&self, connection: u64, sent: Instant, fence: Option<u64>) {
        let mut state = self.state.lock();
        if let Some(fence) = fence.filter(|_| self.is_possible)
            && state.off_until.is_none_or(|until| until < sent)
        {
            let known = state.raised.filter(|known| known.connection == connection);
            let seen = known.map_or(fence, |known| known.seen.max(fence));
            state.raised = Some(Raised { connection, at: sent, fence, seen });
        }
    }

    /// Notes the counter after a thin acquisition.
    fn saw(&self, raised: Raised, counter: u64) {
        let mut state = self.state.lock();
        if let Some(known) = state.raised.as_mut().filter(|known| known.connection == raised.connection) {
            known.seen = known.seen.max(counter);
        }
    }

    /// Notes that a thin acquisition went wrong: the next one is by script.
    fn forget(&self, raised: Raised) {
        let mut state = self.state.lock();
        state.raised = state.raised.filter(|known| known.connection != raised.connection);
    }

    /// Sends scripts alone for a while if the server denies a command.
    fn note_denial(&self, error: &ServerError) {
        let said = error.details().unwrap_or_default();
        let is_denied = error.code() == "NOPERM" && said.contains("permissions to run");
        if !is_denied && !said.starts_with("unknown command") {
            return;
        }
        let mut state = self.state.lock();
        state.raised = None;
        if state.off_until.replace(Instant::now() + OFF_FOR).is_none() {
            tracing::info!(%error, "the server denies a plain command: locks are taken by scripts alone");
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
    /// Acquires each by plain commands, and by script what these do not grant.
    pub(super) async fn acquire_thin(&self, asked: &[Arc<Acquisition>], raised: Raised) -> Answers<Acquired> {
        let Topology::One(connection) = &self.topology else {
            return self.acquire_in_calls(asked, None).await.answers;
        };
        let time = raised.fence.saturating_add(raised.at.elapsed().as_micros() as u64);
        let commands = self.encoder.acquire_thin(asked, time);
        let lost = match connection.send_together(&commands, raised.connection).await {
            Ok(Some(answers)) => match decode::acquired_thin(answers, asked.len()) {
                Ok(answer) => return self.judge(asked, raised, answer).await,
                Err(error) => return asked.iter().map(|_| Err(error.clone())).collect(),
            },
            // Nothing was sent.
            Ok(None) => None,
            // The script is the second try, and finds what the first may have taken.
            Err(TryFailure::Gone(lost)) => Some(lost),
            Err(failure) => {
                let error = failure.into_error();
                return asked.iter().map(|_| Err(error.clone())).collect();
            }
        };
        self.thin.forget(raised);
        let none = asked.iter().map(|_| None).collect();
        Box::pin(self.by_script(asked, none, |_, error| lost.clone().unwrap_or(error))).await
    }

    /// Returns the answers that follow from what the commands did.
    async fn judge(
        &self,
        asked: &[Arc<Acquisition>],
        raised: Raised,
        answer: ThinAnswer,
    ) -> Answers<Acquired> {
        let ThinAnswer { last, is_alone, is_waited_for, granted, error } = answer;
        let before = last.map(|last| last.saturating_sub(asked.len() as u64));
        let before = before.filter(|before| (raised.seen..TOO_LARGE).contains(before));
        match last.filter(|_| before.is_some()) {
            Some(last) => self.thin.saw(raised, last),
            None => self.thin.forget(raised),
        }
        if let Some(error) = error {
            self.thin.note_denial(&error);
        }
        let fence = before.filter(|_| is_alone && !is_waited_for);
        let grant = |number| Acquired::Granted(Grant { fence: Some(Fence::new(number)), holds: 1 });
        let told = |(at, granted): (usize, &bool)| {
            fence.filter(|_| *granted).map(|before| Ok(grant(before + 1 + at as u64)))
        };
        let answers: SomeAnswers = granted.iter().enumerate().map(told).collect();
        if answers.iter().all(Option::is_some) {
            return answers.into_iter().flatten().collect();
        }
        // What was taken, and has no fence or stands beside tickets, is the script's to judge.
        let taken = |at, error| if granted[at] { lost_after_a_grant(error) } else { error };
        Box::pin(self.by_script(asked, answers, taken)).await
    }

    /// Acquires by script each that has no answer yet. An error of the script becomes what `otherwise` says of the request at this
    /// place.
    async fn by_script(
        &self,
        asked: &[Arc<Acquisition>],
        answers: SomeAnswers,
        otherwise: impl Fn(usize, StoreError) -> StoreError,
    ) -> Answers<Acquired> {
        let open = asked.iter().zip(&answers).filter(|(_, answer)| answer.is_none());
        let open: Vec<_> = open.map(|(asked, _)| Arc::clone(asked)).collect();
        let mut told = self.acquire_in_calls(&open, None).await.answers.into_iter();
        let answer = |(at, answer): (usize, Option<_>)| {
            answer.or_else(|| Some(told.next()?.map_err(|error| otherwise(at, error))))
        };
        answers.into_iter().enumerate().filter_map(answer).collect()
    }
}

/// Returns the error of a script that was to judge what was taken: that was done, whatever the script did.
fn lost_after_a_grant(error: StoreError) -> StoreError {
    match error.perhaps_executed() {
        error if error.certainty() == Certainty::Unknown => error,
        error => StoreError::ReplyLost {
            doing: "what was taken has no fence yet".to_owned(),
            source: Some(Arc::new(error)),
        },
    }
}
