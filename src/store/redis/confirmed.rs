//! Grants and renewals, in calls that count only when replicas have confirmed them, if that was asked for.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::{Either, join_all, ready};
use redis::Value;

use crate::{
    core::Fence,
    store::{
        Acquired, AcquiredFrom, Acquisition, Hold, Recovered, Renewed, Store, StoreError,
        redis::{
            RedisStore,
            replicas::{self, Confirmed, Shortfall},
            store::weight,
            wire::{batch, decode, lessons, script_call::ScriptCall},
        },
    },
};

impl RedisStore {
    /// Sends a call that grants or renews.
    pub(super) async fn send_counting(&self, call: &ScriptCall) -> Result<Confirmed, StoreError> {
        match &self.replicas {
            None => self.topology.send(call).await.map(Confirmed::from),
            Some(replicas) => replicas.send(call).await,
        }
    }

    /// Sends a call that renews, on a connection of its own: nothing that waits for an answer is ahead of it.
    async fn send_renewals(&self, call: &ScriptCall) -> Result<Confirmed, StoreError> {
        let sent = match &self.replicas_of_renewals {
            None => self.renewals.send(call).await.map(Confirmed::from),
            Some(replicas) => replicas.send(call).await,
        };
        match sent {
            // The server may have no room for one more connection.
            Err(StoreError::Unavailable { .. }) => self.send_counting(call).await,
            sent => sent,
        }
    }

    /// Runs [`Store::acquire_each`] for each of these, in calls that are executed in their order.
    pub(super) async fn acquire_in_order(
        &self,
        asked: Cow<'_, [Arc<Acquisition>]>,
    ) -> Vec<Result<Acquired, StoreError>> {
        if self.replicas.is_none() {
            let answer = |asked| self.acquire_in_calls(asked);
            return batch::in_order(&asked, |asked| weight(asked), |asked| &asked.hold.resource, answer)
                .await;
        }
        // Each call takes a connection of its own, so one of several in flight could overtake another.
        let mut answers = Vec::with_capacity(asked.len());
        for asked in batch::split(&asked, |asked| weight(asked)) {
            answers.extend(self.acquire_in_calls(asked).await);
        }
        answers
    }

    /// Runs [`Store::acquire_each`] for each of these, in one call if the server serves all of them in one.
    async fn acquire_in_calls(&self, asked: &[Arc<Acquisition>]) -> Vec<Result<Acquired, StoreError>> {
        batch::until_served(asked, |open| async move {
            let call = self.encoder.acquire(&open.requests);
            let (answered, shortfall) = replicas::parted(self.send_counting(&call).await);
            self.acquired(&open.requests, answered, shortfall).await
        })
        .await
    }

    /// Runs [`QuorumNode::acquire_each_from`], on one server and in the full layout.
    pub(super) async fn acquire_from(&self, asked: &[Arc<Acquisition>], first: Fence) -> AcquiredFrom {
        if batch::is_one_call(asked, |asked| weight(asked)) {
            return self.acquire_in_calls_from(asked, first).await;
        }
        let calls = batch::split(asked, |asked| weight(asked));
        let mut first = first.get();
        let mut answered = Vec::new();
        for round in batch::rounds(calls, |asked| &asked.hold.resource) {
            let mut sent = Vec::with_capacity(round.len());
            for asked in round {
                let answer = self.acquire_in_calls_from(asked, Fence::new(first));
                first = first.saturating_add(asked.len() as u64);
                // As in `acquire_in_order`.
                match self.replicas {
                    None => sent.push(Either::Left(answer)),
                    Some(_) => sent.push(Either::Right(ready(answer.await))),
                }
            }
            answered.extend(join_all(sent).await);
        }
        let clock = answered.iter().filter_map(|part| part.clock).max();
        let recovered = common(answered.iter().map(|part| part.recovered.clone()));
        AcquiredFrom {
            answers: answered.into_iter().flat_map(|part| part.answers).collect(),
            clock,
            recovered,
        }
    }

