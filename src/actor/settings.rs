//! What a lock manager assumes where a request does not say.

use std::time::Duration;

use crate::protocol::{Backoff, Invalid, exact};

/// The shortest TTL that leaves room for the drift allowance, the guard band and a renewal.
pub const SHORTEST_TTL: Duration = Duration::from_millis(50);

/// What a lock manager assumes where a request does not say, and the bounds of what a request may say.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The TTL of a lease. Default: 30 s.
    pub ttl: Duration,
    /// How often a lease with that TTL is renewed; another TTL is renewed in the same proportion. Must be less than
    /// half of [`ttl`](Self::ttl), so that one renewal may fail. Default: 10 s.
    pub renewal_interval: Duration,
    /// How long a request waits for a resource that is held. Zero is a try. Default: zero.
    pub wait: Duration,
    /// The pauses between attempts. Default: [`Backoff::DEFAULT`].
    pub backoff: Backoff,
    /// The longest TTL that a request may ask for. Default: 24 h.
    pub max_ttl: Duration,
    /// The longest wait that a request may ask for. Default: 24 h.
    pub max_wait: Duration,
    /// How long the store keeps the place of a waiter in the queue after the last time the manager refreshed it, which
    /// it does three times as often. Default: 20 s.
    pub patience: Duration,
    /// How long a lease that is handed over to a waiter waits for it to take it up: what a dead waiter at the head of
    /// the queue costs. Default: 1 s.
    pub grant_window: Duration,
    /// How many may wait for one resource; one more is answered `QueueFull` at once. Default: 10,000.
    pub max_waiters: u32,
    /// How often in a row one manager passes a resource on among its own waiters while others wait for it in the store.
    /// Passing on takes one command and wakes nobody, so it is the fastest there is, and the less fair the higher this
    /// is; 0 is strictly the order of arrival, in all managers together. Default: 16.
    pub local_handover_limit: u32,
    /// How many requests may be pending in one manager; one more is answered `Busy` at once. Default: 100,000.
    pub max_pending: usize,
    /// The pause before a crashed actor is started again; doubled with each crash in a row. Default: 10 ms.
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
            patience: Duration::from_secs(20),
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
    /// The first [`Invalid`], named as in `config.toml`; a broken relation names both settings.
    pub fn check(&self) -> Result<(), Invalid> {
        in_range("limits.max_ttl", self.max_ttl, SHORTEST_TTL, Duration::from_secs(7 * 24 * 3600))?;
        in_range("limits.max_wait", self.max_wait, Duration::ZERO, Duration::from_secs(7 * 24 * 3600))?;
        in_range("lease.ttl", self.ttl, SHORTEST_TTL, self.max_ttl)?;
        in_range("wait.timeout", self.wait, Duration::ZERO, self.max_wait)?;
        if self.renewal_interval.is_zero() || self.renewal_interval >= self.ttl / 2 {
            let allowed = format!("more than zero, and less than half of lease.ttl ({})", exact(self.ttl));
            return Err(Invalid::new("lease.renewal_interval", exact(self.renewal_interval), allowed));
        }
        in_range("wait.patience", self.patience, Duration::from_secs(1), Duration::from_secs(3600))?;
        in_range("wait.grant_window", self.grant_window, SHORTEST_TTL, self.patience)?;
        if self.max_waiters == 0 {
            return Err(Invalid::new("limits.max_waiters", self.max_waiters, "1 or more"));
        }
        if self.max_pending == 0 {
            return Err(Invalid::new("limits.max_pending", self.max_pending, "1 or more"));
        }
        if self.restart_pause.is_zero() || self.restart_pause > self.max_restart_pause {
            let allowed = format!(
                "more than zero, and at most supervision.max_restart_pause ({})",
                exact(self.max_restart_pause)
            );
            return Err(Invalid::new("supervision.restart_pause", exact(self.restart_pause), allowed));
        }
        in_range(
            "supervision.max_restart_pause",
            self.max_restart_pause,
            self.restart_pause,
            Duration::from_secs(60),
        )
    }

    /// How often a lease of this TTL is renewed.
    pub(crate) fn renewal_interval_of(&self, ttl: Duration) -> Duration {
        ttl.mul_f64(self.renewal_interval.as_secs_f64() / self.ttl.as_secs_f64())
    }
}

/// Refuses a duration outside of its bounds.
pub(crate) fn in_range(field: &str, value: Duration, least: Duration, most: Duration) -> Result<(), Invalid> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, exact(value), format!("{} to {}", exact(least), exact(most))))
}
