//! The log of outages: a line when the store begins to fail, one a minute while it does, and one when it serves again.
//!
//! A process that stood still finds its requests too late, and the store is not blamed for that.
//!
//! An outage makes thousands of attempts, renewals and releases fail. Each of these failures is logged at debug level only.

use std::{
    cell::{Cell, RefCell, RefMut},
    time::Duration,
};

use tokio::time::Instant;

use crate::{core::one_line, runtime::supervisor::caught, store::StoreError};

/// The interval between checks, and between comparisons of the manager's clock with the runtime's.
pub(super) const CHECKED_EVERY: Duration = Duration::from_secs(1);

/// The interval between two lines about an outage that lasts.
const EVERY: Duration = Duration::from_secs(60);

/// The time without a failure after which the store is said to serve again.
const CALM: Duration = Duration::from_secs(1);

/// The time by which a check is late before the process is said to have stood still.
pub(super) const LATE: Duration = Duration::from_millis(500);

/// The state of the store according to the answers to all operations and to the subscription of the inbox.
#[derive(Default)]
pub(crate) struct Outage {
    running: RefCell<Option<Running>>,
    /// True if the store has served since the last failure, and since the last [`check`](Self::check). An answer does not
    /// read the clock.
    serves: Cell<bool>,
    /// The last check at which it had served, if it has not failed since.
    served_at: Cell<Option<Instant>>,
    /// The latest check, or the moment from which they come.
    checked_at: Cell<Option<Instant>>,
    /// The latest moment at which the process was found to have stood still.
    woke_at: Cell<Option<Instant>>,
}

/// An outage that has not ended.
struct Running {
    began: Instant,
    last_failure: Instant,
    /// The moment at which an operation was served after the last failure.
    served: Option<Instant>,
    /// True if the log has its first line. It has none while all that failed may be due to a process that stood still.
    told: bool,
    /// True while hand-overs are not notified, because the inbox is disconnected.
    disconnected: bool,
    verbs_failed: u64,
    last_error: String,
    next_line: Instant,
    /// True if anything has failed since the last line.
    news: bool,
}

impl Outage {
    /// Notes that checks come from now on: the first of them may be late, too.
    pub(super) fn will_be_checked(&self) {
        self.checked_at.set(Some(Instant::now()));
    }

    /// Notes that the process stood still until now.
    pub(super) fn woke(&self) {
        self.woke_at.set(Some(Instant::now()));
    }

    /// Returns true if the process has just gone on after it stood still, also if nobody has noticed that yet.
    fn just_woke(&self, now: Instant) -> bool {
        let within = |at: &Cell<Option<Instant>>, time| at.get().is_some_and(|at| now - at <= time);
        let is_late = self.checked_at.get().is_some() && !within(&self.checked_at, CHECKED_EVERY + LATE);
        is_late || within(&self.woke_at, CALM)
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
            running.served.get_or_insert_with(Instant::now);
            running.disconnected &= !subscribed;
        }
    }

    fn failed(&self, verb: &str, error: &StoreError) -> RefMut<'_, Running> {
        let now = Instant::now();
        RefMut::map(self.running.borrow_mut(), |running| {
            let running = running.get_or_insert_with(|| Running {
                began: now,
                last_failure: now,
                served: None,
                told: false,
                disconnected: false,
                verbs_failed: 0,
                last_error: String::new(),
                next_line: now,
                news: false,
            });
            running.last_failure = now;
            running.served = None;
            running.news = true;
            running.last_error = one_line(error);
            if !running.told && !self.just_woke(now) {
                running.told = true;
                running.next_line = now + EVERY;
                tell(verb, error);
            }
            running
        })
    }

    /// Notes when the store served last, and logs the state of an outage, if a line is due. Must be called about once a second.
    pub(crate) fn check(&self, releases_unconfirmed: u64) {
        let now = Instant::now();
        if self.serves.take() {
            self.served_at.set(Some(now));
        }
        self.checked_at.set(Some(now));
        let mut outage = self.running.borrow_mut();
        let Some(running) = &mut *outage else { return };
        if running.disconnected {
            running.last_failure = now;
        } else if let Some(served) = running.served.filter(|_| now - running.last_failure >= CALM) {
            // An outage of one failure lasted for some time too.
            let lasted = whole_millis(served - running.began).max(Duration::from_millis(1));
            let verbs_failed = running.verbs_failed;
            if running.told {
                tracing::info!(?lasted, verbs_failed, releases_unconfirmed, "the store serves again");
            }
            *outage = None;
            return;
        }
        if now >= running.next_line && !self.just_woke(now) {
            running.next_line = now + EVERY;
            running.told = true;
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

fn tell(verb: &str, error: &StoreError) {
    let what = match error {
        StoreError::Denied { .. } => "the store denies access; look at the user, its password and its rights",
        _ => "the store fails",
    };
    // A panic of a subscriber would take the answers of a batch along.
    drop(caught(|| tracing::warn!(verb, error = one_line(error), "{what}")));
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
        let outage = Outage::default();
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
        outage.check(0);
        tokio::time::advance(lately).await;
        assert!(outage.served_within(lately));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!outage.served_within(lately));
    }

    /// Returns true if a failure is told as one of the store.
    fn is_blamed(outage: &Outage) -> bool {
        drop(outage.seen::<()>("renew", Err(StoreError::timed_out(LATE))));
        outage.running.borrow().as_ref().is_some_and(|running| running.told)
    }

    #[tokio::test(start_paused = true)]
    async fn the_store_is_not_blamed_for_what_fails_when_the_process_stood_still() {
        for (since_check, blamed) in [(CHECKED_EVERY, true), (CHECKED_EVERY + Duration::from_secs(5), false)]
        {
            let outage = Outage::default();
            outage.check(0);
            tokio::time::advance(since_check).await;
            assert_eq!(is_blamed(&outage), blamed);
        }
        let outage = Outage::default();
        outage.check(0);
        outage.woke();
        assert!(!is_blamed(&outage), "a machine that was suspended is a process that stood still");
        tokio::time::advance(CALM + Duration::from_millis(1)).await;
        outage.check(0);
        let told = outage.running.borrow().as_ref().map(|running| running.told);
        assert_eq!(told, Some(true), "nothing was served since");
    }
}
