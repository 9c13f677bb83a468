//! The watches over waiters: their timers, and their callers who may go.

use std::time::Duration;

use crate::{
    core::{Acquisition, RecordKey},
    manager::{LockManager, stream::DEFER_FOR},
};

impl LockManager {
    /// Wakes an acquisition after `pause`, and a waiter as soon as its caller goes.
    pub(super) fn wake_after(&self, record: RecordKey, pause: Duration) {
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
    pub(super) fn watch(&self, record: RecordKey, wait: Duration) {
        let follows = || self.engine.get(record).is_some_and(Acquisition::is_following);
        if !wait.is_zero() && (wait <= 2 * DEFER_FOR || follows()) {
            return self.wake_after(record, wait);
        }
        self.sources.defer(record);
    }

    /// Starts the watches that were deferred long enough.
    pub(crate) fn watch_deferred(&self, deferred: Vec<RecordKey>) {
        let now = self.clock.now();
        for record in deferred {
            let waits = self.records.with(record, |it| it.timer.is_none() && it.waiter().is_some());
            let Some(acquisition) = self.engine.get(record).filter(|_| waits == Some(true)) else { continue };
            match acquisition.is_try() {
                false => self.wake_after(record, acquisition.left(now)),
                true => self.watch_caller(record),
            }
        }
    }
}
