//! Renewals on their way to the store, and what their answers do to the leases.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use futures_util::future::join_all;
use tokio::time::timeout;

use super::{End, all_well, ask::ask_each};
use crate::{
    core::{LossReason, Moment},
    lease::{RenewError, shared::LeaseShared},
    listeners::statistics::Stopwatch,
    manager::happening::Happening,
    runtime::{responder::Responder, supervisor::message_of},
    store::{Renewed, StoreError},
};

/// A renewal to be sent.
pub(crate) struct Renewing {
    pub(crate) lease: Arc<LeaseShared>,
    pub(crate) sent: Moment,
    /// The time to wait for the answer.
    pub(crate) timeout: Duration,
    /// The way back to whoever asked for it; nobody did if it goes with another of its set.
    pub(crate) reply: Option<Responder<Result<Duration, RenewError>>>,
}

/// Groups renewals by remaining time, so that an urgent one never waits for a relaxed one.
pub(super) async fn renew(end: End, batch: Vec<Renewing>) {
    let mut alike = BTreeMap::<_, Vec<_>>::new();
    for renewal in batch {
        let urgency = u64::try_from(renewal.timeout.as_millis()).unwrap_or(u64::MAX).max(1).ilog2();
        alike.entry(urgency).or_default().push(renewal);
    }
    join_all(alike.into_values().map(|batch| renew_alike(&end, batch))).await;
}

async fn renew_alike(end: &End, batch: Vec<Renewing>) {
    let within = batch.iter().map(|renewal| renewal.timeout).min().unwrap_or_default();
    let asked: Vec<_> =
        batch.iter().map(|renewal| (renewal.lease.hold(), renewal.lease.acquisition.ttl)).collect();
    let stopwatch = Stopwatch::start();
    let answers = timeout(within, ask_each("renew", asked.len(), || end.store.renew_each(&asked))).await;
    let answers = answers.unwrap_or_else(|_| vec![Err(StoreError::timed_out(within)); batch.len()]);
    stopwatch.store_answered(&end.stats, "renew", all_well(&answers));
    for (renewal, answer) in batch.into_iter().zip(answers) {
        let (answer, record) = (end.outage.seen("renew", answer), renewal.lease.record);
        // The clock of the application may panic, which must not cost the neighbours their answers.
        match catch_unwind(AssertUnwindSafe(|| renewal.answered(answer))) {
            Ok(happening) => happening.into_iter().for_each(|happening| end.answers.push(happening)),
            Err(panic) => {
                tracing::error!(
                    panic = message_of(panic.as_ref()),
                    "an answer of the store could not be acted on"
                );
                end.answers.push(Happening::RenewalMissed(record));
            }
        }
    }
}

impl Renewing {
    /// Does what the answer says, without the manager, which may be on its way back from a panic. Returns what it has to hear.
    fn answered(self, answer: Result<Renewed, StoreError>) -> Option<Happening> {
        let Self { lease, sent, reply, .. } = self;
        let late = planted!("validity counted from the reply to a renewal");
        let sent = if late { lease.clock.now() } else { sent };
        let lost = || Err(RenewError::Lost { reason: lease.loss() });
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
                lease.missed(&error);
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
