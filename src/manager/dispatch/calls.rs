//! The calls to the store for batches of operations, and the way back of their answers.

use std::{collections::BTreeMap, rc::Rc, sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::time::timeout;

use crate::{
    core::{LossReason, Moment},
    lease::{LeaseShared, RecordKey, RenewError},
    listeners::statistics::{Recorder, Stopwatch},
    manager::{
        Attempt, Happening, Happenings, Outage,
        dispatch::ask::{ask, ask_each},
    },
    runtime::{responder::Responder, supervisor::caught},
    store::{Hold, Renewed, Store, StoreError},
};

pub(crate) struct ReleaseCall {
    pub(crate) record: RecordKey,
    pub(crate) hold: Hold,
    pub(crate) cooldown: Duration,
}

/// A hand-off of a lock to the next waiter, to be sent.
pub(crate) struct HandOffCall {
    pub(crate) from: ReleaseCall,
    /// The attempt of the waiter to which the lock is handed off.
    pub(crate) attempt: Attempt,
    /// True if that waiter comes before all waiters in the store.
    pub(crate) overtake: bool,
}

pub(crate) struct RenewalCall {
    pub(crate) lease: Arc<LeaseShared>,
    pub(crate) sent: Moment,
    /// The time to wait for the answer.
    pub(crate) timeout: Duration,
    /// The way back to whoever asked for it; nobody did if it goes with another of its set.
    pub(crate) reply: Option<Responder<Result<Duration, RenewError>>>,
}

/// The far end of every batch: the store, the log of its outages, the counters, and the way back.
#[derive(Clone)]
pub(crate) struct FarEnd {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) outage: Rc<Outage>,
    pub(crate) stats: Arc<Recorder>,
    pub(crate) answers: Happenings,
}

impl FarEnd {
    pub(super) async fn attempt(self, batch: Vec<Attempt>) {
        let asked: Vec<_> = batch.iter().map(|attempt| Arc::clone(&attempt.acquisition)).collect();
        let stopwatch = Stopwatch::start();
        let outcomes = ask_each("acquire", asked.len(), || self.store.acquire_each(&asked)).await;
        for (attempt, outcome) in batch.into_iter().zip(self.seen("acquire", stopwatch, outcomes)) {
            self.answers.push(Happening::Attempted(attempt, outcome));
        }
    }

    pub(super) async fn release(self, batch: Vec<ReleaseCall>) {
        let asked: Vec<_> = batch.iter().map(|release| (&release.hold, release.cooldown)).collect();
        let stopwatch = Stopwatch::start();
        let answers = ask_each("release", asked.len(), || self.store.release_each(&asked)).await;
        for (release, answer) in batch.iter().zip(self.seen("release", stopwatch, answers)) {
            self.answers.push(Happening::Released(release.record, answer));
        }
    }

    /// Sends each hand-off by itself. A resource has at most one at a time, so there is nothing to gather.
    pub(super) async fn hand_off(self, batch: Vec<HandOffCall>) {
        let one = async |HandOffCall { from, mut attempt, overtake }: HandOffCall| {
            let stopwatch = Stopwatch::start();
            let question = || self.store.hand_off(&from.hold, &attempt.acquisition, overtake);
            let answer = ask("hand_off", question).await;
            stopwatch.store_answered(&self.stats, "hand_off", answer.is_ok());
            let (released, acquired) = match self.outage.seen("hand_off", answer) {
                Ok(handed_off) => {
                    attempt.overtook = overtake && handed_off.others_wait;
                    (Ok(handed_off.released), handed_off.acquired)
                }
                Err(error) => (Err(error.clone()), Err(error)),
            };
            self.answers.push(Happening::Attempted(attempt, acquired));
            self.answers.push(Happening::Released(from.record, released));
        };
        join_all(batch.into_iter().map(one)).await;
    }

    /// Groups renewals by remaining time, so that an urgent one never waits for a relaxed one.
    pub(super) async fn renew(self, batch: Vec<RenewalCall>) {
        let mut alike = BTreeMap::<_, Vec<_>>::new();
        for renewal in batch {
            let urgency = u64::try_from(renewal.timeout.as_millis()).unwrap_or(u64::MAX).max(1).ilog2();
            alike.entry(urgency).or_default().push(renewal);
        }
        join_all(alike.into_values().map(|batch| self.renew_alike(batch))).await;
    }

    async fn renew_alike(&self, batch: Vec<RenewalCall>) {
        let within = batch.iter().map(|renewal| renewal.timeout).min().unwrap_or_default();
        let asked: Vec<_> =
            batch.iter().map(|renewal| (renewal.lease.hold(), renewal.lease.terms.acquisition.ttl)).collect();
        let stopwatch = Stopwatch::start();
        let answers = timeout(within, ask_each("renew", asked.len(), || self.store.renew_each(&asked))).await;
        let answers = answers.unwrap_or_else(|_| vec![Err(StoreError::timed_out(within)); batch.len()]);
        for (renewal, answer) in batch.into_iter().zip(self.seen("renew", stopwatch, answers)) {
            let (lease, sent) = (Arc::clone(&renewal.lease), renewal.sent);
            // The clock of the application may panic, which must not cost the neighbours their answers.
            match caught(|| renewal.answered(answer)) {
                Ok(happening) => happening.into_iter().for_each(|happening| self.answers.push(happening)),
                Err(panic) => {
                    tracing::error!(panic, "an answer of the store could not be acted on");
                    lease.has_no_answer(sent);
                    self.answers.push(Happening::RenewalMissed(lease.record));
                }
            }
        }
    }

    /// Records the answers to one call, and returns them unchanged.
    fn seen<T>(
        &self,
        verb: &'static str,
        stopwatch: Stopwatch,
        answers: Vec<Result<T, StoreError>>,
    ) -> impl Iterator<Item = Result<T, StoreError>> {
        stopwatch.store_answered(&self.stats, verb, answers.iter().all(Result::is_ok));
        answers.into_iter().map(move |answer| self.outage.seen(verb, answer))
    }
}

impl RenewalCall {
    /// Does what the answer says, without the manager, which may be on its way back from a panic. Returns what it has to hear.
    fn answered(self, answer: Result<Renewed, StoreError>) -> Option<Happening> {
        let Self { lease, sent, reply, .. } = self;
        let late = planted!("validity counted from the reply to a renewal");
        let sent = if late { lease.clock.now() } else { sent };
        let lost = || Err(lease.not_renewed());
        let renewed = match answer {
            Ok(Renewed::Extended) if lease.renewed(sent) => Ok(()),
            Ok(Renewed::Extended) => {
                lease.expire();
                lost()
            }
            Ok(Renewed::NotHeld) => {
                lease.lose(LossReason::NotHeld);
                lost()
            }
            Err(error) => {
                lease.missed(sent, &error);
                Err(RenewError::Store(error))
            }
        };
        let happening = match &renewed {
            Ok(()) => None,
            Err(RenewError::Lost { .. }) => Some(Happening::Lost(lease.record)),
            Err(_) => Some(Happening::RenewalMissed(lease.record)),
        };
        if let Some(reply) = reply {
            reply.answer(renewed.map(|()| lease.remaining()));
        }
        happening
    }
}
