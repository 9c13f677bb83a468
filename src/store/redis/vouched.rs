//! The conditions under which acquisitions are thin: see `thin.rs`.

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

use super::{
    calls::{CallAnswers, fit_in_a_call},
    net::{
        cluster::slot,
        options::{Layout, RedisOptions},
    },
};
use crate::{
    core::ResourceName,
    store::{Acquired, Acquisition, StoreError},
};

/// The time for which a server that denies a command is sent scripts alone: the rights may change.
const OFF_FOR: Duration = Duration::from_secs(600);

/// The time for which the work of a script on the counter of fences is enough. It bounds what a server forgets that is made
/// a replica and a master again without ending its connections.
const WINDOW: Duration = Duration::from_secs(60);

/// The conditions under which acquisitions are thin.
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
            && !planted!("a resource in use is asked for by plain commands again")
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
    pub(super) connection: u64,
    pub(super) at: Instant,
    /// The fence that was given out then: about the server's time, in µs.
    pub(super) fence: u64,
    /// The counter as this client last saw it. It grows.
    pub(super) seen: u64,
}

impl Thin {
    pub(super) fn new(is_cluster: bool, options: &RedisOptions) -> Self {
        // On a cluster each slot has a counter of its own, and replicas confirm one call at a time. A counter that expires within
        // the window would come back without an end.
        let is_possible = !is_cluster
            && options.layout == Layout::Full
            && options.replicas_ack == 0
            && options.fence_retention > WINDOW;
        Self { is_possible, state: Mutex::default(), in_use: InUse::new() }
    }

    /// Returns the last work of a script on the counter if all of these may be thin.
    pub(super) fn suits(&self, asked: &[Arc<Acquisition>]) -> Option<Raised> {
        let raised = self.state.lock().raised?;
        let now = Instant::now();
        let suits = |asked: &Arc<Acquisition>| {
            asked.is_simple() && asked.lock_delay.is_zero() && !self.in_use.has(&asked.hold.resource, now)
        };
        let is_recent = now < raised.at + WINDOW;
        (is_recent && !asked.is_empty() && asked.iter().all(suits) && fit_in_a_call(asked)).then_some(raised)
    }

    /// Notes which resources were found in use by a script that was sent then, or with a value that is not ours: plain commands would
    /// read all of it each time.
    pub(super) fn note_in_use(
        &self,
        sent: Instant,
        asked: &[&Arc<Acquisition>],
        answers: &CallAnswers<Acquired>,
    ) {
        for (asked, answer) in asked.iter().zip(answers) {
            let is_in_use = match answer {
                Some(Ok(answer)) => !matches!(answer, Acquired::Granted(_)),
                Some(Err(error)) => matches!(error, StoreError::Corrupt { .. }),
                None => false,
            };
            if is_in_use {
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
    pub(super) fn saw(&self, raised: Raised, counter: u64) {
        let mut state = self.state.lock();
        if let Some(known) = state.raised.as_mut().filter(|known| known.connection == raised.connection) {
            known.seen = known.seen.max(counter);
        }
    }

    /// Notes that a thin acquisition went wrong: the next one is by script.
    pub(super) fn forget(&self, raised: Raised) {
        let mut state = self.state.lock();
        state.raised = state.raised.filter(|known| known.connection != raised.connection);
    }

    /// Sends scripts alone for a while if the server denies a command.
    pub(super) fn note_denial(&self, error: &ServerError) {
        let said = error.details().unwrap_or_default();
        let is_denied = error.code() == "NOPERM" && said.contains("permissions to run");
        if !is_denied && !said.starts_with("unknown command") {
            return;
        }
        let mut state = self.state.lock();
        state.raised = None;
        if state.off_until.replace(Instant::now() + OFF_FOR).is_none() {
            tracing::info!(code = error.code(), "the server denies a plain command: only scripts take locks");
        }
    }
}
