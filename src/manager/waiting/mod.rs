//! The shell around the decisions about waiting.
//!
//! Everything that happens to a waiter becomes an event, and the steps that follow are carried out.

mod answers;
pub(crate) mod attempts;
pub(crate) mod cohorts;
pub(crate) mod hand_off;
pub(crate) mod waiters;
mod wakes;

use actix::{Context, StreamHandler};

use crate::{
    core::{Event, Situation, Token, one_line},
    env::Draw,
    manager::{LockManager, waiting::wakes::Wake},
    request::AcquireError,
    store::{Notification, StoreError},
};

impl LockManager {
    /// Feeds an event to a waiter, and carries out the steps that follow.
    pub(crate) fn on(&mut self, token: Token, event: Event) {
        self.on_or_fail(token, event, None);
    }

    /// Does the same; if that ends the request, it fails with this error.
    pub(crate) fn on_or_fail(&mut self, token: Token, event: Event, failure: Option<AcquireError>) {
        let now = self.clock.now();
        let Some(waiter) = self.waiters.get_mut(token) else {
            return;
        };
        let resource = &waiter.request.acquisition.hold.resource;
        let relied_on = waiter.arrival.is_some() && self.cohorts.relies_on(resource, token);
        let situation = Situation { subscribed: self.subscribed, relied_on };
        let followed = waiter.waiting.is_following();
        let steps = waiter.waiting.on(event, now, || self.random.draw(Draw::Attempt), situation);
        if let Some(pause) = steps.wake_after {
            self.waiters.wake_after(token, pause);
        }
        if steps.ask
            && let Some(attempt) = self.start_attempt(token, followed)
        {
            self.dispatch.attempts.push(attempt);
        }
        // From here to the answer nothing may panic that the application hands in: the decision has been taken.
        let answer = steps.end.and_then(|end| self.ended(token, end, failure, now));
        if steps.abandon {
            self.abandon(token);
        }
        if steps.remove {
            self.remove_waiter(token, steps.reclaim);
        }
        if let Some((reply, error)) = answer {
            reply.answer(Err(error));
        }
    }
}

impl StreamHandler<Wake> for LockManager {
    fn handle(&mut self, wake: Wake, _: &mut Self::Context) {
        match wake {
            Wake::CallerGone(token) => self.on(token, Event::CallerGone),
            Wake::Deferred => self.waiters.watch_deferred(self.clock.now()),
            Wake::Attempt(token) => {
                self.waiters.timer_fired(token);
                self.on(token, Event::Due);
            }
        }
    }

    /// Does nothing: the wakes have no end.
    fn finished(&mut self, _: &mut Self::Context) {}
}

impl StreamHandler<Notification> for LockManager {
    fn handle(&mut self, notification: Notification, _: &mut Context<Self>) {
        match notification {
            Notification::HandedOver(token) => self.on(token, Event::HandedOver),
            Notification::Next(token) => self.on(token, Event::Next),
            Notification::GoOn(token) => self.on(token, Event::GoOn),
            Notification::Subscribed => {
                self.subscribed = true;
                self.outage.subscribed();
                // Notifications from before are lost.
                for token in self.waiters.with_tickets() {
                    self.on(token, Event::HandedOver);
                }
            }
            Notification::Disconnected(error) => self.disconnected(&error),
        }
    }

    /// Ends the notifications of a store without a queue, which leaves the scheduled attempts.
    fn finished(&mut self, _: &mut Context<Self>) {
        self.subscribed = false;
    }
}

impl LockManager {
    /// Handles the loss of notifications: waiters attempt as often as their backoff says.
    fn disconnected(&mut self, error: &StoreError) {
        self.subscribed = false;
        self.outage.disconnected(error);
        tracing::debug!(
            error = one_line(error),
            "not notified of hand-overs; waiting goes on with scheduled attempts alone"
        );
        for token in self.waiters.with_tickets() {
            self.on(token, Event::Disconnected);
        }
    }
}
