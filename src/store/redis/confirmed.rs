//! Acquisitions and renewals, which count only when replicas have confirmed them, if that was asked for.

use std::{iter, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    core::Fence,
    store::{
        Acquired, AcquiredFrom, Acquisition, HandedOff, Hold, Renewal, Renewed, Store, StoreError,
        redis::{
            RedisStore,
            calls::{self, CallAnswers, CallOrder, send_each},
            net::call::{CallAnswer, Shortfall},
            store::certain,
            wire::decode,
        },
    },
};

impl RedisStore {
    /// Acquires each. With a `first`, which is for one server and the full layout, the fences are at least that.
    pub(super) async fn acquire_in_calls(
        &self,
        asked: &[Arc<Acquisition>],
        first: Option<Fence>,
    ) -> AcquiredFrom {
        // With replicas each call takes a connection of its own, so one of several in flight could overtake another.
        let order = if self.counting.are_asked() { CallOrder::OneByOne } else { CallOrder::Together };
        let told = Mutex::new(Vec::new());
        let send = |open: Vec<_>, ahead| {
            let (told, first) = (&told, first.map(|first| Fence::new(first.get().saturating_add(ahead))));
            async move {
                let (mut clock, mut recovered) = (None, None);
                let answers = async {
                    let call = self.encoder.acquire(&open, first);
                    let sent = Instant::now();
                    let CallAnswer { mut value, shortfall, connection, .. } =
                        self.counting.send(call).await?;
                    if first.is_some() {
                        let told;
                        (value, told, recovered) = decode::with_clock(value)?;
                        clock = Some(told);
                    }
                    let fence = decode::newest_fence(&value);
                    let read = |asked: &Arc<Acquisition>, answer| decode::acquired(answer, asked.mode);
                    let answers = calls::answers(value, &open, read)?;
                    self.thin.raised(connection, sent, fence);
                    self.thin.note_in_use(sent, &open, &answers);
                    Ok(self.without_unconfirmed(&open, answers, shortfall).await)
                };
                let answers = answers.await;
                if first.is_some() {
                    told.lock().push((clock, recovered));
                }
                answers
            }
        };
        let answers = send_each(asked, |asked| self.slot(&asked.hold), order, send).await;
        let told = told.into_inner();
        let clock = told.iter().filter_map(|(clock, _)| *clock).max();
        // What is not true of all calls is true of none.
        let mut recovered = told.into_iter().map(|(_, recovered)| recovered);
        let of_one = recovered.next().flatten();
        let recovered = of_one.filter(|known| recovered.all(|other| other.as_ref() == Some(known)));
        AcquiredFrom { answers, clock, recovered }
    }

    /// Hands off in one call. With a `first`, as that of acquisitions, it also returns the server's clock and record.
    pub(super) async fn hand_off_in_call(
        &self,
        from: &Hold,
        to: &Acquisition,
        overtake: bool,
        first: Option<Fence>,
    ) -> Result<(HandedOff, AcquiredFrom), StoreError> {
        self.unwatch(iter::once(from));
        let CallAnswer { mut value, repeated, shortfall, .. } =
            self.counting.send(self.encoder.hand_off(from, to, overtake, first)).await?;
        let mut known = AcquiredFrom::without_clock(Vec::new());
        if first.is_some() {
            let clock;
            (value, clock, known.recovered) = decode::with_clock(value)?;
            known.clock = Some(clock);
        }
        let about = |error: StoreError| error.about(&to.hold.resource);
        let mut handed_off = decode::handed_off(value, to.mode).map_err(about)?;
        handed_off.acquired = handed_off.acquired.map_err(about);
        if let (Some(shortfall), Ok(Acquired::Granted(_))) = (shortfall, &handed_off.acquired) {
            let undone = self.release_unconfirmed(vec![&to.hold]).await;
            handed_off.acquired = Err(shortfall.error(undone == [true]));
        }
        Ok((HandedOff { released: certain(handed_off.released, repeated)?, ..handed_off }, known))
    }

    /// Returns the answers to the requests of one call. Grants that replicas did not confirm are released.
    async fn without_unconfirmed(
        &self,
        asked: &[&Arc<Acquisition>],
        mut answers: CallAnswers<Acquired>,
        shortfall: Option<Shortfall>,
    ) -> CallAnswers<Acquired> {
        let Some(shortfall) = shortfall else { return answers };
        let holds = asked.iter().map(|asked| &asked.hold);
        let granted =
            holds.zip(&mut answers).filter(|(_, answer)| matches!(answer, Some(Ok(Acquired::Granted(_)))));
        let (holds, granted): (Vec<_>, Vec<_>) = granted.unzip();
        let undone = self.release_unconfirmed(holds).await;
        for (answer, undone) in granted.into_iter().zip(undone) {
            *answer = Some(Err(shortfall.error(undone)));
        }
        answers
    }

    /// Releases grants that replicas did not confirm. Returns true for each whose release is certain.
    pub(super) async fn release_unconfirmed(&self, holds: Vec<&Hold>) -> Vec<bool> {
        let releases: Vec<_> = holds.into_iter().map(|hold| (hold, Duration::ZERO)).collect();
        self.release_each(&releases).await.into_iter().map(|released| released.is_ok()).collect()
    }

    pub(super) async fn renew_in_call(
        &self,
        renewals: Vec<&Renewal<'_>>,
    ) -> Result<CallAnswers<Renewed>, StoreError> {
        let key = |hold: &Hold| self.encoder.main(&hold.resource);
        let without_owner = renewals.iter().filter(|it| it.hold.owner.is_none());
        let watched = without_owner.map(|it| (key(it.hold), it.hold.token, it.ttl));
        let watch = self.watch.as_ref().filter(|watch| watch.is_told());
        let mut watch = watch.map(|watch| (watch, watch.asks(watched)));
        // On a connection of its own: nothing that waits for an answer is ahead of it.
        let sent = match self.renewals.send(self.encoder.renew(&renewals, watch.is_some())).await {
            // The server may have no room for one more connection.
            Err(StoreError::Unavailable { .. }) => {
                watch = None;
                self.counting.send(self.encoder.renew(&renewals, false)).await
            }
            sent => sent,
        };
        let CallAnswer { value, shortfall, connection, .. } = sent?;
        calls::answers(value, &renewals, |Renewal { hold, ttl, .. }, answer| {
            let renewed = decode::renewed(answer)?;
            if let Some((watch, count)) = watch {
                let holds = renewed == Renewed::Extended;
                watch.answered((&key(hold), hold.token), holds.then_some(*ttl), (count, connection));
            }
            match (renewed, &shortfall) {
                (Renewed::Extended, Some(shortfall)) => Err(shortfall.error(false)),
                (renewed, _) => Ok(renewed),
            }
        })
    }

    /// Ends the watch over what is about to be released.
    pub(super) fn unwatch<'a>(&self, holds: impl Iterator<Item = &'a Hold>) {
        if let Some(watch) = &self.watch {
            watch.forget(holds.map(|hold| (self.encoder.main(&hold.resource), hold.token)));
        }
    }
}
