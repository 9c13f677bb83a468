//! The log of outages: a line when the store begins to fail, one a minute while it does, and one when it serves again.
//!
//! An outage makes thousands of attempts, renewals and releases fail. Each of these failures is logged at debug level only.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;

use crate::{core::one_line, statistics::Recorder, store::StoreError};

/// The interval between two lines about an outage that lasts.
const EVERY: Duration = Duration::from_secs(60);

/// The time without a failure after which the store is said to serve again.
const CALM: Duration = Duration::from_secs(1);

/// The state of the store, according to the answers to all operations and to the subscription of the inbox.
pub(crate) struct Outage {
    running: RefCell<Option<Running>>,
    /// True if the store has served since the last failure, and since the last [`check`](Self::check). An answer does not
    /// read the clock.
    serves: Cell<bool>,
    /// The last check at which it had served, if it has not failed since.
    served_at: Cell<Option<Instant>>,
    stats: Arc<Recorder>,
}

/// An outage that has not ended.
struct Running {
    began: Instant,
    last_failure: Instant,
    /// True if an operation was served since the last failure.
    served: bool,
    /// True while hand-overs are not notified, because the inbox is disconnected.
    disconnected: bool,
    verbs_failed: u64,
    last_error: String,
    next_line: Instant,
    /// True if anything has failed since the last line.
    news: bool,
}

impl Outage {
    pub(crate) fn new(stats: Arc<Recorder>) -> Self {
        Self { running: RefCell::new(None), serves: Cell::new(false), served_at: Cell::new(None), stats }
    }

    /// Returns true if the store has served within about this time, and has not failed since.
    pub(crate) fn served_within(&self, time: Duration) -> bool {
        self.serves.get() || self.served_at.get().is_some_and(|served| served.elapsed() <= time)
    }

    /// Records the answer to an operation, and returns it unchanged.
    pub(crate) fn seen<T>(&self, verb: &str, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        match &answer {
            Err(error) if is_outage(error) => self.failed(verb, error).verbs_failed += 1,
            // An operation that was never sent says nothing about the store.
            Err(StoreError::Unsupported { .. }) => return answer,
            Ok(_) | Err(_) => self.served(false),
        }
        // A store that executes nothing until its configuration changes answers, and does not serve.
        let failed = |error| is_outage(error) || matches!(error, StoreError::Misconfigured { .. });
        let serves = !answer.as_ref().is_err_and(failed);
        self.serves.set(serves);
        if !serves {
            self.served_at.set(None);
        }
        answer
    }

    /// Records that the inbox is disconnected: notifications do not arrive any more, or not yet.
    pub(crate) fn disconnected(&self, error: &StoreError) {
        self.failed("listen", error).disconnected = true;
    }

    /// Records that the inbox is subscribed: notifications arrive.
    pub(crate) fn subscribed(&self) {
        self.served(true);
    }

    fn served(&self, subscribed: bool) {
        if let Some(running) = &mut *self.running.borrow_mut() {
            running.served = true;
            running.disconnected &= !subscribed;
        }
    }

    fn failed(&self, verb: &str, error: &StoreError) -> std::cell::RefMut<'_, Running> {
        let now = Instant::now();
        std::cell::RefMut::map(self.running.borrow_mut(), |running| {
            let running = running.get_or_insert_with(|| begin(verb, error, now));
            running.last_failure = now;
            running.served = false;
            running.news = true;
            running.last_error = one_line(error);
            running
        })
    }

    /// Notes when the store served last, and logs the state of an outage, if a line is due. Must be called about once a second.
    pub(crate) fn check(&self) {
        let now = Instant::now();
        if self.serves.take() {
            self.served_at.set(Some(now));
        }
        let mut outage = self.running.borrow_mut();
        let Some(running) = &mut *outage else { return };
        let releases_unconfirmed = self.stats.releases_unconfirmed();
        if running.disconnected {
            running.last_failure = now;
        } else if running.served && now - running.last_failure >= CALM {
            let lasted = whole_millis(running.last_failure - running.began);
            let verbs_failed = running.verbs_failed;
            tracing::info!(?lasted, verbs_failed, releases_unconfirmed, "the store serves again");
            *outage = None;
            return;
        }
        if now >= running.next_line {
            running.next_line = now + EVERY;
            if std::mem::take(&mut running.news) || running.disconnected || releases_unconfirmed > 0 {
                let Running { verbs_failed, disconnected, ref last_error, .. } = *running;
                let lasting = whole_millis(now - running.began);
                tracing::warn!(
                    ?lasting,
                    verbs_failed,
                    releases_unconfirmed,
                    subscribed = !disconnected,
                    error = last_error,
                    "the store still fails"
                );
            }
        }
    }
}

/// Logs that an outage has begun, and returns its record.
fn begin(verb: &str, error: &StoreError, now: Instant) -> Running {
    let last_error = one_line(error);
    match error {
        StoreError::Denied { .. } => tracing::warn!(
            verb,
            error = last_error,
            "the store denies access; look at the user, its password and its rights"
        ),
        _ => tracing::warn!(verb, error = last_error, "the store fails"),
    }
    Running {
        began: now,
        last_failure: now,
        served: false,
        disconnected: false,
        verbs_failed: 0,
        last_error,
        next_line: now + EVERY,
        news: false,
    }
}

/// Returns true if the store did not serve. Other errors are about what was asked.
const fn is_outage(error: &StoreError) -> bool {
    error.is_transient() || matches!(error, StoreError::Denied { .. })
}

fn whole_millis(duration: Duration) -> Duration {
    Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_store_serves_that_has_executed_something_lately_and_has_not_failed_since() {
        let outage = Outage::new(Arc::new(Recorder::new()));
        let seen = |answer| drop(outage.seen("acquire", answer));
        let (lately, reason) = (Duration::from_secs(5), || "a test".to_owned());
        assert!(!outage.served_within(lately), "nothing is known yet");
        for failure in [
            StoreError::unavailable(reason()),
            StoreError::Denied { reason: reason() },
            StoreError::Misconfigured { reason: reason() },
        ] {
            seen(Ok(()));
            assert!(outage.served_within(lately));
            seen(Err(failure));
            assert!(!outage.served_within(lately));
        }
        seen(Ok(()));
        outage.check();
        tokio::time::advance(lately).await;
        assert!(outage.served_within(lately));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!outage.served_within(lately));
    }
}
