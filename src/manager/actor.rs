//! The life of the lock manager: its start, its restart after a crash, and its turns.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Duration,
};

use actix::{Actor, AsyncContext, Context, StreamHandler, Supervised};
use tokio::time::Instant;

use crate::{
    core::{Event, Moment},
    manager::{
        Happened, Happening, LockManager,
        outage::{CHECKED_EVERY, LATE},
    },
    request::AcquireError,
    runtime::{reactor, responder::Responder},
    store::StoreError,
};

/// The minimum divergence of the two clocks that counts.
const STOOD_STILL: Duration = Duration::from_millis(50);

/// The largest number of happenings that are handled in one turn.
const AT_ONCE: usize = 64;

struct Clocks {
    runtime: Instant,
    ours: Moment,
}

impl Actor for LockManager {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        if reactor::is_missing() {
            return;
        }
        self.engine.subscribed = false;
        self.sources.set_down(false);
        if self.policy.listens {
            self.sources.listen(self.calls.store.listen(&self.policy.inbox));
        }
        ctx.add_stream(self.sources.clone());
        let mut clocks = Clocks { runtime: Instant::now(), ours: self.clock.now() };
        self.calls.listeners.tick(clocks.ours);
        self.calls.outage.will_be_checked();
        ctx.run_interval(CHECKED_EVERY, move |this, _| {
            this.compare_clocks(&mut clocks);
            this.calls.listeners.tick(clocks.ours);
            this.engine.forget_old_demand(clocks.ours);
            let releases_unconfirmed = this.calls.listeners.counts().stats.releases_unconfirmed;
            this.calls.outage.check(releases_unconfirmed);
        });
    }
}

impl Supervised for LockManager {
    /// Cleans up after a crash. Valid leases go on, because their monitor runs in a task of its own. Pending callers
    /// are told, and what they may have been granted is reclaimed. What was in hand is handled again.
    fn restarting(&mut self, _: &mut Self::Context) {
        if let Some(again) =
            self.turn.in_hand.take().filter(|_| !planted!("what was in hand is forgotten in a panic"))
        {
            self.turn.happenings.push_front(again);
        }
        while planted!("what has happened is forgotten in a panic") && self.turn.happenings.pop().is_some() {}
        // What was decided before the panic.
        self.carry_out(self.clock.now());
        self.dismiss_all(&AcquireError::Restarted);
        // They ended with the manager, which still refuses new requests, and can be told to shut down again.
        self.shutdown.running = 0;
    }
}

impl StreamHandler<Happened> for LockManager {
    fn handle(&mut self, _: Happened, _: &mut Self::Context) {
        let turn = catch_unwind(AssertUnwindSafe(|| self.take_turn()));
        // Also if it panicked: leases that were granted before that do not wait for the restart.
        self.turn.answers.send();
        turn.unwrap_or_else(|panic| resume_unwind(panic));
    }

    /// Does nothing: the stream has no end.
    fn finished(&mut self, _: &mut Self::Context) {}
}

impl LockManager {
    /// Handles what has happened. No more at once: messages and batches want their turn.
    fn take_turn(&mut self) {
        for _ in 0..AT_ONCE {
            let Some(happening) = self.turn.happenings.pop() else { return };
            self.turn.in_hand = happening.after_panic();
            self.happened(happening);
            self.turn.in_hand = None;
        }
    }

    fn happened(&mut self, happening: Happening) {
        match happening {
            Happening::Attempted(attempt, outcome) => self.attempted(&attempt, outcome),
            Happening::AttemptLost(attempt) => {
                self.attempted(&attempt, Err(StoreError::reply_lost("acquire: the lock manager panicked")));
            }
            Happening::Released(record, answer) => self.released(record, answer),
            Happening::ReleaseLost(record) => {
                self.released(record, Err(StoreError::reply_lost("release: the lock manager panicked")));
            }
            Happening::TriedAll(tried) => self.tried_all(tried),
            Happening::Due(record) => self.on_at(record, Event::Due, self.clock.now()),
            Happening::CallerGone(record) => self.on_at(record, Event::CallerGone, self.clock.now()),
            Happening::Deferred(records) => self.watch_deferred(records),
            Happening::RenewalDue(record) => self.start_renewer(record),
            Happening::RenewalMissed(record) => self.renewal_missed(record),
            Happening::Lost(record) => self.lost(record),
            Happening::OwnerGone(record) => self.owner_gone(record),
            Happening::Release(release) => self.release(release, Responder::new().0),
            Happening::Opened(resource, handled) => self.opened(&resource, handled),
            Happening::Notified(notification, _) => self.notified(notification),
            Happening::NoMoreNotifications => self.engine.subscribed = false,
        }
    }

    /// Compares the two clocks. After a time in which the runtime's timers stood still (the machine was suspended),
    /// everybody who waits for the end of a lease has to check the clock instead of a timer.
    fn compare_clocks(&self, seen: &mut Clocks) {
        let now = Clocks { runtime: Instant::now(), ours: self.clock.now() };
        let stood_still = seen.ours.elapsed(now.ours).saturating_sub(now.runtime - seen.runtime);
        let late = (now.runtime - seen.runtime).saturating_sub(CHECKED_EVERY);
        *seen = now;
        if late > LATE {
            self.calls.outage.woke();
            tracing::warn!(stood_still = ?late, "the process stood still: it was stopped, or got no CPU");
        }
        if stood_still > STOOD_STILL {
            self.calls.outage.woke();
            tracing::warn!(?stood_still, "the machine was suspended; checking every lease");
            for lease in self.records.leases() {
                self.records.set_timer(lease.record, Some(Duration::ZERO));
                self.restart_renewer(lease.record);
                lease.changed.notify_waiters();
            }
        }
    }
}
