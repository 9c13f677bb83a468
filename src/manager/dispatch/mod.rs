//! The dispatch of operations to the store, in batches, and the return of the answers.

pub(crate) mod ask;
pub(crate) mod calls;

use std::{
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{FutureExt, Stream, future::LocalBoxFuture, stream::FuturesUnordered};
use tokio::time::{Instant, Sleep, sleep_until};

use self::calls::{FarEnd, HandOffCall, ReleaseCall, RenewalCall};
use crate::{
    listeners::statistics::Recorder,
    manager::{Attempt, Happenings, Outage, weight},
    runtime::batcher::{Batcher, Flight, Number},
    store::Store,
};

/// The batchers, one for each operation that many callers may want at the same time, and what they have in flight.
///
/// It makes progress when it is polled, and survives the manager's panics.
pub(crate) struct Dispatch {
    end: FarEnd,
    pub(crate) attempts: Batcher<Attempt>,
    pub(crate) releases: Batcher<ReleaseCall>,
    pub(crate) renewals: Batcher<RenewalCall>,
    pub(crate) hand_offs: Batcher<HandOffCall>,
    in_flight: CallsInFlight,
    stalls: Option<Pin<Box<Sleep>>>,
}

/// The calls in flight. Each ends with its kind and its number.
type CallsInFlight = FuturesUnordered<LocalBoxFuture<'static, (BatchKind, Flight)>>;

#[derive(Clone, Copy)]
enum BatchKind {
    Attempts,
    Releases,
    Renewals,
    HandOffs,
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
            end: FarEnd { store, outage, stats, answers },
            attempts: Batcher::default(),
            releases: Batcher::default(),
            renewals: Batcher::default(),
            hand_offs: Batcher::default(),
            in_flight: FuturesUnordered::new(),
            stalls: None,
        }
    }

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
                    BatchKind::Attempts => self.attempts.landed(flight),
                    BatchKind::Releases => self.releases.landed(flight),
                    BatchKind::Renewals => self.renewals.landed(flight),
                    BatchKind::HandOffs => self.hand_offs.landed(flight),
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
        send(renewals, BatchKind::Renewals, in_flight, |batch| end.clone().renew(batch));
        send(releases, BatchKind::Releases, in_flight, |batch| end.clone().release(batch));
        send(hand_offs, BatchKind::HandOffs, in_flight, |batch| end.clone().hand_off(batch));
        send(attempts, BatchKind::Attempts, in_flight, |batch| end.clone().attempt(batch));
    }
}

/// Sends the batches of one kind that may be in flight now.
fn send<Verb, Call: Future<Output = ()> + 'static>(
    gathered: &mut Batcher<Verb>,
    kind: BatchKind,
    in_flight: &CallsInFlight,
    call: impl Fn(Vec<Verb>) -> Call,
) {
    while let Some((flight, batch)) = gathered.next(Instant::now) {
        in_flight.push(call(batch).map(move |()| (kind, flight)).boxed_local());
    }
}
