//! The subscribers to notifications, and the delivery to them.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::{Stream, stream};
use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::store::{Inbox, Notification, memory::faults};

/// All subscribers. A clone is another handle to the same inboxes.
#[derive(Clone, Default)]
pub(super) struct Inboxes(Arc<Mutex<Listeners>>);

#[derive(Default)]
struct Listeners {
    subscribed: BTreeMap<Inbox, Vec<UnboundedSender<Notification>>>,
    losing: bool,
    disconnected: bool,
}

/// The notifications to one subscriber. It has an entry among the listeners for as long as it lives.
struct InboxListener {
    inbox: Inbox,
    inboxes: Inboxes,
    notifications: UnboundedReceiver<Notification>,
}

impl Inboxes {
    pub(super) fn listen(&self, inbox: Inbox) -> impl Stream<Item = Notification> + Send + use<> {
        let (sender, notifications) = unbounded_channel();
        let mut listeners = self.0.lock();
        tell(&sender, listeners.beginning());
        listeners.subscribed.entry(inbox).or_default().push(sender);
        let listener = InboxListener { inbox, inboxes: self.clone(), notifications };
        stream::unfold(listener, async |mut listener| Some((listener.notifications.recv().await?, listener)))
    }

    /// Sends a notification. Returns true if somebody is subscribed, as far as can be told: a notification that gets
    /// lost was sent to somebody.
    pub(super) fn notify(&self, inbox: Inbox, notification: &Notification) -> bool {
        let listeners = self.0.lock();
        let Some(subscribed) = listeners.subscribed.get(&inbox).filter(|_| !listeners.disconnected) else {
            return false;
        };
        if !listeners.losing {
            subscribed.iter().for_each(|listener| tell(listener, notification.clone()));
        }
        true
    }

    pub(super) fn notify_all(&self, notification: &Notification) {
        let listeners = self.0.lock();
        if !listeners.disconnected && !listeners.losing {
            let all = listeners.subscribed.values().flatten();
            all.for_each(|listener| tell(listener, notification.clone()));
        }
    }

    pub(super) fn lose(&self, losing: bool) {
        self.0.lock().losing = losing;
    }

    pub(super) fn disconnect(&self, disconnected: bool) {
        let mut listeners = self.0.lock();
        if listeners.disconnected == disconnected {
            return;
        }
        listeners.disconnected = disconnected;
        for listener in listeners.subscribed.values().flatten() {
            tell(listener, listeners.beginning());
        }
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.0.lock().subscribed.values().map(Vec::len).sum()
    }
}

impl Listeners {
    /// Returns the first notification to a subscriber, which is sent again when it changes.
    fn beginning(&self) -> Notification {
        if self.disconnected {
            Notification::Disconnected(faults::unavailable())
        } else {
            Notification::Subscribed
        }
    }
}

impl Drop for InboxListener {
    fn drop(&mut self) {
        self.notifications.close();
        let mut listeners = self.inboxes.0.lock();
        if let Some(senders) = listeners.subscribed.get_mut(&self.inbox) {
            senders.retain(|sender| !sender.is_closed());
            if senders.is_empty() {
                listeners.subscribed.remove(&self.inbox);
            }
        }
    }
}

fn tell(listener: &UnboundedSender<Notification>, notification: Notification) {
    // A subscriber that is just leaving does not need the notification.
    let _ = listener.send(notification);
}
