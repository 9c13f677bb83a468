//! The lock manager: the one actor that owns the store, and answers every request for a lock.
//!
//! It never awaits the store in its own context: operations travel in batches, and their results come back as happenings.
//! It therefore serves thousands of waiters, and a store that hangs holds nobody else up.

mod builder;
mod dispatch;
mod fairness;
mod happening;
mod messages;
mod monitor;
mod outage;
mod own_leases;
mod query;
mod ready;
mod record;
mod records;
mod release;
mod renew;
mod revoke;
mod seats;
mod sets;
mod shutdown;
mod stream;
pub(crate) mod trace;
mod tuning;
mod waiting;
pub(crate) mod with_lock;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    rc::Rc,
    sync::{Arc, Weak},
    time::Duration,
};

use actix::{Actor, Addr, AsyncContext, Context, StreamHandler, Supervised};
use tokio::time::Instant;

use crate::{
    core::{Event, Moment, Pauses},
    lease::{messages::ManagerLink, renewer::Renewers},
    listeners::statistics::Recorder,
    manager::{
        happening::{Happening, Happenings, InHand},
        outage::Outage,
        ready::Readiness,
        records::Records,
        seats::AllSeats,
        sets::Sets,
        shutdown::Draining,
        stream::{Happened, Sources},
        waiting::{cohorts::Cohorts, demands::Demands},
    },
    request::{AcquireError, Settings},
    runtime::{
        env::{Clock, Random},
        reactor,
        responder::{Answers, Responder},
    },
    store::{Inbox, Metadata, Store},
};

pub use self::builder::LockManagerBuilder;

/// The interval between comparisons of the manager's clock with the runtime's.
const COMPARE_CLOCKS_EVERY: Duration = Duration::from_secs(1);

/// The minimum divergence of the two clocks that counts.
const STOOD_STILL: Duration = Duration::from_millis(50);

/// The largest number of happenings that are handled in one turn.
const AT_ONCE: usize = 64;

/// The two clocks at one moment.
struct Clocks {
    runtime: Instant,
    ours: Moment,
}

/// The lock manager. Create one with [`LockManager::builder`] and share its address.
pub struct LockManager {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) settings: Arc<Settings>,
    /// The maximum number of waiters of this manager for one resource that they want exclusively.
    pub(crate) max_waiters_here: u32,
    /// What came of waits by default.
    pub(crate) default_waits: tuning::DefaultWaits,
    /// The tuner that may change the settings, while it lives.
    pub(crate) tuned_by: Weak<()>,
    /// The pauses of the application, for requests that have none of their own.
    pub(crate) own_pauses: Option<Pauses>,
    pub(crate) stats: Arc<Recorder>,
    /// The metadata that every holder of this manager reports about itself.
    pub(crate) about: Arc<Metadata>,
    pub(crate) records: Records,
    pub(crate) cohorts: Cohorts,
    pub(crate) demands: Demands,
    pub(crate) trace: trace::Trace,
    pub(crate) sets: Sets,
    pub(crate) seats: AllSeats,
    /// The number of requests that have no answer yet.
    pub(crate) pending: usize,
    /// The number of leases that are held.
    pub(crate) held: usize,
    /// The messages since the other tasks of the thread had a turn.
    messages: usize,
    /// The inbox to which the store sends notifications of hand-overs to the waiters.
    pub(crate) inbox: Inbox,
    /// True if the inbox is to be subscribed.
    listens: bool,
    /// True while the inbox is subscribed, so that notifications arrive.
    pub(crate) subscribed: bool,
    pub(crate) outage: Rc<Outage>,
    pub(crate) readiness: Readiness,
    pub(crate) happenings: Happenings,
    pub(crate) sources: Sources,
    /// The answers to callers that are sent at the end of this turn.
    pub(crate) answers: Answers,
    /// The happening that is being handled, in case that this panics.
    pub(crate) in_hand: Option<InHand>,
    pub(crate) address: Arc<Addr<Self>>,
    /// The way to this manager that every lease has.
    pub(crate) link: Arc<ManagerLink>,
    pub(crate) renewers: Rc<Renewers>,
    pub(crate) shutdown: Draining,
    /// Has a clone in each revocation that runs.
    revocations: Rc<()>,
}

