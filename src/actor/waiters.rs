//! The waiters of a manager, by the token that each will get.

use std::{collections::HashMap, time::Duration};

use futures_util::future::AbortHandle;

use crate::{
    actor::{
        AcquireError, Lease, LeaseChange, LeaseEvent,
        plan::Plan,
        reply::ReplyTo,
        timers::Timer,
        wakes::{Wakes, YOUNG},
    },
    protocol::{Moment, Terms, Token, Waiting},
    store::{Refusal, StoreError},
};

/// A request that has no answer yet.
pub(crate) struct Waiter {
    pub(crate) plan: Plan,
    pub(crate) reply: ReplyTo<Result<Lease, AcquireError>>,
    pub(crate) asked: Moment,
    /// The decisions about it.
    pub(crate) waiting: Waiting,
    /// The last answer of the store.
    pub(crate) answer: Option<Result<Refusal, StoreError>>,
    /// Its arrival in the cohort of those of this manager that want the same, if it waits in one.
    pub(crate) arrival: Option<u64>,
    timer: Option<Timer>,
    watch: Option<AbortHandle>,
}

impl Waiter {
    pub(crate) fn new(
        plan: Plan,
        reply: ReplyTo<Result<Lease, AcquireError>>,
        asked: Moment,
        grant_window: Duration,
    ) -> Self {
        let waiting = Waiting::new(Terms {
            asked,
            wait: plan.wait,
            backoff: plan.backoff,
            ttl: plan.acquisition.ttl,
            ticket_ttl: plan.acquisition.place.map_or(Duration::ZERO, |place| place.patience),
            grant_window,
        });
        Self { plan, reply, asked, waiting, answer: None, arrival: None, timer: None, watch: None }
    }

    /// Tells the caller's listener that so many waiters are ahead.
    pub(crate) fn tell_queued(&self, ahead: u64) {
        if let Some(listener) = &self.plan.events {
            let hold = &self.plan.acquisition.hold;
            listener.do_send(LeaseEvent {
                resource: hold.resource.clone(),
                token: hold.token.prefix(),
                fence: None,
                change: LeaseChange::Queued { ahead },
            });
        }
    }
}

/// The waiters of a manager, by the token that each will get. Each has a timer in one queue; none has a future or a task.
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
        // In an order of their own, and not the table's, so that a simulated world replays from its seed.
        tokens.sort_unstable();
        tokens
    }

    /// The waiters that have a place in the queue of the store.
    pub(crate) fn placed(&self) -> Vec<Token> {
        let mut placed = self.tokens();
        placed.retain(|token| self.table[token].waiting.has_ticket());
        placed
    }

    /// Takes a waiter out, with its timer and the watch over its caller.
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

    /// Wakes the waiter after `pause`, instead of whenever it was to be woken before, and as soon as its caller goes.
    pub(crate) fn wake_after(&mut self, token: Token, pause: Duration) {
        let Some(waiter) = self.table.get_mut(&token) else {
            return;
        };
        self.wakes.set_timer(&mut waiter.timer, token, pause);
        if waiter.watch.is_none() {
            waiter.watch = Some(self.wakes.watch(token, waiter.reply.caller_gone()));
        }
    }

    /// Wakes a new waiter after `wait`, and as soon as its caller goes; while its timer is deferred perhaps a little later.
    pub(crate) fn watch(&mut self, token: Token, wait: Duration) {
        if wait <= 2 * YOUNG || self.get_mut(token).is_none_or(|waiter| waiter.waiting.is_following()) {
            return self.wake_after(token, wait);
        }
        self.wakes.add_young(token);
    }

    /// Sets the timers that were deferred.
    pub(crate) fn watch_grown(&mut self, now: Moment) {
        for token in self.wakes.grown() {
            let left = self.table.get(&token).filter(|it| it.timer.is_none()).map(|it| it.waiting.left(now));
            if let Some(left) = left {
                self.wake_after(token, left);
            }
        }
    }

    /// The wakes of all waiters, as one stream without an end.
    pub(crate) fn wakes(&self) -> Wakes {
        self.wakes.clone()
    }

    /// Notes that the timer of this waiter has fired, and is no more.
    pub(crate) fn timer_fired(&mut self, token: Token) {
        if let Some(waiter) = self.table.get_mut(&token) {
            waiter.timer = None;
        }
    }
}
