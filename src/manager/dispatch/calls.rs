//! The calls to the store for batches of operations, and the way back of their answers.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::join_all};
use tokio::time::timeout;

use crate::{
    core::{LossReason, Moment, RecordKey},
    lease::{LeaseShared, RenewError},
    manager::{
        Attempt, Calls, Happening, Happenings,
        dispatch::ask::{ask, ask_each},
    },
    runtime::{responder::Responder, supervisor::caught},
    store::{Hold, Metadata, Renewal, Renewed, StoreError},
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
    /// The metadata that it tells.
    pub(crate) told: Option<Arc<Metadata>>,
    pub(crate) sent: Moment,
    /// The time to wait for the answer.
    pub(crate) timeout: Duration,
    /// The way back to whoever asked for it; nobody did if it goes with another of its set.
    pub(crate) reply: Option<Responder<Result<Duration, RenewError>>>,
}

/// The far end of every batch: the way to the store, and the way back.
#[derive(Clone)]
pub(crate) struct FarEnd {
    pub(crate) calls: Calls,
    pub(crate) answers: Happenings,
}

impl FarEnd {
    pub(super) async fn attempt(self, batch: Vec<Attempt>) {
        let asked: Vec<_> = batch.iter().map(|attempt| Arc::clone(&attempt.acquisition)).collect();
        let outcomes = ask_each("acquire", asked.len(), || self.calls.store.acquire_each(&asked));
        for (attempt, outcome) in batch.into_iter().zip(self.calls.timed_each("acquire", outcomes).await) {
            self.answers.push(Happening::Attempted(attempt, outcome));
        }
    }

    pub(super) async fn release(self, batch: Vec<ReleaseCall>) {
        let asked: Vec<_> = batch.iter().map(|release| (&release.hold, release.cooldown)).collect();
        let answers = ask_each("release", asked.len(), || self.calls.store.release_each(&asked));
        for (release, answer) in batch.iter().zip(self.calls.timed_each("release", answers).await) {
            self.answers.push(Happening::Released(release.record, answer));
        }
    }

    /// Sends each hand-off by itself. A resource has at most one at a time, so there is nothing to gather.
    pub(super) async fn hand_off(self, batch: Vec<HandOffCall>) {
        let one = async |HandOffCall { from, mut attempt, overtake }: HandOffCall| {
            let question = || self.calls.store.hand_off(&from.hold, &attempt.acquisition, overtake);
            let (released, acquired) = match self.calls.timed("hand_off", ask("hand_off", question)).await {
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
        let asked = batch.iter().map(|RenewalCall { lease, told, .. }| Renewal {
            hold: lease.hold(),
            ttl: lease.terms.acquisition.ttl,
            fence: lease.fence,
            metadata: told.clone(),
        });
        let asked: Vec<_> = asked.collect();
        let too_late = |_| vec![Err(StoreError::timed_out(within)); asked.len()];
        let answers = ask_each("renew", asked.len(), || self.calls.store.renew_each(&asked));
        let answers = timeout(within, answers).map(|answers| answers.unwrap_or_else(too_late));
        let answers = self.calls.timed_each("renew", answers).await;
        for (renewal, answer) in batch.into_iter().zip(answers) {
            let (lease, sent) = (Arc::clone(&renewal.lease), renewal.sent);
            // The clock of the application may panic, which must not cost the neighbours their answers.
            match caught(|| renewal.answered(answer)) {
                Ok(happening) => happening.into_iter().for_each(|happening| self.answers.push(happening)),
                Err(panic) => {
                    lease.has_no_answer(sent);
                    self.answers.push(Happening::RenewalMissed(lease.record));
                    tracing::error!(panic, "an answer of the store could not be acted on");
                }
            }
        }
    }
}

impl RenewalCall {
    /// Does what the answer says, without the manager, which may be on its way back from a panic. Returns what it has to hear.
    fn answered(mut self, answer: Result<Renewed, StoreError>) -> Option<Happening> {
        let (lease, reply) = (&self.lease, self.reply.take());
        let late = planted!("validity counted from the reply to a renewal");
        let sent = if late { lease.clock.now() } else { self.sent };
        let lost = || Err(lease.not_renewed());
        let renewed = match answer {
            Ok(Renewed::Extended) if lease.renewed(sent, self.told.as_ref()) => Ok(()),
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

impl Drop for RenewalCall {
    fn drop(&mut self) {
        self.lease.is_back();
    }
}
