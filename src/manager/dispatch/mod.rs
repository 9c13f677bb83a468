//! The dispatch of operations to the store, in batches, and the return of the answers.

pub(crate) mod ask;
pub(crate) mod renewals;

use std::{
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{
    FutureExt, Stream,
    future::{LocalBoxFuture, join_all},
    stream::FuturesUnordered,
};
use tokio::time::{Instant, Sleep, sleep_until};

use self::{
    ask::{ask, ask_each},
    renewals::{Renewing, renew},
};
use crate::{
    lease::RecordKey,
    listeners::statistics::{Recorder, Stopwatch},
    manager::{
        happening::{Attempt, Happening, Happenings},
        outage::Outage,
        record::weight,
    },
    runtime::batcher::{Batcher, Flight, Number},
    store::{Hold, Store, StoreError},
};

/// A release to be sent.
pub(crate) struct Releasing {
    pub(crate) record: RecordKey,
    pub(crate) hold: Hold,
    pub(crate) cooldown: Duration,
}

/// A hand-off of a lock to the next waiter, to be sent.
pub(crate) struct HandingOff {
    pub(crate) from: Releasing,
    /// The attempt of the waiter to which the lock is handed off.
    pub(crate) attempt: Attempt,
    /// True if that waiter comes before all waiters in the store.
    pub(crate) overtake: bool,
}

/// The batchers, one for each operation that many callers may want at the same time, and what they have in flight.
///
/// It makes progress when it is polled, and survives the manager's panics.
pub(crate) struct Dispatch {
    end: End,
    pub(crate) attempts: Batcher<Attempt>,
    pub(crate) releases: Batcher<Releasing>,
    pub(crate) renewals: Batcher<Renewing>,
    pub(crate) hand_offs: Batcher<HandingOff>,
    in_flight: FuturesUnordered<LocalBoxFuture<'static, (Kind, Flight)>>,
    stalls: Option<Pin<Box<Sleep>>>,
}

/// The kind of a batch.
#[derive(Clone, Copy)]
enum Kind {
    Attempts,
    Releases,
    Renewals,
    HandOffs,
}

/// The far end of every batch: the store, the log of its outages, the counters, and the way back.
#[derive(Clone)]
struct End {
    store: Arc<dyn Store>,
    outage: Rc<Outage>,
    stats: Arc<Recorder>,
    answers: Happenings,
}

impl Dispatch {
    /// Creates the dispatch to this store, whose answers are added to `answers`.
    pub(crate) fn new(
        store: &Arc<dyn Store>,
        outage: &Rc<Outage>,
        stats: &Arc<Recorder>,
        answers: Happenings,
    ) -> Self {
        let (store, outage, stats) = (Arc::clone(store), Rc::clone(outage), Arc::clone(stats));
        Self {
            end: End { store, outage, stats, answers },
            attempts: Batcher::default(),
            releases: Batcher::default(),
            renewals: Batcher::default(),
            hand_offs: Batcher::default(),
            in_flight: FuturesUnordered::new(),
            stalls: None,
        }
    }

    /// Gathers an attempt.
    pub(crate) fn attempt(&mut self, attempt: Attempt) -> Number {
        let weight = weight(&attempt.acquisition);
        self.attempts.push(attempt, weight)
    }

    /// Sends what has been gathered, and adds the answers that have come to the happenings.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) {
        loop {
            self.send_batches();
            while let Poll::Ready(Some((kind, flight))) = Pin::new(&mut self.in_flight).poll_next(cx) {
                match kind {
                    Kind::Attempts => self.attempts.landed(flight),
                    Kind::Releases => self.releases.landed(flight),
                    Kind::Renewals => self.renewals.landed(flight),
                    Kind::HandOffs => self.hand_offs.landed(flight),
                }
            }
            let stalls = [
                self.attempts.stalls_at(),
                self.releases.stalls_at(),
                self.renewals.stalls_at(),
                self.hand_offs.stalls_at(),
            ];
            let first = stalls.into_iter().flatten().min();
            if self.stalls.as_ref().map(|stalls| stalls.deadline()) != first {
                self.stalls = first.map(|first| Box::pin(sleep_until(first)));
            }
            if self.stalls.as_mut().is_none_or(|stalls| stalls.as_mut().poll(cx).is_pending()) {
                return;
            }
        }
    }

    /// Sends what has been gathered. What keeps promises goes first. Releases go before attempts: who releases and asks again
    /// at once gets the resource.
    fn send_batches(&mut self) {
        let Self { end, attempts, releases, renewals, hand_offs, in_flight, .. } = self;
        while let Some((flight, batch)) = renewals.next(Instant::now) {
            let answered = renew(end.clone(), batch).map(move |()| (Kind::Renewals, flight));
            in_flight.push(answered.boxed_local());
        }
        while let Some((flight, batch)) = releases.next(Instant::now) {
            let answered = release(end.clone(), batch).map(move |()| (Kind::Releases, flight));
            in_flight.push(answered.boxed_local());
        }
        while let Some((flight, batch)) = hand_offs.next(Instant::now) {
            let answered = hand_off(end.clone(), batch).map(move |()| (Kind::HandOffs, flight));
            in_flight.push(answered.boxed_local());
        }
        while let Some((flight, batch)) = attempts.next(Instant::now) {
            let answered = attempt(end.clone(), batch).map(move |()| (Kind::Attempts, flight));
            in_flight.push(answered.boxed_local());
        }
    }
}

