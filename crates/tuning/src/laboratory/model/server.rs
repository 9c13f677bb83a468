//! A simulated server: one thread that serves a call after the other, each for as long as its work takes.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use leasehold::{
    MemoryStore, StoreError, Token,
    env::Clock,
    store::{Acquired, Acquisition, Hold, Released, Renewed, Store},
};
use tokio::time::Instant;

use super::clockwork::Clockwork;
use crate::laboratory::{profile::ServerProfile, workload::SlowServer};

/// A server, which all connections to it share.
#[derive(Debug)]
pub(super) struct SimulatedServer {
    pub(super) memory: MemoryStore,
    pub(super) clockwork: Clockwork,
    pub(super) profile: ServerProfile,
    /// True if locks are plain: without a queue.
    pub(super) is_plain: bool,
    /// The times at which it is slow, once callers have started.
    slow: OnceLock<(Instant, SlowServer)>,
    /// The thread. Whoever waits for it is served in the order of arrival.
    thread: tokio::sync::Mutex<()>,
    sums: Mutex<Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    calls: u64,
    busy: Duration,
    /// The end of the last call.
    idle_since: Option<Instant>,
    /// The tokens that wait in a queue.
    waiting: BTreeSet<Token>,
}

impl SimulatedServer {
    pub(super) fn new(
        profile: ServerProfile,
        clock: Arc<dyn Clock>,
        clockwork: Clockwork,
        is_plain: bool,
    ) -> Self {
        let memory = MemoryStore::new(clock);
        let (slow, thread, sums) = Default::default();
        Self { memory, clockwork, profile, is_plain, slow, thread, sums }
    }

    /// Returns the calls that were served, and the time that they took.
    pub(super) fn spent(&self) -> (u64, Duration) {
        let sums = self.sums();
        (sums.calls, sums.busy)
    }

    /// Is slow at these times from now on.
    pub(super) fn be_slow(&self, slow: SlowServer) {
        // Callers start once.
        let _ = self.slow.set((Instant::now(), slow));
    }

    /// Returns the factor by which the work of a call is larger now.
    fn slowness(&self, now: Instant) -> f64 {
        let slow = self.slow.get().filter(|(start, slow)| (slow.from..slow.until).contains(&(now - *start)));
        slow.map_or(1.0, |(_, slow)| slow.factor)
    }

    /// Returns the share of a core that it needs while it has nothing to do.
    pub(super) const fn idle(&self) -> f64 {
        self.profile.idle
    }

    /// Serves a call, when those that came before it have been served. Returns its answer, with its work in microseconds,
    /// when that has been done.
    pub(super) async fn serve<T>(&self, execute: impl Future<Output = (T, f64)>) -> T {
        let _turn = self.thread.lock().await;
        let began = Instant::now();
        let idle = self.sums().idle_since.map_or(Duration::MAX, |since| began - since);
        let wake = self.profile.waking(idle);
        let (answer, micros) = execute.await;
        let work = Duration::from_secs_f64((wake + self.profile.call + micros) * self.slowness(began) / 1e6);
        self.clockwork.until(began + work).await;
        let mut sums = self.sums();
        sums.idle_since = Some(Instant::now());
        sums.calls += 1;
        sums.busy += work;
        answer
    }

    /// Returns the work for these acquisitions, by their answers.
    pub(super) fn acquiring(
        &self,
        asked: &[Arc<Acquisition>],
        answers: &[Result<Acquired, StoreError>],
    ) -> f64 {
        let work = |(asked, answer): (&Arc<Acquisition>, &Result<Acquired, StoreError>)| {
            let token = asked.hold.token;
            match answer {
                Ok(Acquired::Granted(_)) if self.sums().waiting.remove(&token) => self.profile.taken_up,
                Ok(Acquired::Granted(_)) => self.profile.granted,
                Ok(Acquired::Queued { .. }) => {
                    self.sums().waiting.insert(token);
                    self.profile.queued
                }
                _ => self.profile.refused,
            }
        };
        asked.iter().zip(answers).map(work).sum()
    }

    /// Returns the work for these releases, by their answers.
    pub(super) async fn releasing(&self, holds: &[Hold], answers: &[Result<Released, StoreError>]) -> f64 {
        let mut work = 0.0;
        for (hold, answer) in holds.iter().zip(answers) {
            self.sums().waiting.remove(&hold.token);
            let freed = matches!(answer, Ok(Released::Freed));
            work += match freed && self.is_held(hold).await {
                true => self.profile.handed_over,
                false => self.profile.released,
            };
        }
        work
    }

    /// Returns the work for these renewals.
    pub(super) fn renewing(&self, answers: &[Result<Renewed, StoreError>]) -> f64 {
        answers.len() as f64 * self.profile.renewed
    }

    /// Returns the work for a hand-off to this waiter.
    pub(super) fn handing_off(&self, to: &Acquisition) -> f64 {
        self.sums().waiting.remove(&to.hold.token);
        self.profile.handed_off
    }

    /// Returns true if somebody has the resource, after this hold was released: it was handed over.
    async fn is_held(&self, released: &Hold) -> bool {
        if self.is_plain {
            return false;
        }
        let seen = self.memory.inspect(&released.resource, 1).await;
        seen.is_ok_and(|seen| !seen.holders.is_empty())
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        // Nothing that can panic happens while this is locked.
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
