//! The lock manager: the one actor that owns the store, and answers every request for a lock.
//!
//! It never awaits the store in its own context: operations travel in batchers, and their results return as messages.
//! It therefore serves thousands of waiters, and a store that hangs holds nobody else up.

mod acquire_all;
mod ask;
mod builder;
mod dispatch;
mod grant;
mod one_by_one;
mod outage;
mod query;
mod reclaim;
mod release;
mod renew;
mod resend;
mod shutdown;
mod waiting;

use std::{rc::Rc, sync::Arc, time::Duration};

use actix::{Actor, Addr, AsyncContext, Context, Handler, Supervised};
use tokio::time::Instant;

use crate::{
    core::{Event, Executed, Moment, Token},
    env::{Clock, Random},
    lease::{
        Lease,
        messages::{LeaseOver, ManagerLink},
        monitor::Leases,
        shared::LeaseShared,
    },
    manager::{
        acquire_all::Sets,
        dispatch::Dispatch,
        outage::Outage,
        reclaim::Reclaimer,
        shutdown::Draining,
        waiting::{
            cohorts::Cohorts,
            waiters::{Waiter, Waiters},
        },
    },
    request::{AcquireError, Request, Settings, validated::ValidRequest},
    runtime::responder::{DeferredReply, Responder},
    statistics::{Recorder, RequestEnd},
    store::{Hold, Inbox, Metadata, Store},
};

pub use self::builder::LockManagerBuilder;

/// The interval between comparisons of the manager's clock with the runtime's.
const COMPARE_CLOCKS_EVERY: Duration = Duration::from_secs(1);

/// The minimum divergence of the two clocks that counts.
const STOOD_STILL: Duration = Duration::from_millis(50);

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
    pub(crate) waiters: Waiters,
    pub(crate) cohorts: Cohorts,
    pub(crate) sets: Sets,
    /// The inbox to which the store sends notifications of hand-overs to the waiters.
    pub(crate) inbox: Inbox,
    /// True while the inbox is subscribed, so that notifications arrive.
    pub(crate) subscribed: bool,
    pub(crate) leases: Leases,
    pub(crate) outage: Rc<Outage>,
    /// The batchers that send operations to the store.
    pub(crate) dispatch: Rc<Dispatch>,
    pub(crate) address: Arc<Addr<Self>>,
    /// The way to this manager that every lease has.
    pub(crate) link: Arc<ManagerLink>,
    pub(crate) shutdown: Draining,
}

impl Actor for LockManager {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.add_stream(self.waiters.wakes());
        let mut clocks = Clocks { runtime: Instant::now(), ours: self.clock.now() };
        ctx.run_interval(COMPARE_CLOCKS_EVERY, move |this, _| {
            this.compare_clocks(&mut clocks);
            this.outage.check();
        });
        self.subscribed = false;
        ctx.add_stream(self.store.listen(&self.inbox));
    }
}

impl Supervised for LockManager {
    /// Cleans up after a crash. Valid leases go on, because their monitor runs in a task of its own. Pending callers
    /// are told, and what they may have been granted is reclaimed.
    fn restarting(&mut self, _: &mut Self::Context) {
        self.cohorts.clear();
        for token in self.waiters.tokens() {
            self.on_or_fail(token, Event::Dismissed, Some(AcquireError::Restarted));
        }
        self.refuse_sets(&AcquireError::Restarted);
        self.shutdown.interrupted();
    }
}

impl<Kind: 'static> Handler<Request<Kind>> for LockManager {
    type Result = DeferredReply<Result<Lease, AcquireError>>;

    fn handle(&mut self, request: Request<Kind>, _: &mut Self::Context) -> Self::Result {
        let (reply, deferred) = Responder::new();
        let token = self.random.token();
        self.stats.requested();
        match self.admit(request, token) {
            Ok(request) => {
                let (wait, joins_cohort) = (request.wait, self.joins_cohort(&request));
                let waiter = Waiter::new(request, reply, self.clock.now(), self.settings.wait.grant_window);
                self.waiters.insert(token, waiter);
                if joins_cohort {
                    self.join_cohort(token);
                } else {
                    self.on(token, Event::Lead);
                }
                // The end of the wait, and the departure of the caller, count during the first attempt too.
                if !wait.is_zero() {
                    self.waiters.watch(token, wait);
                }
            }
            Err(error) => {
                tracing::debug!(%error, "a request was refused");
                self.stats.ended(RequestEnd::Failed(error.kind()));
                drop(reply.send(Err(error)));
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
        match self.waiters.len() {
            pending if pending >= self.settings.limits.max_pending => Err(AcquireError::Busy { pending }),
            _ => Ok(request),
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
            self.leases.check_all();
        }
    }

    /// Removes a lease that is over from the table. What the store may still grant to its token is reclaimed, which
    /// does not open the resource earlier than the end of the lease and its lock delay do.
    pub(crate) fn remove_lease(&mut self, token: Token) {
        if let Some(lease) = self.take_lease(token) {
            if let Some(perhaps_until) = lease.perhaps_until() {
                let (reclaimer, opening) = (self.reclaimer(), lease.opens_at());
                actix_rt::spawn(reclaimer.reclaim(
                    lease.hold.clone(),
                    opening,
                    Executed::Perhaps,
                    perhaps_until,
                ));
            }
            self.mend_cohort(&lease.hold.resource);
        }
    }

    /// Removes a lease from the table. The cohort that waits for it is not served yet.
    pub(crate) fn take_lease(&mut self, token: Token) -> Option<Arc<LeaseShared>> {
        let lease = self.leases.take(token)?;
        self.shutdown.held(self.leases.len());
        self.cohorts.released(&lease.hold.resource, token);
        Some(lease)
    }

    pub(crate) fn reclaim(&self, hold: Hold, executed: Executed, end: Moment) {
        actix_rt::spawn(self.reclaimer().reclaim(hold, self.clock.now(), executed, end));
    }

    pub(crate) fn reclaimer(&self) -> Reclaimer {
        let (clock, stats) = (Arc::clone(&self.clock), Arc::clone(&self.stats));
        let dispatch = Rc::clone(&self.dispatch);
        Reclaimer { dispatch, clock, stats, unconfirmed: None, _in_flight: self.shutdown.in_flight() }
    }
}

impl Handler<LeaseOver> for LockManager {
    type Result = ();

    fn handle(&mut self, over: LeaseOver, _: &mut Self::Context) {
        self.remove_lease(over.token);
    }
}