/// Returns true if all operations of a call were answered well.
fn all_well<T>(answers: &[Result<T, StoreError>]) -> bool {
    answers.iter().all(Result::is_ok)
}

async fn attempt(end: End, batch: Vec<Attempt>) {
    let asked: Vec<_> = batch.iter().map(|attempt| Arc::clone(&attempt.acquisition)).collect();
    let stopwatch = Stopwatch::start();
    let outcomes = ask_each("acquire", asked.len(), || end.store.acquire_each(&asked)).await;
    stopwatch.store_answered(&end.stats, "acquire", all_well(&outcomes));
    for (attempt, outcome) in batch.into_iter().zip(outcomes) {
        end.answers.push(Happening::Attempted(attempt, end.outage.seen("acquire", outcome)));
    }
}

async fn release(end: End, batch: Vec<Releasing>) {
    let asked: Vec<_> = batch.iter().map(|release| (&release.hold, release.cooldown)).collect();
    let stopwatch = Stopwatch::start();
    let answers = ask_each("release", asked.len(), || end.store.release_each(&asked)).await;
    stopwatch.store_answered(&end.stats, "release", all_well(&answers));
    for (release, answer) in batch.iter().zip(answers) {
        end.answers.push(Happening::Released(release.record, end.outage.seen("release", answer)));
    }
}

/// Sends each hand-off by itself. A resource has at most one at a time, so there is nothing to gather.
async fn hand_off(end: End, batch: Vec<HandingOff>) {
    let one = async |HandingOff { from, mut attempt, overtake }: HandingOff| {
        let stopwatch = Stopwatch::start();
        let answer = ask("hand_off", || end.store.hand_off(&from.hold, &attempt.acquisition, overtake)).await;
        stopwatch.store_answered(&end.stats, "hand_off", answer.is_ok());
        let (released, acquired) = match end.outage.seen("hand_off", answer) {
            Ok(handed_off) => {
                attempt.overtook = overtake && handed_off.others_wait;
                (Ok(handed_off.released), handed_off.acquired)
            }
            Err(error) => (Err(error.clone()), Err(error)),
        };
        end.answers.push(Happening::Attempted(attempt, acquired));
        end.answers.push(Happening::Released(from.record, released));
    };
    join_all(batch.into_iter().map(one)).await;
}
