//! The stream that drives a manager: it sends what is to be sent, and ends in the queue of happenings.

use std::{
    cell::RefCell,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_util::{
    Stream, StreamExt,
    future::{AbortHandle, Abortable, LocalBoxFuture},
    stream::SelectAll,
};
use tokio::time::{Sleep, sleep};

use crate::{
    core::RecordKey,
    manager::{Dispatch, Happening, Happenings},
    runtime::{batcher::Number, concurrent::Concurrent},
    store::Notifications,
};

/// The time for which a watch over a caller is deferred. Most first attempts are answered within it, and need no watch.
pub(crate) const DEFER_FOR: Duration = Duration::from_millis(50);

/// Something has happened, and waits in the queue of happenings.
pub(crate) struct Happened;

/// A handle to everything that a manager waits for, which survives the manager's panics.
#[derive(Clone)]
pub(crate) struct Sources(Rc<RefCell<Inner>>);

struct Inner {
    happenings: Happenings,
    dispatch: Dispatch,
    /// The notifications of the store: at most one stream, polled when it was woken and not whenever the manager is.
    notifications: SelectAll<Notifications>,
    callers: Concurrent<Abortable<LocalBoxFuture<'static, RecordKey>>>,
    /// The deferred watches: those that came since the timer last fired, and those that had come before it did.
    deferred: (Vec<RecordKey>, Vec<RecordKey>),
    defer_timer: Option<Pin<Box<Sleep>>>,
    down: bool,
    monitor: Option<Waker>,
}

impl Sources {
    pub(crate) fn new(dispatch: Dispatch, happenings: Happenings) -> Self {
        Self(Rc::new(RefCell::new(Inner {
            happenings,
            dispatch,
            notifications: SelectAll::new(),
            callers: Concurrent::default(),
            deferred: (Vec::new(), Vec::new()),
            defer_timer: None,
            down: false,
            monitor: None,
        })))
    }

    /// Receives these notifications, instead of those before.
    pub(crate) fn listen(&self, notifications: Notifications) {
        let mut sources = self.0.borrow_mut();
        sources.notifications.clear();
        sources.notifications.push(notifications);
    }

    /// Adds an operation, which is sent at the next poll. Only the manager may call it: it polls before it waits.
    pub(crate) fn send<T>(&self, gather: impl FnOnce(&mut Dispatch) -> T) -> T {
        gather(&mut self.0.borrow_mut().dispatch)
    }

    /// Takes an attempt back that nobody needs any more. Returns false if it has been sent.
    pub(crate) fn withdraw(&self, attempt: Number) -> bool {
        !planted!("what is over is sent all the same")
            && self.0.borrow_mut().dispatch.attempts.withdraw(attempt)
    }

    /// Notes that the manager is down, or up again. While it is down, the lease monitor drives.
    pub(crate) fn set_down(&self, down: bool) {
        let mut sources = self.0.borrow_mut();
        sources.down = down;
        if let Some(monitor) = sources.monitor.take() {
            monitor.wake();
        }
    }

    /// Drives everything if the manager is down. The task that polls is woken when it is.
    pub(crate) fn poll_if_down(&self, cx: &mut Context<'_>) {
        let mut sources = self.0.borrow_mut();
        if sources.down && !planted!("calls stand still while the manager is down") {
            sources.poll(cx);
        }
        sources.monitor = Some(cx.waker().clone());
    }

    /// Watches a caller, until it has gone or the handle is used.
    pub(crate) fn watch(&self, record: RecordKey, gone: impl Future<Output = ()> + 'static) -> AbortHandle {
        let (watch, registration) = AbortHandle::new_pair();
        let gone: LocalBoxFuture<'static, RecordKey> = Box::pin(async move {
            gone.await;
            record
        });
        self.0.borrow_mut().callers.push(Abortable::new(gone, registration));
        watch
    }

    /// Defers the watch over the caller of this record. One timer serves all that came at about the same time.
    pub(crate) fn defer(&self, record: RecordKey) {
        let mut sources = self.0.borrow_mut();
        sources.deferred.0.push(record);
        sources.defer_timer.get_or_insert_with(|| Box::pin(sleep(DEFER_FOR)));
    }
}

impl Inner {
    fn poll(&mut self, cx: &mut Context<'_>) {
        self.dispatch.poll(cx);
        let listened = !self.notifications.is_empty();
        while let Poll::Ready(Some(notification)) = self.notifications.poll_next_unpin(cx) {
            self.happenings.push(Happening::Notified(notification, 0));
        }
        if listened && self.notifications.is_empty() {
            self.happenings.push(Happening::NoMoreNotifications);
        }
        while let Poll::Ready(Some(gone)) = self.callers.poll_next(cx) {
            gone.into_iter().for_each(|record| self.happenings.push(Happening::CallerGone(record)));
        }
        while self.defer_timer.as_mut().is_some_and(|timer| timer.as_mut().poll(cx).is_ready()) {
            let came = std::mem::take(&mut self.deferred.0);
            self.defer_timer = (!came.is_empty()).then(|| Box::pin(sleep(DEFER_FOR)));
            let enough = std::mem::replace(&mut self.deferred.1, came);
            self.happenings.push(Happening::Deferred(enough));
        }
    }
}

impl Stream for Sources {
    type Item = Happened;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Happened>> {
        let mut sources = self.0.borrow_mut();
        // What is added from here on needs nobody to be woken.
        sources.happenings.gather();
        sources.poll(cx);
        if sources.happenings.is_empty_or_wake(cx.waker()) {
            Poll::Pending
        } else {
            Poll::Ready(Some(Happened))
        }
    }
}
