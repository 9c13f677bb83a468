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
    env::Roll,
    manager::{LockManager, waiting::wakes::Wake},
    request::AcquireError,
    store::{Announcement, StoreError},
};

impl LockManager {
    /// Lets something happen to a waiter, and carries out what follows.
    pub(crate) fn on(&mut self, token: Token, event: Event) {
        self.on_or_fail(token, event, None);
    }

    /// The same; if that ends the request, it fails with this error.
    pub(crate) fn on_or_fail(&mut self, token: Token, event: Event, failure: Option<AcquireError>) {
        let now = self.clock.now();
        let Some(waiter) = self.waiters.get_mut(token) else {
            return;
        };
        let resource = &waiter.plan.acquisition.hold.resource;
        let relied_on = waiter.arrival.is_some() && self.cohorts.relies_on(resource, token);
        let situation = Situation { subscribed: self.hears, relied_on };
        let followed = waiter.waiting.is_following();
        let steps = waiter.waiting.on(event, now, || self.dice.roll(Roll::Attempt), situation);
        if let Some(pause) = steps.wake_after {
            self.waiters.wake_after(token, pause);
        }
        if steps.ask
            && let Some(attempt) = self.set_out(token, followed)
        {
            self.lanes.attempts.push(attempt);
        }
        // From here to the answer nothing may panic that the application hands in: the decision has been taken.
        let answer = steps.end.and_then(|end| self.ended(token, end, failure, now));
        if steps.abandon {
            self.abandon(token);
        }
        if steps.remove {
            self.take_out(token, steps.reclaim);
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
            Wake::Grown => self.waiters.watch_grown(self.clock.now()),
            Wake::Attempt(token) => {
                self.waiters.timer_fired(token);
                self.on(token, Event::Due);
            }
        }
    }

    /// The wakes have no end.
    fn finished(&mut self, _: &mut Self::Context) {}
}

impl StreamHandler<Announcement> for LockManager {
    fn handle(&mut self, announcement: Announcement, _: &mut Context<Self>) {
        match announcement {
            Announcement::HandedOver(token) => self.on(token, Event::HandedOver),
            Announcement::Next(token) => self.on(token, Event::Next),
            Announcement::GoOn(token) => self.on(token, Event::GoOn),
            Announcement::Listening => {
                self.hears = true;
                self.outage.listening();
                // What was announced before is lost.
                for token in self.waiters.placed() {
                    self.on(token, Event::HandedOver);
                }
            }
            Announcement::Deaf(error) => self.deaf(&error),
        }
    }

    /// A store that announces nothing any more leaves the scheduled attempts.
    fn finished(&mut self, _: &mut Context<Self>) {
        self.hears = false;
    }
}

impl LockManager {
    /// Nothing is heard any more: waiters attempt as often as their backoff says.
    fn deaf(&mut self, error: &StoreError) {
        self.hears = false;
        self.outage.deaf(error);
        tracing::debug!(
            error = one_line(error),
            "hand-overs are not heard of; waiting goes on with scheduled attempts alone"
        );
        for token in self.waiters.placed() {
            self.on(token, Event::Disconnected);
        }
    }
}
