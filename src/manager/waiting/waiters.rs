//! Pending requests, by the token that they will get.

use std::{collections::HashMap, time::Duration};

use futures_util::future::AbortHandle;

use crate::{
    core::{Moment, Terms, Token, Waiting},
    lease::{Lease, LeaseChange, LeaseEvent},
    manager::waiting::wakes::{DEFER_FOR, Wakes},
    request::{AcquireError, validated::ValidRequest},
    runtime::{responder::Responder, timer_queue::Timer},
    store::{Refusal, StoreError},
};

/// A request that has no answer yet.
pub(crate) struct Waiter {
    pub(crate) request: ValidRequest,
    pub(crate) reply: Responder<Result<Lease, AcquireError>>,
    pub(crate) asked: Moment,
    /// The decisions about it, and what they depend on.
    pub(crate) waiting: Waiting,
    /// The result of the last attempt.
    pub(crate) answer: Option<Result<Refusal, StoreError>>,
    /// The arrival number in the cohort of this manager's waiters for the same resource, if it waits in one.
    pub(crate) arrival: Option<u64>,
    timer: Option<Timer>,
    watch: Option<AbortHandle>,
}

impl Waiter {
    pub(crate) fn new(
        request: ValidRequest,
        reply: Responder<Result<Lease, AcquireError>>,
        asked: Moment,
        grant_window: Duration,
    ) -> Self {
        let waiting = Waiting::new(Terms {
            asked,
            wait: request.wait,
            backoff: request.backoff,
            ttl: request.acquisition.ttl,
            ticket_ttl: request.acquisition.ticket.map_or(Duration::ZERO, |ticket| ticket.ttl),
            grant_window,
        });
        Self { request, reply, asked, waiting, answer: None, arrival: None, timer: None, watch: None }
    }

    /// Tells the caller's listener that this many waiters are ahead.
    pub(crate) fn tell_queued(&self, ahead: u64) {
        if let Some(listener) = &self.request.events {
            let hold = &self.request.acquisition.hold;
            listener.do_send(LeaseEvent {
                resource: hold.resource.clone(),
                token: hold.token.prefix(),
                fence: None,
                change: LeaseChange::Queued { ahead },
            });
        }
    }
}

/// The pending requests, by the token that they will get. Each has one timer, all in one queue; none has a task.
#[derive(Default)]
pub(crate) struct Waiters {
    table: HashMap<Token, Waiter>,
    wakes: Wakes,
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
        // In an order of their own, and not the table's, so that a simulation replays from its seed.
        tokens.sort_unstable();
        tokens
    }

    /// Returns the waiters that have a ticket in the queue of the store.
    pub(crate) fn with_tickets(&self) -> Vec<Token> {
        let mut waiters = self.tokens();
        waiters.retain(|token| self.table[token].waiting.has_ticket());
        waiters
    }

    /// Removes a waiter, with its timer and the watch over its caller.
    pub(crate) fn remove(&mut self, token: Token) -> Option<Waiter> {
        let waiter = self.table.remove(&token)?;
        if let Some(timer) = &waiter.timer {
            self.wakes.remove_timer(timer);
        }
        if let Some(watch) = &waiter.watch {
            watch.abort();
        }
        Some(waiter)
    }

    /// Wakes the waiter after `pause`, which replaces any earlier time, and as soon as its caller goes.
    pub(crate) fn wake_after(&mut self, token: Token, pause: Duration) {
        let Some(waiter) = self.table.get_mut(&token) else {
            return;
        };
        self.wakes.set_timer(&mut waiter.timer, token, pause);
        if waiter.watch.is_none() {
            waiter.watch = Some(self.wakes.watch(token, waiter.reply.caller_gone()));
        }
    }

    /// Wakes a new waiter after `wait`, and as soon as its caller goes. The watch may be deferred, and wake a little later.
    pub(crate) fn watch(&mut self, token: Token, wait: Duration) {
        if wait <= 2 * DEFER_FOR || self.get_mut(token).is_none_or(|waiter| waiter.waiting.is_following()) {
            return self.wake_after(token, wait);
        }
        self.wakes.defer(token);
    }

    /// Starts the watches that were deferred long enough.
    pub(crate) fn watch_deferred(&mut self, now: Moment) {
        for token in self.wakes.deferred_enough() {
            let left = self.table.get(&token).filter(|it| it.timer.is_none()).map(|it| it.waiting.left(now));
            if let Some(left) = left {
                self.wake_after(token, left);
            }
        }
    }

    /// Returns the wakes of all waiters, as one stream without an end.
    pub(crate) fn wakes(&self) -> Wakes {
        self.wakes.clone()
    }

    /// Clears the timer of this waiter, which has fired.
    pub(crate) fn timer_fired(&mut self, token: Token) {
        if let Some(waiter) = self.table.get_mut(&token) {
            waiter.timer = None;
        }
    }
}
