//! The dispatch of operations to the store, in batches, and the return of the answers.

pub(crate) mod ask;
pub(crate) mod calls;

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::{FutureExt, future::LocalBoxFuture};
use tokio::time::{Instant, Sleep, sleep_until};

use self::calls::{FarEnd, HandOffCall, ReleaseCall, RenewalCall};
use super::{Attempt, weight};
use crate::runtime::{
    batcher::{Batcher, Flight, Number},
    concurrent::Concurrent,
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

/// The calls in flight. Each ends with its number, and the way to tell its batcher.
type CallsInFlight = Concurrent<LocalBoxFuture<'static, (Landed, Flight)>>;

/// Tells the batcher of one kind that this call has ended.
type Landed = fn(&mut Dispatch, Flight);

impl Dispatch {
    pub(crate) fn new(end: FarEnd) -> Self {
        Self {
            end,
            attempts: Batcher::default(),
            releases: Batcher::default(),
            renewals: Batcher::default(),
            hand_offs: Batcher::default(),
            in_flight: CallsInFlight::default(),
            stalls: None,
        }
    }

    /// Adds an attempt. One that takes up a hand-over is urgent: behind all others it would come too late under load, and so
    /// would that of whoever is handed the resource after it.
    pub(crate) fn attempt(&mut self, attempt: Attempt, is_urgent: bool) -> Number {
        let weight = weight(&attempt.acquisition);
        if is_urgent && !planted!("a hand-over is taken up behind all other attempts") {
            self.attempts.push_urgent(attempt, weight)
        } else {
            self.attempts.push(attempt, weight)
        }
    }

    /// Sends what has been gathered, and adds the answers that have come to the happenings.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) {
        loop {
            self.send_batches();
            while let Poll::Ready(Some((landed, flight))) = self.in_flight.poll_next(cx) {
                landed(self, flight);
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
        send(renewals, |it, call| it.renewals.landed(call), in_flight, |batch| end.clone().renew(batch));
        send(releases, |it, call| it.releases.landed(call), in_flight, |batch| end.clone().release(batch));
        send(hand_offs, |it, call| it.hand_offs.landed(call), in_flight, |batch| end.clone().hand_off(batch));
        send(attempts, |it, call| it.attempts.landed(call), in_flight, |batch| end.clone().attempt(batch));
    }
}

/// Sends the batches of one kind that may be in flight now.
fn send<Verb, Call: Future<Output = ()> + 'static>(
    gathered: &mut Batcher<Verb>,
    landed: Landed,
    in_flight: &CallsInFlight,
    call: impl Fn(Vec<Verb>) -> Call,
) {
    while let Some((flight, batch)) = gathered.next(Instant::now) {
        in_flight.push(call(batch).map(move |()| (landed, flight)).boxed_local());
    }
}
