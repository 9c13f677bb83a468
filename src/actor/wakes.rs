//! What wakes those who wait: one queue of timers, and one watch over all callers.

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
    actor::timers::{Timer, Timers},
    protocol::Token,
};

/// Most first attempts have their answer before this is over; then nothing had to be watched about them.
pub(crate) const YOUNG: Duration = Duration::from_millis(50);

/// What wakes a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Its timer: the scheduled attempt is due, or its wait is over.
    Attempt(Token),
    /// Its caller has gone.
    CallerGone(Token),
    /// Some are not young any more.
    Grown,
}

/// The wakes of all waiters, as one stream without an end. A clone is another handle to the same.
#[derive(Clone, Default)]
pub(crate) struct Wakes(Rc<RefCell<Sources>>);

#[derive(Default)]
struct Sources {
    timers: Timers<Token>,
    callers: FuturesUnordered<Abortable<LocalBoxFuture<'static, Token>>>,
    /// Those who came since the timer fired last, and those who had come before it did.
    young: (Vec<Token>, Vec<Token>),
    growing: Option<Pin<Box<Sleep>>>,
    waker: Option<Waker>,
}

impl Wakes {
    /// Sets the timer of a waiter, which it may have already.
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

    /// Wakes once for this one and all that came at about the same time, when none of them is young any more.
    pub(crate) fn add_young(&self, token: Token) {
        let mut sources = self.0.borrow_mut();
        sources.young.0.push(token);
        if sources.growing.is_none() {
            sources.growing = Some(Box::pin(sleep(YOUNG)));
            sources.wake();
        }
    }

    /// Those who are not young any more.
    pub(crate) fn grown(&self) -> Vec<Token> {
        let mut sources = self.0.borrow_mut();
        let came = std::mem::take(&mut sources.young.0);
        sources.growing = (!came.is_empty()).then(|| Box::pin(sleep(YOUNG)));
        std::mem::replace(&mut sources.young.1, came)
    }
}

impl Sources {
    /// Sources that are empty answer "ended", and do not wake when something is put in.
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
        if sources.growing.as_mut().is_some_and(|growing| growing.as_mut().poll(cx).is_ready()) {
            sources.growing = None;
            return Poll::Ready(Some(Wake::Grown));
        }
        sources.timers.poll_due(cx).map(|token| Some(Wake::Attempt(token)))
    }
}
