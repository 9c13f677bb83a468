//! The circuit breaker of a node: one that is down or silent gets no calls, except a probe now and then.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::{core::Doubling, store::StoreError};

/// The number of consecutive failed calls after which the circuit of a node opens.
const FAILURES: u32 = 3;
const FIRST_OPEN: Duration = Duration::from_millis(50);
const LONGEST_OPEN: Duration = Duration::from_secs(1);

/// The circuit breaker of one node, fed by the results of its calls.
#[derive(Debug, Default)]
pub(super) struct CircuitBreaker(Mutex<State>);

#[derive(Debug)]
struct State {
    in_flight: usize,
    /// The time of its last answer, or of the first call after that. It counts only while calls are in flight.
    quiet_since: Option<Instant>,
    failures: u32,
    /// The time for which the circuit stays open, doubled each time.
    pauses: Doubling,
    open_for: Duration,
    open_until: Option<Instant>,
}

/// A call in flight. A call that is dropped says nothing about the node.
pub(super) struct CallInFlight<'a> {
    breaker: &'a CircuitBreaker,
    /// True if the call is a probe that may close the circuit.
    is_probe: bool,
    ended: bool,
}

impl CircuitBreaker {
    /// Admits a call, unless the node has been silent for longer than `silence` with calls in flight, or its circuit is
    /// open. When the open time is over, the circuit is half-open: one call is let through as a probe.
    pub(super) fn admit(&self, silence: Duration) -> Result<CallInFlight<'_>, StoreError> {
        let now = Instant::now();
        let mut state = self.state();
        let quiet = state.quiet_since.filter(|_| state.in_flight > 0).map(|since| now.duration_since(since));
        if let Some(quiet) = quiet.filter(|quiet| *quiet > silence) {
            return Err(held_back(format!("it has been silent for {quiet:.0?}")));
        }
        let Some(until) = state.open_until else {
            return Ok(self.begin(&mut state, false));
        };
        if now < until {
            return Err(held_back(format!("{} calls failed in a row", state.failures)));
        }
        // The other calls wait for the result of this one.
        state.open_until = Some(now + state.open_for);
        Ok(self.begin(&mut state, true))
    }

    /// Admits a call whatever the state of the circuit.
    pub(super) fn watch(&self) -> CallInFlight<'_> {
        self.begin(&mut self.state(), false)
    }

    fn begin(&self, state: &mut State, is_probe: bool) -> CallInFlight<'_> {
        if state.in_flight == 0 {
            state.quiet_since = Some(Instant::now());
        }
        state.in_flight += 1;
        CallInFlight { breaker: self, is_probe, ended: false }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics half-way while it holds this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for State {
    fn default() -> Self {
        Self {
            in_flight: 0,
            quiet_since: None,
            failures: 0,
            pauses: Doubling::new(FIRST_OPEN, LONGEST_OPEN),
            open_for: Duration::ZERO,
            open_until: None,
        }
    }
}

impl State {
    fn answered(&mut self, now: Instant) {
        self.quiet_since = Some(now);
        (self.failures, self.open_until) = (0, None);
        self.pauses.reset();
    }

    fn failed(&mut self, now: Instant, was_probe: bool) {
        self.failures = self.failures.saturating_add(1);
        // Calls that were in flight together fail together, which is no reason to keep the circuit open for longer.
        if self.failures >= FAILURES && (was_probe || self.open_until.is_none()) {
            self.open_for = self.pauses.next();
            self.open_until = Some(now + self.open_for);
        }
    }
}

impl CallInFlight<'_> {
    /// Records the result of the call. It is a failure of the node if every answer says that the node is down.
    pub(super) fn ended<T>(mut self, answers: &[Result<T, StoreError>]) {
        if answers.is_empty() {
            // Nothing was asked, so the result says nothing about the node.
            return;
        }
        let now = Instant::now();
        let mut state = self.breaker.state();
        if answers.iter().all(is_down) {
            state.failed(now, self.is_probe);
        } else {
            state.answered(now);
        }
        state.in_flight -= 1;
        self.ended = true;
    }
}

impl Drop for CallInFlight<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.breaker.state().in_flight -= 1;
        }
    }
}

fn is_down<T>(answer: &Result<T, StoreError>) -> bool {
    matches!(
        answer,
        Err(StoreError::Unavailable { .. } | StoreError::TimedOut { .. } | StoreError::ReplyLost { .. })
    )
}

fn held_back(why: String) -> StoreError {
    StoreError::unavailable(format!("it gets no calls for a moment: {why}"))
}
