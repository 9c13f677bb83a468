//! The lock manager: the one actor that owns the store, and answers every request for a lock.
//!
//! It never awaits the store in its own context: operations travel in batches, and their results come back as happenings.
//! It therefore serves thousands of waiters, and a store that hangs holds nobody else up.

mod builder;
mod dispatch;
mod happening;
mod monitor;
mod outage;
mod query;
mod record;
mod records;
mod release;
mod renew;
mod sets;
mod shutdown;
mod stream;
mod waiting;

use std::{rc::Rc, sync::Arc, time::Duration};

use actix::{Actor, Addr, AsyncContext, Context, Handler, StreamHandler, Supervised};
use tokio::time::Instant;

use crate::{
    core::{Acquisition, Event, Moment, Terms, Token, one_line},
    env::{Clock, Random},
    lease::{Lease, messages::ManagerLink},
    manager::{
        happening::{Happening, Happenings, InHand},
        outage::Outage,
        record::{Record, Role, Waiter},
        records::Records,
        sets::Sets,
        shutdown::Draining,
        stream::{Happened, Sources},
        waiting::{cohorts::Cohorts, hand_off::is_alone},
    },
    request::{AcquireError, Request, Settings, validated::ValidRequest},
    runtime::responder::{DeferredReply, Responder},
    statistics::{Recorder, RequestEnd},
    store::{Inbox, Metadata, Notification, Store, StoreError},
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
    pub(crate) stats: Arc<Recorder>,
    /// The metadata that every holder of this manager reports about itself.
    pub(crate) about: Arc<Metadata>,
    pub(crate) records: Records,
    pub(crate) cohorts: Cohorts,
    pub(crate) sets: Sets,
    /// The number of requests that have no answer yet.
    pub(crate) pending: usize,
    /// The number of leases that are held.
    pub(crate) held: usize,
    /// The inbox to which the store sends notifications of hand-overs to the waiters.
    pub(crate) inbox: Inbox,
    /// True while the inbox is subscribed, so that notifications arrive.
    pub(crate) subscribed: bool,
    pub(crate) outage: Rc<Outage>,
    pub(crate) happenings: Happenings,
    pub(crate) sources: Sources,
    /// What is being handled, in case that this panics.
    pub(crate) in_hand: Option<InHand>,
    pub(crate) address: Arc<Addr<Self>>,
    /// The way to this manager that every lease has.
    pub(crate) link: Arc<ManagerLink>,
    pub(crate) shutdown: Draining,
}

impl Actor for LockManager {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.subscribed = false;
        self.sources.set_down(false);
        self.sources.listen(self.store.listen(&self.inbox));
        ctx.add_stream(self.sources.clone());
        let mut clocks = Clocks { runtime: Instant::now(), ours: self.clock.now() };
        ctx.run_interval(COMPARE_CLOCKS_EVERY, move |this, _| {
            this.compare_clocks(&mut clocks);
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
        // No more at once: messages and batches want their turn.
        for _ in 0..AT_ONCE {
            let Some(happening) = self.happenings.pop() else { return };
            self.in_hand = happening.in_hand();
            self.happened(happening);
            self.in_hand = None;
        }
    }

    /// Does nothing: the stream has no end.
    fn finished(&mut self, _: &mut Self::Context) {}
}

impl<Kind: 'static> Handler<Request<Kind>> for LockManager {
    type Result = DeferredReply<Result<Lease, AcquireError>>;

    fn handle(&mut self, request: Request<Kind>, _: &mut Self::Context) -> Self::Result {
        let (reply, deferred) = Responder::new();
        let (token, now) = (self.random.token(), self.clock.now());
        self.stats.requested();
        match self.admit(request, token) {
            Ok(request) => self.begin(request, reply, now),
            Err(error) => {
                tracing::debug!(%error, "a request was refused");
                self.stats.ended(RequestEnd::Failed(error.kind()));
                reply.answer(Err(error));
            }
        }
        deferred
    }
}

impl LockManager {
    fn admit<Kind>(&self, request: Request<Kind>, token: Token) -> Result<ValidRequest, AcquireError> {
        if self.shutdown.has_begun() {
            return Err(AcquireError::ShuttingDown);
        }
        let request = ValidRequest::check(request, token, &self.settings, (&self.about, self.inbox))?;
        match self.pending {
            pending if pending >= self.settings.limits.max_pending => Err(AcquireError::Busy { pending }),
            _ => Ok(request),
        }
    }

    /// Begins an acquisition.
    fn begin(&mut self, request: ValidRequest, reply: Responder<Result<Lease, AcquireError>>, now: Moment) {
        let (wait, joins_cohort) = (request.wait, self.joins_cohort(&request));
        let (hold, ttl) = (request.acquisition.hold.clone(), request.acquisition.ttl);
        let decisions = Acquisition::new(Terms {
            asked: now,
            wait,
            backoff: request.backoff,
            ttl,
            ticket_ttl: request.acquisition.ticket.map_or(Duration::ZERO, |ticket| ticket.ttl),
            grant_window: self.settings.wait.grant_window,
            alone: is_alone(request.acquisition.mode, &hold),
        });
        let (resource, token) = (hold.resource.clone(), hold.token);
        let in_flight = self.shutdown.in_flight();
        let waiter = Waiter { request, reply, asked: now, answer: None, watch: None, _in_flight: in_flight };
        let record = self.records.insert(Record::new(hold, decisions, Role::Waiting(Box::new(waiter))));
        self.records.name(token, record);
        self.pending += 1;
        if joins_cohort {
            self.join_cohort(record, &resource, now);
        } else {
            self.on_at(record, Event::Lead, now);
        }
        // The end of the wait, and the departure of the caller, count during the first attempt too.
        if !wait.is_zero() {
            self.watch(record, wait);
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
            Happening::Lost(record) => self.lost(record),
            Happening::Release(release) => self.release(release, Responder::new().0),
            Happening::Opened(resource) => self.opened(&resource),
            Happening::Notified(notification) => self.notified(notification),
            Happening::NoMoreNotifications => self.subscribed = false,
        }
    }

    fn notified(&mut self, notification: Notification) {
        let (token, event) = match notification {
            Notification::HandedOver(token) => (token, Event::HandedOver),
            Notification::Next(token) => (token, Event::Next),
            Notification::GoOn(token) => (token, Event::GoOn),
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

    /// Compares the two clocks. After a time in which the runtime's timers stood still (the machine was suspended),
    /// everybody who waits for the end of a lease has to check the clock instead of a timer.
    fn compare_clocks(&self, seen: &mut Clocks) {
        let now = Clocks { runtime: Instant::now(), ours: self.clock.now() };
        let stood_still = seen.ours.elapsed(now.ours).saturating_sub(now.runtime - seen.runtime);
        *seen = now;
        if stood_still > STOOD_STILL {
            tracing::warn!(?stood_still, "the machine was suspended; checking every lease");
            for lease in self.records.leases() {
                self.records.set_timer(lease.record, Duration::ZERO);
                lease.recheck();
            }
        }
    }
}
