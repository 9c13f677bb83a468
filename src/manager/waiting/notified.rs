//! The notifications of the store, and the end of all that waits.

use tokio::sync::oneshot;

use crate::{
    core::{Event, RecordKey, ResourceName, Token, one_line},
    manager::LockManager,
    request::AcquireError,
    runtime::env::Draw,
    store::{Notification, StoreError},
};

impl LockManager {
    /// Handles a notification of the store.
    pub(crate) fn notified(&mut self, notification: Notification) {
        let (token, event) = match notification {
            Notification::HandedOver(token) => (token, Event::HandedOver),
            Notification::Next(token) => (token, Event::Next),
            Notification::GoOn(token) => (token, Event::GoOn),
            Notification::ToHolders(holders, notice) => return self.notice(&holders, &notice),
            Notification::Doubted(token) => return self.doubted(token),
            Notification::Subscribed => {
                self.engine.subscribed = true;
                self.calls.outage.subscribed();
                // The server may be another one, or have forgotten what it was told last.
                self.records.leases().iter().for_each(|lease| lease.tell_again());
                // Notifications from before are lost.
                return self.tell_queued_waiters(Event::Subscribed);
            }
            Notification::Disconnected(error) => return self.disconnected(&error),
        };
        if let Some(record) = self.records.named(token) {
            self.on_at(record, event, self.clock.now());
        }
    }

    /// Handles a doubt about a lease: it is renewed at once, and the answer decides.
    fn doubted(&self, token: Token) {
        let lease = self.records.named(token).and_then(|record| self.records.lease(record));
        let Some(lease) = lease.filter(|lease| !lease.is_over() && lease.may_renew()) else { return };
        let plan = lease.terms.plan;
        // One that is renewed only when its holder says so, or only so often, is found lost then.
        if plan.interval.is_some() && plan.max_renewals.is_none() {
            self.renew(lease, None);
        }
    }

    /// Handles the loss of notifications: waiters attempt as often as their backoff says.
    fn disconnected(&mut self, error: &StoreError) {
        self.engine.subscribed = false;
        self.calls.outage.disconnected(error);
        tracing::debug!(
            error = one_line(error),
            "not notified of hand-overs; waiting goes on with scheduled attempts alone"
        );
        self.tell_queued_waiters(Event::Disconnected);
    }

    fn tell_queued_waiters(&mut self, event: Event) {
        for record in self.engine.queued() {
            self.on_at(record, event, self.clock.now());
        }
    }

    /// Handles a resource that was taken away from its holders.
    pub(crate) fn opened(&mut self, resource: &ResourceName, handled: oneshot::Sender<()>) {
        let now = self.clock.now();
        let Self { engine, random, .. } = self;
        engine.opened(resource, now, &mut || random.draw(Draw::Attempt));
        self.carry_out(now);
        // The sender of the message may have gone.
        let _ = handled.send(());
    }

    /// Ends all requests that wait.
    pub(crate) fn dismiss_all(&mut self, error: &AcquireError) {
        self.engine.dissolve_cohorts();
        for record in self.records.waiting() {
            if planted!("a waiter is forgotten when the manager restarts") {
                self.engine.forget(record);
                self.records.remove(record);
            }
            self.fails(record, error.clone());
            self.on_at(record, Event::Dismissed, self.clock.now());
        }
        self.refuse_sets(error);
    }

    /// Notes the error that a request ends with, if the next event ends it.
    pub(super) fn fails(&self, record: RecordKey, error: AcquireError) {
        self.records.with(record, |it| it.waiter().map(|waiter| waiter.failure = Some(error)));
    }
}
