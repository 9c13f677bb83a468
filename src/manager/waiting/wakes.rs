//! The wakes of waiting requests: one queue of timers, and one watch over all callers.

use std::{
    cell::RefCell,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_util::{
    Stream,
    future::{AbortHandle, Abortable, LocalBoxFuture},
    stream::FuturesUnordered,
};
use tokio::time::{Sleep, sleep};

use crate::{
    core::Token,
    runtime::timer_queue::{Timer, TimerQueue},
};

/// The time for which a watch is deferred. Most first attempts are answered within it, and never need a
/// timer or a cancellation watch.
pub(crate) const DEFER_FOR: Duration = Duration::from_millis(50);

/// The cause for which a waiter is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// The timer of this waiter: the scheduled attempt is due, or the wait is over.
    Attempt(Token),
    /// The caller of this waiter has gone.
    CallerGone(Token),
    /// Some watches have been deferred long enough.
    Deferred,
}

/// The wakes of all waiters, as one stream without an end. A clone is another handle to the same stream.
#[derive(Clone, Default)]
pub(crate) struct Wakes(Rc<RefCell<Sources>>);

#[derive(Default)]
struct Sources {
    timers: TimerQueue<Token>,
    callers: FuturesUnordered<Abortable<LocalBoxFuture<'static, Token>>>,
    /// The deferred waiters: those that came since the timer last fired, and those that had come before it did.
    deferred: (Vec<Token>, Vec<Token>),
    defer_timer: Option<Pin<Box<Sleep>>>,
    waker: Option<Waker>,
}

impl Wakes {
    /// Sets the timer of a waiter, and replaces an earlier one.
    pub(crate) fn set_timer(&self, timer: &mut Option<Timer>, token: Token, pause: Duration) {
        let timers = &mut self.0.borrow_mut().timers;
        if let Some(before) = timer.replace(timers.set(token, pause)) {
            timers.remove(&before);
        }
    }

    pub(crate) fn remove_timer(&self, timer: &Timer) {
        self.0.borrow_mut().timers.remove(timer);
    }

    /// Wakes the waiter when its caller has gone.
    pub(crate) fn watch(&self, token: Token, gone: impl Future<Output = ()> + 'static) -> AbortHandle {
        let (watch, registration) = AbortHandle::new_pair();
        let gone: LocalBoxFuture<'static, Token> = Box::pin(async move {
            gone.await;
            token
        });
        let mut sources = self.0.borrow_mut();
        sources.callers.push(Abortable::new(gone, registration));
        sources.wake();
        watch
    }

    /// Defers the watch over this waiter. One wake serves all that came at about the same time, when all
    /// have been deferred long enough.
    pub(crate) fn defer(&self, token: Token) {
        let mut sources = self.0.borrow_mut();
        sources.deferred.0.push(token);
        if sources.defer_timer.is_none() {
            sources.defer_timer = Some(Box::pin(sleep(DEFER_FOR)));
            sources.wake();
        }
    }

    /// Returns the waiters that have been deferred long enough.
    pub(crate) fn deferred_enough(&self) -> Vec<Token> {
        let mut sources = self.0.borrow_mut();
        let came = std::mem::take(&mut sources.deferred.0);
        sources.defer_timer = (!came.is_empty()).then(|| Box::pin(sleep(DEFER_FOR)));
        std::mem::replace(&mut sources.deferred.1, came)
    }
}

impl Sources {
    /// Wakes the task that polls. Empty sources answer "ended", and do not wake when something is put in.
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Stream for Wakes {
    type Item = Wake;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Wake>> {
        let mut sources = self.0.borrow_mut();
        sources.waker = Some(cx.waker().clone());
        while let Poll::Ready(Some(gone)) = Pin::new(&mut sources.callers).poll_next(cx) {
            if let Ok(token) = gone {
                return Poll::Ready(Some(Wake::CallerGone(token)));
            }
        }
        if sources.defer_timer.as_mut().is_some_and(|defer_timer| defer_timer.as_mut().poll(cx).is_ready()) {
            sources.defer_timer = None;
            return Poll::Ready(Some(Wake::Deferred));
        }
        sources.timers.poll_due(cx).map(|token| Some(Wake::Attempt(token)))
    }
}