    async fn acquire_in_calls_from(&self, asked: &[Arc<Acquisition>], first: Fence) -> AcquiredFrom {
        let told = Mutex::new(Vec::new());
        let answers = batch::until_served(asked, |open| {
            let (told, first) = (&told, first.get().saturating_add(open.ahead));
            async move {
                let call = self.encoder.acquire_from(&open.requests, Fence::new(first));
                let (answered, shortfall) = replicas::parted(self.send_counting(&call).await);
                let (answered, clock_and_recovery) = match answered.and_then(lessons::with_clock) {
                    Ok((answered, clock, recovered)) => (Ok(answered), (Some(clock), recovered)),
                    Err(error) => (Err(error), (None, None)),
                };
                // Nothing under this lock panics half-way.
                told.lock().unwrap_or_else(PoisonError::into_inner).push(clock_and_recovery);
                self.acquired(&open.requests, answered, shortfall).await
            }
        })
        .await;
        let told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
        let clock = told.iter().filter_map(|(clock, _)| *clock).max();
        AcquiredFrom { answers, clock, recovered: common(told.into_iter().map(|(_, recovered)| recovered)) }
    }

    /// Returns the answers to the requests of one call. Grants that replicas did not confirm are released.
    async fn acquired(
        &self,
        asked: &[Arc<Acquisition>],
        answered: Result<Value, StoreError>,
        shortfall: Option<Shortfall>,
    ) -> Vec<Option<Result<Acquired, StoreError>>> {
        let mut answers = decode::each(answered, asked.len(), |number, answer| {
            let asked = &asked[number];
            decode::acquired(answer, asked.mode).map_err(|error| error.about(&asked.hold.resource))
        });
        if let Some(shortfall) = shortfall {
            let holds = asked.iter().map(|asked| &asked.hold);
            let granted = holds
                .zip(&mut answers)
                .filter(|(_, answer)| matches!(answer, Some(Ok(Acquired::Granted(_)))));
            let (holds, granted): (Vec<_>, Vec<_>) = granted.unzip();
            let undone = self.release_unconfirmed(holds).await;
            granted
                .into_iter()
                .zip(undone)
                .for_each(|(answer, undone)| *answer = Some(Err(shortfall.error(undone))));
        }
        answers
    }

    /// Releases grants that replicas did not confirm. Returns true for each whose release is certain.
    pub(super) async fn release_unconfirmed(&self, holds: Vec<&Hold>) -> Vec<bool> {
        let releases: Vec<_> = holds.into_iter().map(|hold| (hold, Duration::ZERO)).collect();
        self.release_each(&releases).await.into_iter().map(|released| released.is_ok()).collect()
    }

    /// Runs [`Store::renew_each`] for each of these, in one call if the server serves all of them in one.
    pub(super) async fn renew_in_calls(
        &self,
        renewals: &[(&Hold, Duration)],
    ) -> Vec<Result<Renewed, StoreError>> {
        batch::until_served(renewals, |open| async move {
            let call = self.encoder.renew(&open.requests);
            let (answered, shortfall) = replicas::parted(self.send_renewals(&call).await);
            decode::each(answered, open.requests.len(), |number, answer| {
                let about = |error: StoreError| error.about(&open.requests[number].0.resource);
                match (decode::renewed(answer).map_err(about)?, &shortfall) {
                    (Renewed::Extended, Some(shortfall)) => Err(shortfall.error(false)),
                    (renewed, _) => Ok(renewed),
                }
            })
        })
        .await
    }
}

/// Returns what several calls were told alike of the server's recovery: what is not true of all of them is true of none.
fn common(told: impl IntoIterator<Item = Option<Recovered>>) -> Option<Recovered> {
    let mut told = told.into_iter();
    told.next().flatten().filter(|first| told.all(|other| other.as_ref() == Some(first)))
}
