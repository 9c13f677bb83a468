//! The waiters of a quorum: the nodes that have named each of them as next, and the notifications that follow.
//!
//! Every node has a queue of its own, which is a hint and no promise: what counts are the votes on the next attempt.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::{
    core::{Moment, Token},
    store::{Acquisition, Inbox, Notification},
};

/// The time for which a waiter that a minority has named waits for the others before it attempts, after an attempt that
/// was not split. It doubles with each split until one is not split because somebody holds.
const FIRST_PATIENCE: Duration = Duration::from_millis(16);
const LONGEST_PATIENCE: Duration = Duration::from_millis(160);

/// All waiters, and the subscriber of each inbox.
#[derive(Debug, Default)]
pub(super) struct Waiters(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    waiters: HashMap<Token, Waiter>,
    subscribers: HashMap<Inbox, UnboundedSender<Notification>>,
    sweep_at: usize,
}

#[derive(Debug)]
struct Waiter {
    inbox: Inbox,
    /// The end of its queue tickets, unless it attempts again.
    end: Moment,
    /// The latest attempt, and whether it is in progress.
    attempt: u64,
    asks: bool,
    /// The nodes that have named it since that attempt was sent.
    named_by: Vec<usize>,
    /// True if a node had named it before that attempt. If it was not granted then, the votes were split.
    was_named: bool,
    /// True if it has been notified of that.
    is_told: bool,
    is_impatient: bool,
    /// The kinds of other notifications that it has been sent since that attempt: that it is the next, and to go on.
    forwarded: (bool, bool),
    /// True if it is to be told that it is the next as soon as its attempt is answered. Told before, it would attempt at
    /// once, and each attempt takes back that it gives way.
    is_next: bool,
    /// The number of split votes since one that was not, which make it patient. A holder that some nodes do not know of
    /// splits votes for as long as it holds.
    tries: u32,
    /// Its place in the queues, which its first attempt proposed that knew the clock of a node.
    place: Option<u64>,
}

/// What follows when a node names a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// It does not wait.
    Nobody,
    /// Nothing new: it attempts anyway, or waits for its patience to end already.
    Known,
    /// A minority names it. It is to attempt after this pause, unless a majority does so before.
    Minority {
        /// Its latest attempt.
        attempt: u64,
        /// The pause.
        patience: Duration,
    },
}

impl Waiters {
    /// Begins an attempt. What nodes said before it counts no more. Returns the place of the waiter in the queues: this one,
    /// unless it has one from an earlier attempt.
    pub(super) fn begin(
        &self,
        asked: &Acquisition,
        attempt: u64,
        place: Option<u64>,
        now: Moment,
    ) -> Option<u64> {
        let ticket = asked.ticket?;
        let mut known = self.known();
        known.sweep(now);
        let new = || Waiter {
            inbox: ticket.inbox,
            end: now,
            attempt,
            asks: true,
            named_by: Vec::new(),
            was_named: false,
            is_told: false,
            is_impatient: false,
            forwarded: (false, false),
            is_next: false,
            tries: 0,
            place,
        };
        let waiter = known.waiters.entry(asked.hold.token).or_insert_with(new);
        (waiter.inbox, waiter.end) = (ticket.inbox, now + ticket.ttl.max(asked.ttl));
        (waiter.attempt, waiter.asks) = (attempt, true);
        waiter.was_named = !waiter.named_by.is_empty();
        waiter.named_by.clear();
        (waiter.is_told, waiter.is_impatient, waiter.forwarded) = (false, false, (false, false));
        waiter.place = waiter.place.or(place);
        waiter.place
    }

    /// Ends an attempt that was not granted. `split` has the nodes that granted it, if any, which it gives back; `is_held` tells
    /// whether a majority named the same holder. Returns what follows.
    pub(super) fn answered(
        &self,
        token: Token,
        attempt: u64,
        split: &[usize],
        is_held: bool,
        needed: usize,
    ) -> Named {
        let mut known = self.known();
        let Some(waiter) = known.waiters.get_mut(&token).filter(|waiter| waiter.attempt == attempt) else {
            return Named::Nobody;
        };
        waiter.asks = false;
        match waiter.was_named || !split.is_empty() {
            true => waiter.tries = waiter.tries.saturating_add(1),
            false if is_held => waiter.tries = 0,
            false => {}
        }
        waiter.named_by.retain(|node| !split.contains(node));
        if std::mem::take(&mut waiter.is_next) {
            waiter.forwarded.0 = true;
            let inbox = waiter.inbox;
            known.send(inbox, Notification::Next(token));
        }
        known.follow(token, needed)
    }

    /// Notes that a node has named a waiter as next. Notifies it if a majority has.
    pub(super) fn named(&self, token: Token, node: usize, needed: usize) -> Named {
        let mut known = self.known();
        let Some(waiter) = known.waiters.get_mut(&token) else {
            return Named::Nobody;
        };
        if !waiter.named_by.contains(&node) {
            waiter.named_by.push(node);
        }
        known.follow(token, needed)
    }

