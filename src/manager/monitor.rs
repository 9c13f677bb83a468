//! The lease monitor: the one task that watches the timers of all records, and handles the end of each lease.
//!
//! It also checks the owner actor of a lease, and has leases renewed: those of one tick by one message, and one of which a
//! renewal was missed by its renewer. It is not part of the manager's context: leases end in time, and their holders are told,
//! while the manager is being restarted.

use std::{
    future::poll_fn,
    mem::take,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio_util::task::AbortOnDropHandle;

use crate::{
    core::{Doubling, Moment},
    lease::{RecordKey, Release, messages::ManagerLink, renewer::renewing, shared::LeaseShared},
    manager::{
        happening::{Happening, Happenings},
        record::{Holding, Role},
        records::Records,
        stream::Sources,
    },
    runtime::{env::Random, supervisor::message_of},
};

/// The interval between checks of the owner actor of a bound lease.
const CHECK_OWNER_EVERY: Duration = Duration::from_millis(100);

/// The pause before a lease is checked again after its check panicked.
const AFTER_A_PANIC: Duration = Duration::from_millis(100);

/// The lease monitor of a manager, which works for as long as it is polled.
pub(crate) struct LeaseMonitor {
    pub(crate) records: Records,
    pub(crate) happenings: Happenings,
    pub(crate) sources: Sources,
    pub(crate) manager: Arc<ManagerLink>,
    pub(crate) random: Arc<dyn Random>,
    /// The pauses before a renewer that died is restarted.
    pub(crate) pauses: Doubling,
}

impl LeaseMonitor {
    pub(crate) async fn run(self) {
        let mut renewals = Vec::new();
        loop {
            let record = poll_fn(|cx| {
                self.drive_if_down(cx);
                match self.records.poll_due(cx) {
                    Poll::Pending if !renewals.is_empty() => Poll::Ready(None),
                    due => due.map(Some),
                }
            })
            .await;
            let Some(record) = record else {
                self.happenings.push_front(Happening::RenewalsDue(take(&mut renewals)));
                continue;
            };
            let Some(lease) = self.records.lease(record) else {
                self.happenings.push(Happening::Due(record));
                continue;
            };
            // Code of the application (its clock, its actor's address) may panic. The end of the lease is reported
            // all the same.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.check(&lease, &mut renewals))) {
                let token = lease.hold().token.prefix();
                tracing::error!(%token, panic = message_of(panic.as_ref()), "could not check a lease");
                self.records.set_timer(record, AFTER_A_PANIC);
            }
        }
    }

    /// Drives what is in flight while the manager is down, so that renewals count in time.
    fn drive_if_down(&self, cx: &mut Context<'_>) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.sources.poll_if_down(cx))) {
            tracing::error!(panic = message_of(panic.as_ref()), "could not drive the calls to the store");
        }
    }

    /// Looks after a lease, and adds it to the renewals of this tick if it has to be renewed.
    fn check(&self, lease: &Arc<LeaseShared>, renewals: &mut Vec<RecordKey>) {
        let now = lease.clock.now();
        if lease.expired_at(now) {
            return self.happenings.push(Happening::Lost(lease.record));
        }
        let held = with(&self.records, lease, |holding| {
            let renewing = holding.renewer.as_ref().is_some_and(|renewer| !renewer.is_finished());
            (holding.bound_to.clone(), renewing)
        });
        let Some((bound_to, mut renewing)) = held else { return };
        if bound_to.as_ref().is_some_and(|lives| !lives()) {
            let (resource, token) = (&lease.hold().resource, lease.hold().token.prefix());
            tracing::debug!(%resource, %token, "the actor that the lease is bound to died; releasing it");
            self.happenings.push(Happening::Release(Release::of(lease)));
            // In case that its handling panics too often.
            return self.records.set_timer(lease.record, CHECK_OWNER_EVERY);
        }
        let mut next = Duration::MAX;
        if !renewing && lease.renewal_due(now).is_some_and(|due| due.is_zero()) {
            match lease.begin_renewal(now) {
                Some(again) => {
                    renewals.push(lease.record);
                    next = again;
                }
                None => {
                    let renewer = self.renewer(lease);
                    with(&self.records, lease, |holding| holding.renewer = renewer);
                    renewing = true;
                }
            }
        }
        let next = next.min(next_check(lease, now, bound_to.is_some(), renewing));
        self.records.set_timer(lease.record, next);
    }

    /// Starts the renewer of a lease.
    fn renewer(&self, lease: &Arc<LeaseShared>) -> Option<AbortOnDropHandle<()>> {
        let interval = lease.plan.interval?;
        let (manager, random) = (Arc::clone(&self.manager), Arc::clone(&self.random));
        let life = renewing(interval, Arc::clone(lease), manager, random, self.pauses);
        let (records, lease) = (self.records.clone(), Arc::clone(lease));
        Some(AbortOnDropHandle::new(actix_rt::spawn(async move {
            life.await;
            renewer_rests(&records, &lease);
        })))
    }
}

/// Sets the timer of the next renewal. The clock of the application may panic; then the lease is checked a little later.
fn renewer_rests(records: &Records, lease: &LeaseShared) {
    let rests = with(records, lease, |holding| {
        let renewer = holding.renewer.take();
        (renewer.map(AbortOnDropHandle::detach), holding.bound_to.is_some())
    });
    if let Some((_renewer, bound)) = rests {
        let next = || next_check(lease, lease.clock.now(), bound, false);
        let next = catch_unwind(AssertUnwindSafe(next)).unwrap_or_else(|panic| {
            let token = lease.hold().token.prefix();
            tracing::error!(%token, panic = message_of(panic.as_ref()), "could not schedule a renewal");
            AFTER_A_PANIC
        });
        records.set_timer(lease.record, next);
    }
}

fn with<T>(records: &Records, lease: &LeaseShared, act: impl FnOnce(&mut Holding) -> T) -> Option<T> {
    let act = |role: &mut Role| match role {
        Role::Holding(holding) => Some(act(holding)),
        Role::Waiting(_) | Role::Releasing(_) => None,
    };
    records.with(lease.record, |record| act(&mut record.role)).flatten()
}

/// Returns the time after which the lease has to be checked, if nothing happens to it before that.
pub(crate) fn next_check(lease: &LeaseShared, now: Moment, bound: bool, renewing: bool) -> Duration {
    let end = lease.remaining_at(now);
    let owner = if bound { CHECK_OWNER_EVERY } else { end };
    let renewer = if renewing { end } else { lease.next_look(now).unwrap_or(end) };
    end.min(owner).min(renewer)
}