impl Actor for LockManager {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        if reactor::is_missing() {
            return;
        }
        self.subscribed = false;
        self.sources.set_down(false);
        if self.listens {
            self.sources.listen(self.store.listen(&self.inbox));
        }
        ctx.add_stream(self.sources.clone());
        let mut clocks = Clocks { runtime: Instant::now(), ours: self.clock.now() };
        self.stats.tick(clocks.ours);
        self.outage.will_be_checked();
        ctx.run_interval(COMPARE_CLOCKS_EVERY, move |this, _| {
            this.compare_clocks(&mut clocks);
            this.stats.tick(clocks.ours);
            this.demands.forget_old(clocks.ours);
            this.outage.check();
        });
    }
}

impl Supervised for LockManager {
    /// Cleans up after a crash. Valid leases go on, because their monitor runs in a task of its own. Pending callers
    /// are told, and what they may have been granted is reclaimed. What was in hand is handled again.
    fn restarting(&mut self, _: &mut Self::Context) {
        let again = self.in_hand.take().and_then(Happening::after_panic);
        if let Some(again) = again.filter(|_| !planted!("what was in hand is forgotten in a panic")) {
            self.happenings.push_front(again);
        }
        while planted!("what has happened is forgotten in a panic") && self.happenings.pop().is_some() {}
        self.dismiss_all(&AcquireError::Restarted);
        self.shutdown.interrupted();
    }
}

impl StreamHandler<Happened> for LockManager {
    fn handle(&mut self, _: Happened, _: &mut Self::Context) {
        let turn = catch_unwind(AssertUnwindSafe(|| self.take_turn()));
        // Also if it panicked: leases that were granted before that do not wait for the restart.
        self.answers.send();
        turn.unwrap_or_else(|panic| resume_unwind(panic));
    }

    /// Does nothing: the stream has no end.
    fn finished(&mut self, _: &mut Self::Context) {}
}

impl LockManager {
    /// Handles what has happened. No more at once: messages and batches want their turn.
    fn take_turn(&mut self) {
        for _ in 0..AT_ONCE {
            let Some(happening) = self.happenings.pop() else { return };
            self.in_hand = happening.in_hand();
            self.happened(happening);
            self.in_hand = None;
        }
    }

    fn happened(&mut self, happening: Happening) {
        match happening {
            Happening::Attempted(attempt, outcome) => self.attempted(&attempt, outcome),
            Happening::Released(record, answer) => self.released(record, answer),
            Happening::TriedAll(tried) => self.tried_all(tried),
            Happening::Due(record) => self.on(record, Event::Due),
            Happening::CallerGone(record) => self.on(record, Event::CallerGone),
            Happening::Deferred(records) => self.watch_deferred(records),
            Happening::RenewalDue(record) => self.start_renewer(record),
            Happening::RenewalMissed(record) => self.renewal_missed(record),
            Happening::Lost(record) => self.lost(record),
            Happening::Release(release) => self.release(release, Responder::new().0),
            Happening::Opened(resource, handled) => self.opened(&resource, handled),
            Happening::Notified(notification, _) => self.notified(notification),
            Happening::NoMoreNotifications => self.subscribed = false,
        }
    }

    /// Compares the two clocks. After a time in which the runtime's timers stood still (the machine was suspended),
    /// everybody who waits for the end of a lease has to check the clock instead of a timer.
    fn compare_clocks(&self, seen: &mut Clocks) {
        let now = Clocks { runtime: Instant::now(), ours: self.clock.now() };
        let stood_still = seen.ours.elapsed(now.ours).saturating_sub(now.runtime - seen.runtime);
        let late = (now.runtime - seen.runtime).saturating_sub(COMPARE_CLOCKS_EVERY);
        *seen = now;
        if late > outage::LATE {
            self.outage.woke();
            tracing::warn!(stood_still = ?late, "the process stood still: it was stopped, or got no CPU");
        }
        if stood_still > STOOD_STILL {
            self.outage.woke();
            tracing::warn!(?stood_still, "the machine was suspended; checking every lease");
            for lease in self.records.leases() {
                self.records.set_timer(lease.record, Duration::ZERO);
                self.restart_renewer(lease.record);
                lease.recheck();
            }
        }
    }
}
