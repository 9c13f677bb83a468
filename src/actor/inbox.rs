//! The store's notifications to the manager: hand-overs to its waiters, and the state of the subscription.

use actix::{Context, StreamHandler};

use crate::{
    actor::{LockManager, outage::told},
    protocol::Token,
    store::{Announcement, StoreError},
};

impl StreamHandler<Announcement> for LockManager {
    fn handle(&mut self, announcement: Announcement, _: &mut Context<Self>) {
        match announcement {
            Announcement::HandedOver(token) => self.attempt_now(token),
            Announcement::Next(token) => self.next_in_line(token),
            Announcement::GoOn(token) => self.go_on(token),
            Announcement::Listening => {
                self.hears = true;
                self.outage.listening();
                // Earlier notifications are lost.
                for token in self.waiters.placed() {
                    self.attempt_now(token);
                }
            }
            Announcement::Deaf(error) => self.deaf(&error),
        }
    }

    /// Falls back to the scheduled attempts when the store sends no notifications any more.
    fn finished(&mut self, _: &mut Context<Self>) {
        self.hears = false;
    }
}

impl LockManager {
    /// Schedules a check for a waiter that is next. What it waits for was handed to another one: if that
    /// is dead, this one finds out.
    fn next_in_line(&mut self, token: Token) {
        let now = self.clock.now();
        let Some(waiter) = self.waiters.get_mut(token) else {
            return;
        };
        if waiter.in_flight {
            // The answer to the attempt in flight may be older than this.
            waiter.again = true;
            return;
        }
        let left = waiter.left(now);
        self.waiters.wake_after(token, self.settings.grant_window.min(left));
    }

    /// Makes the waiter attempt at once, because the store asks for it: it may be its turn, or somebody ahead of it
    /// is dead. In the second case it has to check again when the grant window of the next one is over.
    fn go_on(&mut self, token: Token) {
        if let Some(waiter) = self.waiters.get_mut(token) {
            waiter.looks_again = true;
            self.attempt_now(token);
        }
    }

    /// Falls back to the scheduled attempts when the inbox is disconnected: waiters attempt as often as their backoff says.
    fn deaf(&mut self, error: &StoreError) {
        self.hears = false;
        self.outage.deaf(error);
        tracing::debug!(
            error = told(error),
            "hand-overs are not heard of; waiting goes on with scheduled attempts alone"
        );
        for token in self.waiters.placed() {
            if self.waiters.get_mut(token).is_some_and(|waiter| !waiter.in_flight) {
                self.not_granted(token);
            }
        }
    }
}
