//! The circuit breaker of a node: one that is down or silent gets no calls, except a probe now and then.

use std::time::Duration;

use tokio::time::Instant;

use crate::store::StoreError;

/// The number of consecutive failed calls after which the circuit of a node opens.
const FAILURES: u32 = 3;
const FIRST_OPEN: Duration = Duration::from_millis(50);
const LONGEST_OPEN: Duration = Duration::from_secs(1);

/// The circuit breaker of one node, fed by the results of its calls.
#[derive(Debug, Default)]
pub(super) struct CircuitBreaker {
    in_flight: usize,
    /// The time of its last answer, or of the first call after that. It counts only while calls are in flight.
    quiet_since: Option<Instant>,
    failures: u32,
    /// While the circuit is open, the time for which it opens again, and the time of the next probe.
    open: Option<(Duration, Instant)>,
}

/// A call that was let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// The circuit is closed, or was not asked.
    Usual,
    /// The call is a probe, whose answer closes the circuit.
    Probe,
}

impl CircuitBreaker {
    /// Begins a call, unless the node has been silent for longer than `silence` with calls in flight, or its circuit is
    /// open. When the open time is over, the circuit is half-open: one call is let through as a probe.
    pub(super) fn admit(&mut self, silence: Duration, now: Instant) -> Result<Passage, StoreError> {
        let quiet = self.quiet_since.filter(|_| self.in_flight > 0).map(|since| now.duration_since(since));
        if let Some(quiet) = quiet.filter(|quiet| *quiet > silence) {
            return Err(held_back(format!("it has been silent for {quiet:.0?}")));
        }
        let Some((open_for, until)) = &mut self.open else { return Ok(self.begin(now)) };
        if now < *until {
            return Err(held_back(format!("{} calls failed in a row", self.failures)));
        }
        // The other calls wait for the result of this one.
        *until = now + *open_for;
        self.begin(now);
        Ok(Passage::Probe)
    }

    /// Begins a call whatever the state of the circuit.
    pub(super) fn begin(&mut self, now: Instant) -> Passage {
        if self.in_flight == 0 {
            self.quiet_since = Some(now);
        }
        self.in_flight += 1;
        Passage::Usual
    }

    /// Records the result of a call. It is a failure of the node if every answer says that the node is down. A call without
    /// answers says nothing: it was dropped, or nothing was asked.
    pub(super) fn ended<T>(&mut self, passage: Passage, answers: &[Result<T, StoreError>], now: Instant) {
        self.in_flight -= 1;
        let is_down = |answer: &Result<T, _>| answer.as_ref().is_err_and(StoreError::is_of_the_server);
        if !answers.iter().all(is_down) {
            self.quiet_since = Some(now);
            (self.failures, self.open) = (0, None);
        } else if !answers.is_empty() {
            self.failures = self.failures.saturating_add(1);
            // Calls that were in flight together fail together, which is no reason to keep the circuit open for longer.
            if self.failures >= FAILURES && (passage == Passage::Probe || self.open.is_none()) {
                let open_for = self.open.map_or(FIRST_OPEN, |(before, _)| LONGEST_OPEN.min(2 * before));
                self.open = Some((open_for, now + open_for));
            }
        }
    }
}

fn held_back(why: String) -> StoreError {
    StoreError::unavailable(format!("it gets no calls for a moment: {why}"))
}
