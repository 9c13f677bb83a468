//! The notifications of the store, and the end of all that waits.

use tokio::sync::oneshot;

use crate::{
    core::{Event, LossReason, RecordKey, ResourceName, Token, one_line},
    manager::{Happening, LockManager},
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

    /// Handles a doubt about a lease: the answer of the store decides. Without one the next renewal does.
    fn doubted(&self, token: Token) {
        let lease = self.records.named(token).and_then(|record| self.records.lease(record));
        let Some(lease) = lease else { return };
        let (calls, happenings) = (self.calls.clone(), self.turn.happenings.clone());
        let seats = self.single_calls.questions.clone();
        actix_rt::spawn(async move {
            let asked = calls.ask("is_held", |store| store.is_held(lease.hold()));
            // It is not held either when it was released meanwhile.
            if let Ok(false) = seats.seated(asked).await
                && !lease.is_over()
            {
                lease.lose(LossReason::NotHeld);
                happenings.push(Happening::Lost(lease.record));
            }
        });
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
