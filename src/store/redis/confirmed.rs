//! What grants or renews: in calls that count only when replicas have confirmed them, if that was asked for.

use std::{borrow::Borrow, sync::Arc, time::Duration};

use futures_util::future::{Either, join_all, ready};
use redis::Value;

use super::{
    RedisStore, answers, batch,
    call::Call,
    lessons,
    replicas::{self, Confirmed, Shortfall},
    verbs::weight,
};
use crate::{
    protocol::Fence,
    store::{Acquired, Acquisition, Hold, Paced, Renewed, Store, StoreError},
};

impl RedisStore {
    /// Sends what grants or renews.
    pub(super) async fn send_counting(&self, call: &Call) -> Result<Confirmed, StoreError> {
        match &self.replicas {
            None => self.servers.send(call).await.map(Confirmed::from),
            Some(replicas) => replicas.send(call).await,
        }
    }

    /// [`Store::acquire`] for each of these, in calls that are executed in their order.
    pub(super) async fn acquire_in_order(
        &self,
        asked: Vec<Arc<Acquisition>>,
    ) -> Vec<Result<Acquired, StoreError>> {
        let calls = batch::split(&asked, |asked| weight(asked));
        if self.replicas.is_none() {
            return batch::together(calls.into_iter().map(|asked| self.acquire_in_one_call(asked))).await;
        }
        // Each takes a connection of its own, so that one of several on their way could overtake another.
        let mut answers = Vec::with_capacity(asked.len());
        for asked in calls {
            answers.extend(self.acquire_in_one_call(asked).await);
        }
        answers
    }

    /// [`Store::acquire`] for each of these, in one call.
    pub(super) async fn acquire_in_one_call<A: Borrow<Acquisition>>(
        &self,
        asked: &[A],
    ) -> Vec<Result<Acquired, StoreError>> {
        let (answered, shortfall) = replicas::parted(self.send_counting(&self.caller.acquire(asked)).await);
        self.acquired(asked, answered, shortfall).await
    }

    /// [`Store::acquire_each_from`], on one server and in the full layout.
    pub(super) async fn acquire_from(&self, asked: &[Arc<Acquisition>], first: Fence) -> Paced {
        let calls = batch::split(asked, |asked| weight(asked));
        let mut first = first.get();
        let mut sent = Vec::with_capacity(calls.len());
        for asked in calls {
            let answered = self.acquire_in_one_call_from(asked, Fence::new(first));
            first = first.saturating_add(asked.len() as u64);
            // As in `acquire_in_order`.
            match self.replicas {
                None => sent.push(Either::Left(answered)),
                Some(_) => sent.push(Either::Right(ready(answered.await))),
            }
        }
        let answered = join_all(sent).await;
        let clock = answered.iter().filter_map(|paced| paced.clock).max();
        let mut recovered = answered.iter().map(|paced| paced.recovered.clone());
        // What is not true of all of them is true of none.
        let recovered =
            recovered.next().flatten().filter(|first| recovered.all(|other| other.as_ref() == Some(first)));
        Paced { answers: answered.into_iter().flat_map(|paced| paced.answers).collect(), clock, recovered }
    }

    async fn acquire_in_one_call_from(&self, asked: &[Arc<Acquisition>], first: Fence) -> Paced {
        let call = self.caller.acquire_from(asked, first);
        let (answered, shortfall) = replicas::parted(self.send_counting(&call).await);
        let (answered, clock, recovered) = match answered.and_then(lessons::with_clock) {
            Ok((answered, clock, recovered)) => (Ok(answered), Some(clock), recovered),
            Err(error) => (Err(error), None, None),
        };
        Paced { answers: self.acquired(asked, answered, shortfall).await, clock, recovered }
    }

    /// What the requests of one call are answered. What replicas did not confirm is taken back.
    async fn acquired<A: Borrow<Acquisition>>(
        &self,
        asked: &[A],
        answered: Result<Value, StoreError>,
        shortfall: Option<Shortfall>,
    ) -> Vec<Result<Acquired, StoreError>> {
        let mut answers = answers::each(answered, asked.len(), |number, answer| {
            answers::acquired(answer, asked[number].borrow().mode)
        });
        if let Some(shortfall) = shortfall {
            let holds = asked.iter().map(|asked| &asked.borrow().hold);
            let granted =
                holds.zip(&mut answers).filter(|(_, answer)| matches!(answer, Ok(Acquired::Granted(_))));
            let (holds, granted): (Vec<_>, Vec<_>) = granted.unzip();
            let undone = self.take_back(holds).await;
            granted
                .into_iter()
                .zip(undone)
                .for_each(|(answer, undone)| *answer = Err(shortfall.error(undone)));
        }
        answers
    }

    /// Releases what replicas did not confirm. Answers of each whether it is certain.
    pub(super) async fn take_back(&self, holds: Vec<&Hold>) -> Vec<bool> {
        let releases: Vec<_> = holds.into_iter().map(|hold| (hold, Duration::ZERO)).collect();
        self.release_each(&releases).await.into_iter().map(|released| released.is_ok()).collect()
    }

    /// [`Store::renew`] for each of these, in one call.
    pub(super) async fn renew_in_one_call(
        &self,
        renewals: &[(&Hold, Duration)],
    ) -> Vec<Result<Renewed, StoreError>> {
        let (answered, shortfall) = replicas::parted(self.send_counting(&self.caller.renew(renewals)).await);
        answers::each(answered, renewals.len(), |_, answer| match (answers::renewed(answer)?, &shortfall) {
            (Renewed::Extended, Some(shortfall)) => Err(shortfall.error(false)),
            (renewed, _) => Ok(renewed),
        })
    }
}
