//! Pending requests, by the token that they will get.

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
    protocol::{Moment, Token},
    store::{Refusal, StoreError},
};

/// A request that has no answer yet.
pub(crate) struct Waiter {
    pub(crate) plan: Plan,
    pub(crate) reply: ReplyTo<Result<Lease, AcquireError>>,
    pub(crate) asked: Moment,
    pub(crate) attempts: u32,
    /// Set while an attempt is in flight.
    pub(crate) in_flight: bool,
    /// Set if there was news while an attempt was in flight, so that another has to follow it at once.
    pub(crate) again: bool,
    /// Set if it is to check again after a grant window, unless it is granted now.
    pub(crate) looks_again: bool,
    /// The result of the last attempt.
    pub(crate) last: Last,
    /// True if it has a ticket in the queue of the store.
    pub(crate) placed: bool,
    /// The moment until which the store may hold something for this token after an attempt with an unknown outcome.
    pub(crate) perhaps_until: Option<Moment>,
    /// The arrival number in the cohort of this manager's waiters for the same resource, if it waits in one.
    pub(crate) arrival: Option<u64>,
    /// Set if it makes attempts, alone or as the leader of its cohort. The others wait for their turn.
    pub(crate) stands: bool,
    /// Set if it is abandoned: its caller has been answered, or has gone. It stays to keep its ticket for the others
    /// of its cohort.
    pub(crate) orphaned: bool,
    timer: Option<Timer>,
    watch: Option<AbortHandle>,
}

/// The result of the last attempt.
pub(crate) enum Last {
    Nothing,
    /// It has made none: it waits in a cohort of this manager, with this many ahead.
    Behind(u64),
    /// Another holder is in the way; in the queue this many waiters are ahead.
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
            looks_again: false,
            last: Last::Nothing,
            placed: false,
            perhaps_until: None,
            arrival: None,
            stands: false,
            orphaned: false,
            timer: None,
            watch: None,
        }
    }

    /// Records that the store has put it into the queue, or found it there.
    pub(crate) fn queued(&mut self, refusal: Refusal, ahead: u64) {
        if self.ahead() != Some(ahead) {
            self.tell_queued(ahead);
        }
        self.placed = true;
        self.last = Last::Refused(refusal, Some(ahead));
    }

    /// Records that it waits behind others of its cohort.
    pub(crate) fn waits_behind(&mut self, ahead: u64) {
        self.tell_queued(ahead);
        self.last = Last::Behind(ahead);
    }

    /// Returns the number of waiters ahead of it, as last reported.
    pub(crate) const fn ahead(&self) -> Option<u64> {
        match self.last {
            Last::Refused(_, ahead) => ahead,
            Last::Behind(ahead) => Some(ahead),
            Last::Nothing | Last::Failed(_) => None,
        }
    }

    fn tell_queued(&self, ahead: u64) {
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

    /// Returns the rest of its wait.
    pub(crate) fn left(&self, now: Moment) -> Duration {
        let place = self.plan.acquisition.place.filter(|_| self.orphaned);
        // An abandoned waiter waits for those behind it, for as long as there are any.
        place.map_or_else(|| (self.asked + self.plan.wait).remaining(now), |place| place.patience)
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

    pub(crate) fn is_orphaned(&self, token: Token) -> bool {
        self.table.get(&token).is_some_and(|waiter| waiter.orphaned)
    }

    pub(crate) fn tokens(&self) -> Vec<Token> {
        let mut tokens: Vec<_> = self.table.keys().copied().collect();
        // In the order of the tokens and not of the table, so that a simulation replays from its seed.
        tokens.sort_unstable();
        tokens
    }

    /// Returns the waiters that have a ticket in the queue of the store.
    pub(crate) fn placed(&self) -> Vec<Token> {
        let mut placed = self.tokens();
        placed.retain(|token| self.table[token].placed);
        placed
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
        if wait <= 2 * YOUNG || self.get_mut(token).is_none_or(|waiter| !waiter.stands) {
            return self.wake_after(token, wait);
        }
        self.wakes.add_young(token);
    }

    /// Starts the watches that were deferred long enough.
    pub(crate) fn watch_grown(&mut self, now: Moment) {
        for token in self.wakes.grown() {
            if let Some(left) = self.table.get(&token).filter(|it| it.timer.is_none()).map(|it| it.left(now))
            {
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
