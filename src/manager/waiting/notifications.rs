//! The notifications of the store to the waiters of a manager.

use crate::{
    core::{Event, one_line},
    manager::LockManager,
    store::{Notification, StoreError},
};

impl LockManager {
    pub(crate) fn notified(&mut self, notification: Notification) {
        let (token, event) = match notification {
            Notification::HandedOver(token) => (token, Event::HandedOver),
            Notification::Next(token) => (token, Event::Next),
            Notification::GoOn(token) => (token, Event::GoOn),
            Notification::ToHolders(holders, notice) => return self.notice(&holders, &notice),
            Notification::Subscribed => {
                self.subscribed = true;
                self.outage.subscribed();
                // Notifications from before are lost.
                return self.tell_queued_waiters(Event::HandedOver);
            }
            Notification::Disconnected(error) => return self.disconnected(&error),
        };
        if let Some(record) = self.records.named(token) {
            self.on(record, event);
        }
    }

    /// Handles the loss of notifications: waiters attempt as often as their backoff says.
    fn disconnected(&mut self, error: &StoreError) {
        self.subscribed = false;
        self.outage.disconnected(error);
        tracing::debug!(
            error = one_line(error),
            "not notified of hand-overs; waiting goes on with scheduled attempts alone"
        );
        self.tell_queued_waiters(Event::Disconnected);
    }

    fn tell_queued_waiters(&mut self, event: Event) {
        for record in self.records.with_tickets() {
            self.on(record, event);
        }
    }
}
