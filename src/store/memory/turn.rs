//! The environment of a verb: the time, new fences, and the inboxes that it may notify.

use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::{
    core::{AHEAD_AT_MOST, Fence, Moment, Token},
    store::{HolderNotice, Inbox, Notification, Notifications, StoreError},
};

/// One verb's turn at the store.
pub(super) struct VerbTurn<'a> {
    pub(super) now: Moment,
    pub(super) last_fence: &'a mut u64,
    /// The smallest fence for a new grant that a quorum has proposed.
    pub(super) least_fence: Option<u64>,
    pub(super) inboxes: &'a Inboxes,
    /// The work for waiters so far, which `STEPS_AT_MOST` bounds.
    pub(super) steps: u32,
    /// Set while the verb has found a hand-over that was not taken up, and has not acted on it yet.
    pub(super) found_unclaimed: bool,
}

impl VerbTurn<'_> {
    /// Lets a new fence be at least this one, or the one as far past the time as it may be, whichever is less.
    pub(super) fn propose(&mut self, fence: Option<Fence>) {
        self.least_fence = fence.map(|fence| fence.get().min((self.now + AHEAD_AT_MOST).micros()));
    }

    pub(super) fn new_fence(&mut self) -> Fence {
        let clock = self.now.micros();
        if planted!("a fence that expires") && clock > *self.last_fence + 1_000_000 {
            return Fence::new(1);
        }
        *self.last_fence = (*self.last_fence + 1).max(clock).max(self.least_fence.unwrap_or(0));
        Fence::new(*self.last_fence)
    }

    /// Sends a notice to these holders, if there are any.
    pub(super) fn notify_holders(&self, holders: &[Token], notice: HolderNotice) {
        if !holders.is_empty() && !self.inboxes.losing && !self.inboxes.disconnected {
            self.inboxes.tell_all(&Notification::ToHolders(holders.to_vec(), notice));
        }
    }
}

/// The subscribers to notifications. Those that are gone are forgotten with the next one.
#[derive(Default)]
pub(super) struct Inboxes {
    pub(super) subscribed: BTreeMap<Inbox, Vec<UnboundedSender<Notification>>>,
    pub(super) losing: bool,
    disconnected: bool,
}

impl Inboxes {
    pub(super) fn listen(&mut self, inbox: Inbox) -> Notifications {
        self.subscribed.retain(|_, subscribers| {
            subscribers.retain(|subscriber| !subscriber.is_closed());
            !subscribers.is_empty()
        });
        let (subscriber, mut notifications) = unbounded_channel();
        tell(&subscriber, self.beginning());
        self.subscribed.entry(inbox).or_default().push(subscriber);
        // The stream has no end, though the store may be gone.
        stream::poll_fn(move |context| notifications.poll_recv(context)).chain(stream::pending()).boxed()
    }

    /// Sends a notification. Returns true if somebody is subscribed, as far as can be told: a notification that gets
    /// lost was sent to somebody.
    pub(super) fn notify(&self, inbox: Inbox, notification: &Notification) -> bool {
        let Some(subscribers) = self.subscribed.get(&inbox).filter(|_| !self.disconnected) else {
            return false;
        };
        if !self.losing {
            subscribers.iter().for_each(|subscriber| tell(subscriber, notification.clone()));
        }
        subscribers.iter().any(|subscriber| !subscriber.is_closed())
    }

    pub(super) fn disconnect(&mut self, disconnected: bool) {
        if self.disconnected != disconnected {
            self.disconnected = disconnected;
            self.tell_all(&self.beginning());
        }
    }

    /// Returns the first notification to a subscriber, which is sent again when it changes.
    fn beginning(&self) -> Notification {
        if self.disconnected {
            Notification::Disconnected(StoreError::unavailable("a scripted fault"))
        } else {
            Notification::Subscribed
        }
    }

    fn tell_all(&self, notification: &Notification) {
        let subscribers = self.subscribed.values().flatten();
        subscribers.for_each(|subscriber| tell(subscriber, notification.clone()));
    }
}

fn tell(subscriber: &UnboundedSender<Notification>, notification: Notification) {
    // A subscriber that is gone does not need the notification.
    let _ = subscriber.send(notification);
}
