//! The leases of a manager, and the lease monitor: the one task that handles the end of each.
//!
//! The monitor also checks the owner actor of a lease, and starts the renewer of the lease when that is due. It is
//! not part of the manager: leases end in time, and their holders are told, while the manager is being restarted.

use std::{
    cell::RefCell,
    collections::HashMap,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio_util::task::AbortOnDropHandle;

use crate::{
    core::{Doubling, Token},
    env::Random,
    lease::{
        Release,
        messages::{LeaseOver, ManagerLink},
        renewer::renewing,
        shared::LeaseShared,
    },
    runtime::{
        supervisor::message_of,
        timer_queue::{Timer, TimerQueue},
    },
};

/// The interval between checks of the owner actor of a bound lease.
const CHECK_OWNER_EVERY: Duration = Duration::from_millis(100);

/// The pause before a lease is checked again after its check panicked.
const AFTER_A_PANIC: Duration = Duration::from_millis(100);

/// A function that returns true while the actor that a lease is bound to lives.
pub(crate) type LifeSign = Arc<dyn Fn() -> bool + Send + Sync>;

/// The leases of a manager. A clone is another handle to the same table.
#[derive(Clone, Default)]
pub(crate) struct Leases(Rc<RefCell<Table>>);

#[derive(Default)]
struct Table {
    leases: HashMap<Token, Monitored>,
    checks: TimerQueue<Token>,
}

struct Monitored {
    lease: Arc<LeaseShared>,
    check: Timer,
    bound_to: Option<LifeSign>,
    renewer: Option<AbortOnDropHandle<()>>,
}

impl Leases {
    pub(crate) fn insert(&self, lease: Arc<LeaseShared>, bound_to: Option<LifeSign>) {
        let mut table = self.0.borrow_mut();
        let token = lease.hold.token;
        let pause = next_check(&lease, bound_to.is_some(), false);
        let check = table.checks.set(token, pause);
        table.leases.insert(token, Monitored { lease, check, bound_to, renewer: None });
    }

    pub(crate) fn get(&self, token: Token) -> Option<Arc<LeaseShared>> {
        self.0.borrow().leases.get(&token).map(|monitored| Arc::clone(&monitored.lease))
    }

    /// Removes a lease, which ends its monitoring.
    pub(crate) fn take(&self, token: Token) -> Option<Arc<LeaseShared>> {
        let mut table = self.0.borrow_mut();
        let monitored = table.leases.remove(&token)?;
        table.checks.remove(&monitored.check);
        Some(monitored.lease)
    }

    pub(crate) fn take_all(&self) -> Vec<Arc<LeaseShared>> {
        let tokens = self.tokens();
        tokens.into_iter().filter_map(|token| self.take(token)).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.borrow().leases.len()
    }

    /// Makes everybody who waits for the end of a lease check it now, because the timers stood still.
    pub(crate) fn check_all(&self) {
        for token in self.tokens() {
            self.check_after(token, Duration::ZERO);
            self.get(token).iter().for_each(|lease| lease.recheck());
        }
    }

    fn tokens(&self) -> Vec<Token> {
        let mut tokens: Vec<_> = self.0.borrow().leases.keys().copied().collect();
        // In the order of the tokens and not of the table, so that a simulation replays from its seed.
        tokens.sort_unstable();
        tokens
    }

    fn check_after(&self, token: Token, pause: Duration) {
        let mut table = self.0.borrow_mut();
        let Table { leases, checks } = &mut *table;
        if let Some(monitored) = leases.get_mut(&token) {
            checks.remove(&monitored.check);
            monitored.check = checks.set(token, pause);
        }
    }

    fn poll_due(&self, cx: &mut Context<'_>) -> Poll<Token> {
        self.0.borrow_mut().checks.poll_due(cx)
    }
}

/// Returns the time after which the lease has to be checked, if nothing happens to it before that.
fn next_check(lease: &LeaseShared, bound: bool, renewing: bool) -> Duration {
    let end = lease.remaining();
    let owner = if bound { CHECK_OWNER_EVERY } else { end };
    let renewer = if renewing { end } else { lease.renewer_due().unwrap_or(end) };
    end.min(owner).min(renewer)
}

/// The lease monitor of a manager, which works for as long as it is polled.
pub(crate) struct LeaseMonitor {
    pub(crate) leases: Leases,
    pub(crate) manager: Arc<ManagerLink>,
    pub(crate) random: Arc<dyn Random>,
    /// The pauses before a renewer that died is restarted.
    pub(crate) pauses: Doubling,
}

impl LeaseMonitor {
    pub(crate) async fn run(self) {
        loop {
            let token = poll_fn(|cx| self.leases.poll_due(cx)).await;
            // Code of the application (its clock, its actor's address) may panic. The end of the lease is reported
            // all the same.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.check(token))) {
                tracing::error!(token = %token.prefix(), panic = message_of(panic.as_ref()), "could not check a lease");
                self.leases.check_after(token, AFTER_A_PANIC);
            }
        }
    }

    fn check(&self, token: Token) {
        let Some(lease) = self.leases.get(token) else {
            return;
        };
        if lease.expired() {
            return self.manager.over.do_send(LeaseOver { token });
        }
        let bound_to = self.with(token, |monitored| monitored.bound_to.clone()).flatten();
        if bound_to.as_ref().is_some_and(|lives| !lives()) {
            let resource = &lease.hold.resource;
            tracing::debug!(
                %resource, token = %token.prefix(), "the actor that the lease is bound to died; releasing it"
            );
            return self.manager.release.do_send(Release::of(&lease));
        }
        let mut renewing = self.with(token, |monitored| monitored.renewer.is_some()).unwrap_or_default();
        if !renewing && let Some(renewer) = self.renewer_if_due(&lease) {
            self.with(token, |monitored| monitored.renewer = Some(renewer));
            renewing = true;
        }
        let pause = next_check(&lease, bound_to.is_some(), renewing);
        self.leases.check_after(token, pause);
    }

    /// Starts the renewer of a lease if it is due. Most leases are released before their first renewal and never have one.
    fn renewer_if_due(&self, lease: &Arc<LeaseShared>) -> Option<AbortOnDropHandle<()>> {
        let interval =
            lease.plan.interval.filter(|_| lease.renewer_due().is_some_and(|due| due.is_zero()))?;
        let (manager, random) = (Arc::clone(&self.manager), Arc::clone(&self.random));
        let life = renewing(interval, Arc::clone(lease), manager, random, self.pauses);
        Some(AbortOnDropHandle::new(actix_rt::spawn(life)))
    }

    fn with<T>(&self, token: Token, change: impl FnOnce(&mut Monitored) -> T) -> Option<T> {
        self.leases.0.borrow_mut().leases.get_mut(&token).map(change)
    }
}
