//! The shell around the decisions about an acquisition.
//!
//! Everything that happens to it becomes an event, and the steps that follow are carried out.

mod admission;
mod answers;
pub(crate) mod attempts;
pub(crate) mod cohorts;
pub(crate) mod demands;
pub(crate) mod expected;
pub(crate) mod hand_off;
pub(crate) mod place;

use std::time::Duration;

use crate::{
    core::{Event, Moment, Situation, Steps, one_line},
    lease::RecordKey,
    manager::{LockManager, stream::DEFER_FOR},
    request::AcquireError,
    runtime::env::Draw,
    store::{Notification, StoreError},
};

impl LockManager {
    /// Feeds an event of this moment to an acquisition, and carries out the steps that follow. Unless the event leads to a
    /// pause, whose length is drawn, nothing of the application is called that may panic.
    pub(crate) fn on_at(&mut self, record: RecordKey, event: Event, now: Moment) {
        self.on_or_fail(record, event, None, now);
    }

    /// Does the same; if that ends the request, it fails with this error.
    pub(crate) fn on_or_fail(
        &mut self,
        record: RecordKey,
        event: Event,
        failure: Option<AcquireError>,
        now: Moment,
    ) {
        if let Some((steps, followed)) = self.decide(record, event, now) {
            self.carry_out(record, steps, followed, failure, now);
        }
    }

    /// Returns the steps that follow an event, and whether the acquisition followed another one until now.
    pub(crate) fn decide(&mut self, record: RecordKey, event: Event, now: Moment) -> Option<(Steps, bool)> {
        let Self { records, cohorts, random, subscribed, .. } = self;
        records.with(record, |it| {
            let cohort = it.cohort.filter(|_| it.arrival.is_some());
            let relied_on =
                cohort.and_then(|cohort| cohorts.get(cohort)).is_some_and(|it| it.relies_on(record));
            let caller_gone = it.waiter().is_some_and(|waiter| waiter.reply.is_closed());
            let situation = Situation { subscribed: *subscribed, relied_on, caller_gone };
            let followed = it.decisions.is_following();
            (it.decisions.on(event, now, || random.draw(Draw::Attempt), situation), followed)
        })
    }

    /// Carries out steps. Nothing in here may panic that the application hands in: the decision has been taken.
    pub(crate) fn carry_out(
        &mut self,
        record: RecordKey,
        steps: Steps,
        followed: bool,
        failure: Option<AcquireError>,
        now: Moment,
    ) {
        if let Some(pause) = steps.wake_after {
            self.wake_after(record, pause);
        }
        if steps.ask
            && let Some(attempt) = self.start_attempt(record, followed, now)
        {
            let number = self.sources.send(|dispatch| dispatch.attempt(attempt));
            self.records.with(record, |it| it.waiter().map(|waiter| waiter.attempt = Some(number)));
        }
        let unsent = steps.leave && !steps.hold && self.withdraw(record);
        let failure = failure.or_else(|| unsent.then(|| self.never_sent(record)).flatten());
        let answer = steps.end.and_then(|end| self.ended(record, end, failure, now));
        if steps.abandon {
            self.abandon(record);
        }
        let left = if steps.leave { self.leave_cohort(record) } else { None };
        if let Some(release) = steps.release {
            self.send_release(record, release, now);
        }
        if steps.remove {
            self.records.remove(record);
        }
        if let Some(cohort) = left {
            self.mend_cohort(cohort, now);
        }
        if unsent {
            self.on_at(record, Event::Unsent, now);
        }
        if let Some((reply, error)) = answer {
            reply.answer(Err(error));
        }
    }

    /// Wakes an acquisition after `pause`, and a waiter as soon as its caller goes.
    pub(crate) fn wake_after(&self, record: RecordKey, pause: Duration) {
        self.records.set_timer(record, Some(pause));
        self.watch_caller(record);
    }

    fn watch_caller(&self, record: RecordKey) {
        self.records.with(record, |it| {
            if let Some(waiter) = it.waiter().filter(|waiter| waiter.watch.is_none()) {
                waiter.watch = Some(self.sources.watch(record, waiter.reply.caller_gone()));
            }
        });
    }

    /// Wakes a new waiter after `wait`, and as soon as its caller goes. The watch may be deferred, and wake a little later.
    /// A try is answered by its attempt, and only its caller is watched.
    pub(crate) fn watch(&self, record: RecordKey, wait: Duration) {
        let follows = self.records.with(record, |it| it.decisions.is_following());
        if !wait.is_zero() && (wait <= 2 * DEFER_FOR || follows == Some(true)) {
            return self.wake_after(record, wait);
        }
        self.sources.defer(record);
    }

    /// Starts the watches that were deferred long enough.
    pub(crate) fn watch_deferred(&self, deferred: Vec<RecordKey>) {
        let now = self.clock.now();
        for record in deferred {
            let left = self.records.with(record, |it| {
                let waits = it.timer.is_none() && it.waiter().is_some();
                waits.then(|| (!it.decisions.is_try()).then(|| it.decisions.left(now)))
            });
            match left.flatten() {
                Some(Some(left)) => self.wake_after(record, left),
                Some(None) => self.watch_caller(record),
                None => {}
            }
        }
    }

    /// Ends all requests that wait.
    pub(crate) fn dismiss_all(&mut self, error: &AcquireError) {
        self.cohorts.clear();
        for record in self.records.waiting() {
            if planted!("a waiter is forgotten when the manager restarts") {
                self.records.remove(record);
            }
            self.on_or_fail(record, Event::Dismissed, Some(error.clone()), self.clock.now());
        }
        self.refuse_sets(error);
    }

    /// Handles a notification of the store.
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
            self.on_at(record, event, self.clock.now());
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
        let mut queued = self.records.waiting();
        queued.retain(|record| self.records.with(*record, |it| it.decisions.has_ticket()) == Some(true));
        for record in queued {
            self.on_at(record, event, self.clock.now());
        }
    }
}