    /// Notifies a waiter whose patience has ended, unless it has been notified or has attempted meanwhile.
    pub(super) fn patience_ended(&self, token: Token, attempt: u64) {
        let mut known = self.known();
        let waiter = known.waiters.get(&token);
        if waiter.is_some_and(|waiter| waiter.attempt == attempt && !waiter.asks && !waiter.is_told) {
            known.tell(token);
        }
    }

    /// Forwards the first of such notifications since the latest attempt: each of them has it attempt on all nodes.
    pub(super) fn forward(&self, notification: Notification) {
        let mut known = self.known();
        let (token, goes_on) = match &notification {
            Notification::Next(token) => (*token, false),
            Notification::GoOn(token) => (*token, true),
            Notification::HandedOver(_)
            | Notification::ToHolders(..)
            | Notification::Subscribed
            | Notification::Disconnected(_) => return,
        };
        let Some(waiter) = known.waiters.get_mut(&token) else {
            return;
        };
        if waiter.asks && !goes_on {
            waiter.is_next = true;
            return;
        }
        let forwarded = if goes_on { &mut waiter.forwarded.1 } else { &mut waiter.forwarded.0 };
        if !std::mem::replace(forwarded, true) {
            let inbox = waiter.inbox;
            known.send(inbox, notification);
        }
    }

    /// Removes a token that does not wait any more, unless it has attempted since the attempt of this number. Returns the
    /// nodes that have named it since its latest attempt was sent.
    pub(super) fn remove(&self, token: Token, attempt: Option<u64>) -> Vec<usize> {
        let mut known = self.known();
        let waiter = known.waiters.get(&token);
        if waiter.is_none_or(|waiter| attempt.is_some_and(|attempt| attempt != waiter.attempt)) {
            return Vec::new();
        }
        known.waiters.remove(&token).map(|waiter| waiter.named_by).unwrap_or_default()
    }

    /// Returns the time after which a waiter should attempt again whose vote was split just now.
    pub(super) fn patience_after_split(&self, token: Token) -> Duration {
        let tries = self.known().waiters.get(&token).map_or(0, |waiter| waiter.tries);
        patience(token, tries.saturating_add(1))
    }

    /// Subscribes to the notifications to this inbox, in place of an earlier subscriber.
    pub(super) fn subscribe(&self, inbox: Inbox) -> UnboundedReceiver<Notification> {
        let (sender, notifications) = unbounded_channel();
        let mut known = self.known();
        known.subscribers.retain(|_, subscriber| !subscriber.is_closed());
        known.subscribers.insert(inbox, sender);
        notifications
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // No code panics half-way while it holds this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn patience(token: Token, tries: u32) -> Duration {
    let doubled = FIRST_PATIENCE.saturating_mul(1 << tries.min(4)).min(LONGEST_PATIENCE);
    doubled.mul_f64(0.5 + draw(token, tries) / 2.0)
}

/// Returns a number in `0.0..=1.0` that differs from one waiter to another, because tokens are random. So those whose
/// votes were split together do not attempt together.
fn draw(token: Token, tries: u32) -> f64 {
    let mut hasher = DefaultHasher::new();
    (token, tries).hash(&mut hasher);
    hasher.finish() as f64 / u64::MAX as f64
}

impl Known {
    /// Returns what follows from the nodes that have named a waiter, and notifies it if they are a majority.
    fn follow(&mut self, token: Token, needed: usize) -> Named {
        let Some(waiter) = self.waiters.get_mut(&token) else {
            return Named::Nobody;
        };
        if waiter.asks || waiter.is_told || waiter.named_by.is_empty() {
            return Named::Known;
        }
        if waiter.named_by.len() >= needed {
            self.tell(token);
            return Named::Known;
        }
        if std::mem::replace(&mut waiter.is_impatient, true) {
            return Named::Known;
        }
        Named::Minority { attempt: waiter.attempt, patience: patience(token, waiter.tries) }
    }

    fn tell(&mut self, token: Token) {
        if let Some(waiter) = self.waiters.get_mut(&token) {
            waiter.is_told = true;
            let inbox = waiter.inbox;
            if planted!("nobody is told whom a majority names") {
                return;
            }
            self.send(inbox, Notification::HandedOver(token));
        }
    }

    fn send(&self, inbox: Inbox, notification: Notification) {
        if let Some(subscriber) = self.subscribers.get(&inbox) {
            // A subscriber that is just leaving does not need the notification.
            let _ = subscriber.send(notification);
        }
    }

    /// Removes waiters whose tickets have ended, when there are twice as many as were left the last time.
    fn sweep(&mut self, now: Moment) {
        const LEAST: usize = 1_024;
        if self.waiters.len() >= self.sweep_at.max(LEAST) {
            self.waiters.retain(|_, waiter| waiter.end > now);
            self.sweep_at = 2 * self.waiters.len();
        }
    }
}

#[cfg(test)]
mod tests;
