//! Defaults and limits for requests.

use std::time::Duration;

use crate::core::{Backoff, InvalidValue, exact};

/// The shortest TTL that leaves room for the drift allowance, the guard band and a renewal.
pub const SHORTEST_TTL: Duration = Duration::from_millis(50);

/// The defaults of a lock manager for requests, and the limits of what a request may ask for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The TTL of a lease. Default: 30 s.
    pub ttl: Duration,
    /// The interval between renewals of a lease with that TTL. Another TTL is renewed in the same proportion. Must be
    /// less than half of [`ttl`](Self::ttl), so that one renewal may fail. Default: 10 s.
    pub renewal_interval: Duration,
    /// The time that a request waits for a resource that is held. Zero is a try. Default: zero.
    pub wait: Duration,
    /// The pauses between attempts. Default: [`Backoff::DEFAULT`].
    pub backoff: Backoff,
    /// The longest TTL that a request may ask for. Default: 24 h.
    pub max_ttl: Duration,
    /// The longest wait that a request may ask for. Default: 24 h.
    pub max_wait: Duration,
    /// The TTL of a queue ticket: the time for which the store keeps it after the manager last refreshed it. The
    /// manager refreshes it three times as often. Default: 20 s.
    pub ticket_ttl: Duration,
    /// The time that a waiter has to take up a lease that is handed over to it. A dead waiter at the head of the queue
    /// costs this much. Default: 1 s.
    pub grant_window: Duration,
    /// The maximum number of waiters for one resource; one more is answered `QueueFull` at once. Default: 10,000.
    pub max_waiters: u32,
    /// The maximum number of hand-offs in a row among the waiters of one manager while others wait in the store. A hand-off
    /// takes one command and wakes nobody. It is therefore the fastest way to serve a waiter. The higher this limit, the
    /// less fair the order. 0 is strictly the order of arrival, in all managers together. Default: 16.
    pub local_handover_limit: u32,
    /// The maximum number of pending requests in one manager; one more is answered `Busy` at once. Default: 100,000.
    pub max_pending: usize,
    /// The pause before a crashed actor is restarted; doubled with each crash in a row. Default: 10 ms.
    pub restart_pause: Duration,
    /// The longest such pause. Default: 1 s.
    pub max_restart_pause: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(30),
            renewal_interval: Duration::from_secs(10),
            wait: Duration::ZERO,
            backoff: Backoff::DEFAULT,
            max_ttl: Duration::from_secs(24 * 3600),
            max_wait: Duration::from_secs(24 * 3600),
            ticket_ttl: Duration::from_secs(20),
            grant_window: Duration::from_secs(1),
            max_waiters: 10_000,
            local_handover_limit: 16,
            max_pending: 100_000,
            restart_pause: Duration::from_millis(10),
            max_restart_pause: Duration::from_secs(1),
        }
    }
}

impl Settings {
    /// Checks every bound, and the relations between them.
    ///
    /// # Errors
    /// The first [`InvalidValue`], named as in `config.toml`; a broken relation names both settings.
    pub fn check(&self) -> Result<(), InvalidValue> {
        in_range("limits.max_ttl", self.max_ttl, SHORTEST_TTL, Duration::from_secs(7 * 24 * 3600))?;
        in_range("limits.max_wait", self.max_wait, Duration::ZERO, Duration::from_secs(7 * 24 * 3600))?;
        in_range("lease.ttl", self.ttl, SHORTEST_TTL, self.max_ttl)?;
        in_range("wait.timeout", self.wait, Duration::ZERO, self.max_wait)?;
        if self.renewal_interval.is_zero() || self.renewal_interval >= self.ttl / 2 {
            let allowed = format!("more than zero, and less than half of lease.ttl ({})", exact(self.ttl));
            return Err(InvalidValue::new("lease.renewal_interval", exact(self.renewal_interval), allowed));
        }
        in_range("wait.ticket_ttl", self.ticket_ttl, Duration::from_secs(1), Duration::from_secs(3600))?;
        in_range("wait.grant_window", self.grant_window, SHORTEST_TTL, self.ticket_ttl)?;
        if self.max_waiters == 0 {
            return Err(InvalidValue::new("limits.max_waiters", self.max_waiters, "1 or more"));
        }
        if self.max_pending == 0 {
            return Err(InvalidValue::new("limits.max_pending", self.max_pending, "1 or more"));
        }
        if self.restart_pause.is_zero() || self.restart_pause > self.max_restart_pause {
            let allowed = format!(
                "more than zero, and at most supervision.max_restart_pause ({})",
                exact(self.max_restart_pause)
            );
            return Err(InvalidValue::new("supervision.restart_pause", exact(self.restart_pause), allowed));
        }
        in_range(
            "supervision.max_restart_pause",
            self.max_restart_pause,
            self.restart_pause,
            Duration::from_secs(60),
        )
    }

    /// Returns the interval between renewals of a lease with this TTL.
    pub(crate) fn renewal_interval_of(&self, ttl: Duration) -> Duration {
        ttl.mul_f64(self.renewal_interval.as_secs_f64() / self.ttl.as_secs_f64())
    }
}

/// Refuses a duration outside of its bounds.
pub(crate) fn in_range(
    field: &str,
    value: Duration,
    least: Duration,
    most: Duration,
) -> Result<(), InvalidValue> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(InvalidValue::new(field, exact(value), format!("{} to {}", exact(least), exact(most))))
}
