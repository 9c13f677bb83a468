//! Those who wait for an answer, and the one queue of timers that wakes them.

use std::{
    cell::RefCell,
    collections::HashMap,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{
    Stream,
    future::{AbortHandle, Abortable, LocalBoxFuture},
    stream::FuturesUnordered,
};
use tokio_util::time::{DelayQueue, delay_queue::Key};

use crate::{
    actor::{AcquireError, Lease, LeaseChange, LeaseEvent, plan::Plan, reply::ReplyTo},
    protocol::{Moment, Token},
    store::{Refusal, StoreError},
};

/// A request that has no answer yet.
pub(crate) struct Waiter {
    pub(crate) plan: Plan,
    pub(crate) reply: ReplyTo<Result<Lease, AcquireError>>,
    pub(crate) asked: Moment,
    pub(crate) attempts: u32,
    /// Whether an attempt is on its way.
    pub(crate) in_flight: bool,
    /// Whether there was news while an attempt was on its way, so that another has to follow it at once.
    pub(crate) again: bool,
    /// What the last attempt was told.
    pub(crate) last: Last,
    /// Whether it has a place in the queue of the store.
    pub(crate) placed: bool,
    /// Until when the store may hold something for this token after an attempt with an unknown outcome.
    pub(crate) perhaps_until: Option<Moment>,
    timer: Option<Key>,
    watch: Option<AbortHandle>,
}

/// What the last attempt was told.
pub(crate) enum Last {
    Nothing,
    /// Somebody is in the way; in the queue there are so many ahead.
    Refused(Refusal, Option<u64>),
    Failed(StoreError),
}

impl Waiter {
    pub(crate) fn new(plan: Plan, reply: ReplyTo<Result<Lease, AcquireError>>, asked: Moment) -> Self {
        Self {
            plan,
            reply,
            asked,
            attempts: 0,
            in_flight: false,
            again: false,
            last: Last::Nothing,
            placed: false,
            perhaps_until: None,
            timer: None,
            watch: None,
        }
    }

    /// The store has put it into the queue, or found it there.
    pub(crate) fn queued(&mut self, refusal: Refusal, ahead: u64) {
        let news = !matches!(self.last, Last::Refused(_, Some(before)) if before == ahead);
        if let (true, Some(listener)) = (news, &self.plan.events) {
            let hold = &self.plan.acquisition.hold;
            listener.do_send(LeaseEvent {
                resource: hold.resource.clone(),
                token: hold.token.prefix(),
                fence: None,
                change: LeaseChange::Queued { ahead },
            });
        }
        self.placed = true;
        self.last = Last::Refused(refusal, Some(ahead));
    }

    /// When its wait is over.
    pub(crate) fn deadline(&self) -> Moment {
        self.asked + self.plan.wait
    }
}

/// What wakes a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Its timer: the scheduled attempt is due, or its wait is over.
    Attempt(Token),
    /// Its caller has gone.
    CallerGone(Token),
}

/// Those who wait, by the token that they will get. One timer each, in one queue; no future and no task.
#[derive(Default)]
pub(crate) struct Waiters {
    table: HashMap<Token, Waiter>,
    wakes: Rc<RefCell<Sources>>,
}

/// Where wakes come from.
#[derive(Default)]
struct Sources {
    timers: DelayQueue<Token>,
    callers: FuturesUnordered<Abortable<LocalBoxFuture<'static, Token>>>,
    waker: Option<std::task::Waker>,
}

impl Waiters {
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn insert(&mut self, token: Token, waiter: Waiter) {
        self.table.insert(token, waiter);
    }

    pub(crate) fn get_mut(&mut self, token: Token) -> Option<&mut Waiter> {
        self.table.get_mut(&token)
    }

    pub(crate) fn tokens(&self) -> Vec<Token> {
        let mut tokens: Vec<_> = self.table.keys().copied().collect();
        // In an order of their own, and not the table's, so that a simulated world replays from its seed.
        tokens.sort_unstable();
        tokens
    }

    /// Those that have a place in the queue of the store.
    pub(crate) fn placed(&self) -> Vec<Token> {
        let mut placed = self.tokens();
        placed.retain(|token| self.table[token].placed);
        placed
    }

    /// Takes a waiter out, with its timer and the watch over its caller.
    pub(crate) fn remove(&mut self, token: Token) -> Option<Waiter> {
        let waiter = self.table.remove(&token)?;
        if let Some(timer) = &waiter.timer {
            self.wakes.borrow_mut().timers.try_remove(timer);
        }
        if let Some(watch) = &waiter.watch {
            watch.abort();
        }
        Some(waiter)
    }

    /// Wakes the waiter after `pause`, instead of whenever it was to be woken before, and as soon as its caller goes.
    pub(crate) fn wake_after(&mut self, token: Token, pause: Duration) {
        let Some(waiter) = self.table.get_mut(&token) else {
            return;
        };
        let mut wakes = self.wakes.borrow_mut();
        match &waiter.timer {
            Some(timer) => wakes.timers.reset(timer, pause),
            None => waiter.timer = Some(wakes.timers.insert(token, pause)),
        }
        if waiter.watch.is_none() {
            let gone = waiter.reply.caller_gone();
            let (watch, registration) = AbortHandle::new_pair();
            let gone: LocalBoxFuture<'static, Token> = Box::pin(async move {
                gone.await;
                token
            });
            wakes.callers.push(Abortable::new(gone, registration));
            waiter.watch = Some(watch);
        }
        if let Some(waker) = wakes.waker.take() {
            waker.wake();
        }
    }

    /// The wakes of all waiters, as one stream without an end.
    pub(crate) fn wakes(&self) -> Wakes {
        Wakes(Rc::clone(&self.wakes))
    }

    /// The timer of this waiter has fired, and is no more.
    pub(crate) fn timer_fired(&mut self, token: Token) {
        if let Some(waiter) = self.table.get_mut(&token) {
            waiter.timer = None;
        }
    }
}

/// See [`Waiters::wakes`].
pub(crate) struct Wakes(Rc<RefCell<Sources>>);

impl Stream for Wakes {
    type Item = Wake;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Wake>> {
        let mut sources = self.0.borrow_mut();
        // Both sources answer "ended" while they are empty, and do not wake when something is put in.
        sources.waker = Some(cx.waker().clone());
        while let Poll::Ready(Some(gone)) = Pin::new(&mut sources.callers).poll_next(cx) {
            if let Ok(token) = gone {
                return Poll::Ready(Some(Wake::CallerGone(token)));
            }
        }
        match sources.timers.poll_expired(cx) {
            Poll::Ready(Some(due)) => Poll::Ready(Some(Wake::Attempt(due.into_inner()))),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}
