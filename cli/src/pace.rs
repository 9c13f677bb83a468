//! The pace of walks over the keys: the more a walk costs, the rarer it is.

use std::time::{Duration, Instant};

/// A walk takes at most this part of the time: one twentieth.
const SHARE: u32 = 20;

/// The longest time until something that failed is asked again.
const RETRIED_AFTER: Duration = Duration::from_secs(1);

/// The pace at which something is asked again and again.
#[derive(Debug)]
pub(crate) struct Pace {
    least: Duration,
    began: Option<Instant>,
    due: Option<Instant>,
}

impl Pace {
    /// Asks at once, and then not more often than this.
    pub(crate) const fn new(least: Duration) -> Self {
        Self { least, began: None, due: None }
    }

    /// Begins if it is due and the last one is over. Returns true if it has begun.
    pub(crate) fn begin(&mut self, now: Instant) -> bool {
        let is_due = self.began.is_none() && self.due.is_none_or(|due| now >= due);
        if is_due {
            self.began = Some(now);
        }
        is_due
    }

    /// Ends what has begun. The next one is due after a pause in proportion to the time that it took.
    pub(crate) fn end(&mut self, now: Instant) {
        if let Some(began) = self.began.take() {
            let took = now.saturating_duration_since(began);
            self.due = began.checked_add(self.least.max(took * SHARE));
        }
    }

    /// Ends what has begun and failed. It is due again soon, so that the end of an outage is seen.
    pub(crate) fn fail(&mut self, now: Instant) {
        if let Some(began) = self.began.take() {
            self.due = Some(now.max(began + self.least.min(RETRIED_AFTER)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_that_takes_long_is_rare() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut pace = Pace::new(Duration::from_secs(1));
        assert!(pace.begin(start));
        assert!(!pace.begin(at(5_000)), "it is under way");
        pace.end(at(10));
        assert!(!pace.begin(at(900)) && pace.begin(at(1_000)));
        pace.end(at(1_500));
        assert!(!pace.begin(at(10_900)) && pace.begin(at(11_000)));
        pace.fail(at(13_000));
        assert!(pace.begin(at(13_000)), "a failure is no reason to wait");
    }
}
