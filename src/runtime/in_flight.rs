//! Futures that are polled together, each when it was woken.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::{
    Stream,
    future::{Either, Pending, pending},
    stream::FuturesUnordered,
};

/// Futures in flight. They make progress when the next result is asked for.
///
/// One of them never ends. `FuturesUnordered` wakes its own task whenever it has polled as many futures as it has: with a single
/// call that is one more turn of the task for each, for nothing.
pub(crate) struct InFlight<F: Future>(FuturesUnordered<Either<F, Pending<F::Output>>>);

impl<F: Future> InFlight<F> {
    pub(crate) fn push(&self, future: F) {
        self.0.push(Either::Left(future));
    }

    /// Returns the next result; `None` if nothing is in flight.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<F::Output>> {
        if self.0.len() == 1 {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.0).poll_next(cx)
    }
}

impl<F: Future> FromIterator<F> for InFlight<F> {
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> Self {
        let in_flight = Self(FuturesUnordered::new());
        in_flight.0.push(Either::Right(pending()));
        futures.into_iter().for_each(|future| in_flight.push(future));
        in_flight
    }
}

impl<F: Future> Default for InFlight<F> {
    fn default() -> Self {
        Self::from_iter([])
    }
}
