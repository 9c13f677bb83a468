//! Futures that run concurrently in one task, each polled when it was woken.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::{
    Stream,
    future::{Either, Pending, pending},
    stream::FuturesUnordered,
};

/// Futures that make progress when the next result is asked for.
///
/// One of them never ends. `FuturesUnordered` wakes its own task whenever it has polled as many futures as it has: with a single call
/// in flight that is one more turn of the task for each, for nothing.
pub(crate) struct Concurrent<F: Future>(FuturesUnordered<Either<F, Pending<F::Output>>>);

impl<F: Future> Concurrent<F> {
    /// Adds a future. It is not polled, and wakes nobody, before the next result is asked for.
    pub(crate) fn push(&self, future: F) {
        self.0.push(Either::Left(future));
    }

    /// Returns the next result; `None` if there are no futures.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<F::Output>> {
        if self.0.len() == 1 {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.0).poll_next(cx)
    }
}

impl<F: Future> Default for Concurrent<F> {
    fn default() -> Self {
        Self(FuturesUnordered::from_iter([Either::Right(pending())]))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Wake, Waker},
    };

    use futures_util::{FutureExt, future::LocalBoxFuture};
    use tokio::sync::oneshot;

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_call_wakes_the_task_once_when_it_ends() {
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let mut cx = Context::from_waker(&waker);
        let mut calls = Concurrent::<LocalBoxFuture<'_, u32>>::default();
        for number in 0..4 {
            assert_eq!(calls.poll_next(&mut cx), Poll::Ready(None));
            let (ends, end) = oneshot::channel();
            calls.push(async move { end.await.expect("it ends") }.boxed_local());
            assert_eq!(calls.poll_next(&mut cx), Poll::Pending);
            // The first time the one that never ends is polled as well.
            let before = wakes.0.swap(0, Ordering::Relaxed);
            assert!(before == 0 || number == 0, "{before}");
            ends.send(number).unwrap();
            assert_eq!(wakes.0.swap(0, Ordering::Relaxed), 1);
            assert_eq!(calls.poll_next(&mut cx), Poll::Ready(Some(number)));
        }
        calls.push(async { panic!("planned") }.boxed_local());
        calls.push(async { 7 }.boxed_local());
        let mut next = || calls.poll_next(&mut cx);
        catch_unwind(AssertUnwindSafe(&mut next)).unwrap_err();
        assert_eq!((next(), next()), (Poll::Ready(Some(7)), Poll::Ready(None)));
    }
}
