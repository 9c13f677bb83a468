//! The attempts of waiters: sent to the store, and answered.

use std::sync::Arc;

use crate::{
    core::{Answer, Event, Moment, Told},
    lease::RecordKey,
    listeners::statistics::CountedEvent,
    manager::{Attempt, LockManager, Record},
    request::AcquireError,
    store::{self, Acquired, Certainty, StoreError},
};

/// The reason of a request whose attempt was taken back.
pub(crate) const NEVER_SENT: &str =
    "nothing was sent within the wait: too many calls before it have no answer yet";

impl LockManager {
    /// Creates the attempt of a waiter that decided to ask. If it `followed` until now, it leads its cohort from now on.
    /// Validity counts from `sent`: before anything is queued or sent.
    pub(crate) fn start_attempt(
        &mut self,
        record: RecordKey,
        followed: bool,
        sent: Moment,
    ) -> Option<Attempt> {
        let (acquisition, cohort) = self.records.with(record, |it| {
            let cohort = it.cohort.filter(|_| followed && it.arrival.is_some());
            Some((Arc::clone(&it.waiter()?.request.terms.acquisition), cohort))
        })??;
        if let Some(cohort) = cohort {
            self.cohorts.with(cohort, |it| it.lead(record));
        }
        self.stats.note(None, CountedEvent::Attempted);
        Some(Attempt { record, acquisition, sent, overtook: false })
    }

    /// Takes back the attempt of a waiter that has left, if it has not been sent.
    pub(crate) fn withdraw(&self, record: RecordKey) -> bool {
        let attempt = self.records.with(record, |it| {
            let asks = it.decisions.is_asking();
            it.waiter().filter(|_| asks)?.attempt
        });
        attempt.flatten().is_some_and(|attempt| self.sources.withdraw(attempt))
    }

    /// Returns the error of a request none of whose attempts was sent. `None` if the store has answered one.
    pub(crate) fn never_sent(&self, record: RecordKey) -> Option<AcquireError> {
        let first = self.records.with(record, |it| it.decisions.told() == Told::Nothing) == Some(true);
        first.then(|| AcquireError::Store(StoreError::unavailable(NEVER_SENT)))
    }

    /// Handles the answer to an attempt. If its record is gone, it was decided about before the manager panicked.
    pub(crate) fn attempted(&mut self, attempt: &Attempt, outcome: Result<Acquired, StoreError>) {
        let (record, now) = (attempt.record, self.clock.now());
        let (mut failure, mut expected) = (None, None);
        let is_taken = |it: &mut Record| it.waiter().is_some_and(|waiter| waiter.taken);
        let answer = match outcome {
            // A grant may be what was taken, and a later one may still be taken: whoever takes a hold repeats its release until
            // that is certain.
            Ok(Acquired::Granted(_)) if self.records.with(record, is_taken) == Some(true) => {
                let unknown = StoreError::reply_lost("acquire: taken away before the answer was here");
                failure = Some(AcquireError::Store(unknown));
                Answer::Failed { unknown: true, transient: false }
            }
            Ok(Acquired::Granted(grant)) => return self.granted(attempt, grant),
            Ok(Acquired::Refused(refusal)) => {
                let remaining = refusal.remaining;
                expected = self.expect(record, None, &refusal.by, now);
                self.note_answer(record, Ok(refusal));
                Answer::Refused { remaining, ahead: None }
            }
            Ok(Acquired::Queued { refusal, ahead }) => {
                let remaining = refusal.remaining;
                expected = self.expect(record, Some(ahead), &refusal.by, now);
                self.records.with(record, |it| {
                    let news = it.decisions.ahead() != Some(ahead);
                    it.waiter().filter(|_| news).map(|waiter| waiter.tell_queued(ahead, expected))
                });
                self.note_answer(record, Ok(refusal));
                Answer::Refused { remaining, ahead: Some(ahead) }
            }
            Ok(Acquired::Full { waiters }) => {
                failure = Some(AcquireError::QueueFull { waiters });
                Answer::QueueFull
            }
            Err(error) => {
                let unknown = error.certainty() == Certainty::Unknown;
                let transient = error.is_transient();
                if transient {
                    self.note_answer(record, Err(error));
                } else {
                    failure = Some(AcquireError::Store(error));
                }
                Answer::Failed { unknown, transient }
            }
        };
        let event = Event::Answered { sent: attempt.sent, answer };
        let cohort = self.records.with(record, |it| it.cohort).flatten();
        self.on_or_fail(record, event, failure, now);
        self.give_up_if_hopeless(record, expected, now);
        if let Some(cohort) = cohort {
            self.place_followers(cohort, now);
        }
    }

    fn note_answer(&self, record: RecordKey, answer: Result<store::Refusal, StoreError>) {
        let newly_behind = self.records.with(record, |it| {
            let cohort = it.cohort;
            let waiter = it.waiter()?;
            let span = &mut waiter.request.span;
            let behind = answer.as_ref().ok().filter(|refusal| span.waits_behind(&refusal.by.metadata));
            let behind = behind.map(|refusal| refusal.by.metadata.clone());
            waiter.answer = Some(answer);
            Some((cohort?, behind?))
        });
        if let Some((cohort, holder)) = newly_behind.flatten() {
            self.link_followers(cohort, &holder);
        }
    }
}
