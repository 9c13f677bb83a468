//! The log of outages: a line when the store begins to fail, one a minute while it does, and one when it serves again.
//!
//! What fails are thousands of attempts, renewals and releases; each of them is logged at debug alone.

use std::{cell::RefCell, error::Error, sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{actor::stats::Recorder, store::StoreError};

/// How often an outage is told while it lasts.
const EVERY: Duration = Duration::from_secs(60);

/// For how long nothing may have failed before the store is said to serve again.
const CALM: Duration = Duration::from_secs(1);

/// What is seen of the store by the answers to all verbs, and by whether it announces hand-overs.
pub(crate) struct Outage {
    running: RefCell<Option<Running>>,
    stats: Arc<Recorder>,
}

/// An outage that has not ended.
struct Running {
    began: Instant,
    last_failure: Instant,
    /// Whether a verb was served since.
    served: bool,
    /// Whether hand-overs are not heard of.
    deaf: bool,
    verbs_failed: u64,
    last_error: String,
    next_line: Instant,
    /// Whether anything has failed since the last line.
    news: bool,
}

impl Outage {
    pub(crate) fn new(stats: Arc<Recorder>) -> Self {
        Self { running: RefCell::new(None), stats }
    }

    /// Takes note of the answer to a verb, which comes back unchanged.
    pub(crate) fn seen<T>(&self, verb: &str, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        match &answer {
            Err(error) if is_outage(error) => self.failed(verb, error).verbs_failed += 1,
            // What was never sent says nothing.
            Err(StoreError::Unsupported { .. }) => {}
            Ok(_) | Err(_) => self.served(false),
        }
        answer
    }

    /// Takes note of the answers to verbs that travelled together.
    pub(crate) fn seen_each<T>(
        &self,
        verb: &str,
        answers: Vec<Result<T, StoreError>>,
    ) -> Vec<Result<T, StoreError>> {
        answers.into_iter().map(|answer| self.seen(verb, answer)).collect()
    }

    /// Hand-overs are not heard of any more, or not yet.
    pub(crate) fn deaf(&self, error: &StoreError) {
        self.failed("listen", error).deaf = true;
    }

    /// Hand-overs are heard of.
    pub(crate) fn listening(&self) {
        self.served(true);
    }

    fn served(&self, listens: bool) {
        if let Some(running) = &mut *self.running.borrow_mut() {
            running.served = true;
            running.deaf &= !listens;
        }
    }

    fn failed(&self, verb: &str, error: &StoreError) -> std::cell::RefMut<'_, Running> {
        let now = Instant::now();
        std::cell::RefMut::map(self.running.borrow_mut(), |running| {
            let running = running.get_or_insert_with(|| begin(verb, error, now));
            running.last_failure = now;
            running.served = false;
            running.news = true;
            running.last_error = told(error);
            running
        })
    }

    /// Tells what there is to tell. To be called about once a second.
    pub(crate) fn look(&self) {
        let now = Instant::now();
        let mut outage = self.running.borrow_mut();
        let Some(running) = &mut *outage else { return };
        let releases_unconfirmed = self.stats.releases_unconfirmed();
        if running.deaf {
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
            if std::mem::take(&mut running.news) || running.deaf || releases_unconfirmed > 0 {
                let Running { verbs_failed, deaf, ref last_error, .. } = *running;
                let lasting = whole_millis(now - running.began);
                tracing::warn!(
                    ?lasting,
                    verbs_failed,
                    releases_unconfirmed,
                    hears_hand_overs = !deaf,
                    error = last_error,
                    "the store still fails"
                );
            }
        }
    }
}

/// Tells that an outage has begun.
fn begin(verb: &str, error: &StoreError, now: Instant) -> Running {
    let last_error = told(error);
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
        deaf: false,
        verbs_failed: 0,
        last_error,
        next_line: now + EVERY,
        news: false,
    }
}

/// Whether the store did not serve. Other errors are about what was asked.
const fn is_outage(error: &StoreError) -> bool {
    error.is_transient() || matches!(error, StoreError::Denied { .. })
}

fn whole_millis(duration: Duration) -> Duration {
    Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// An error in one line, with each of its sources that it does not tell itself.
pub(crate) fn told(error: &dyn Error) -> String {
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let text = error.to_string();
        if !told.contains(&text) {
            told = format!("{told}: {text}");
        }
        source = error.source();
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_told_once() {
        let source = || Some(Arc::new(std::io::Error::other("refused")) as _);
        let shown = StoreError::Unavailable { reason: "127.0.0.1:1: refused".to_owned(), source: source() };
        assert_eq!(told(&shown), "the store is not available: 127.0.0.1:1: refused");
        let hidden = StoreError::Unavailable { reason: "127.0.0.1:1".to_owned(), source: source() };
        assert_eq!(told(&hidden), "the store is not available: 127.0.0.1:1: refused");
    }
}
