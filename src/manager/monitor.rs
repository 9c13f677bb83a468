//! The lease monitor: the one task that watches the timers of all records, and handles the end of each lease.
//!
//! It also checks the owner actor of a lease, and tells the manager when a lease needs its renewer. It is not part of the
//! manager's context: leases end in time, and their holders are told, while the manager is being restarted or a renewer hangs.

use std::{future::poll_fn, sync::Arc, time::Duration};

use super::{Happening, Happenings, Records, Sources};
use crate::{core::Moment, lease::LeaseShared, runtime::supervisor::caught};

/// The interval between checks of the owner actor of a bound lease.
const CHECK_OWNER_EVERY: Duration = Duration::from_millis(100);

/// The pause before a lease is checked again after its check panicked.
const AFTER_A_PANIC: Duration = Duration::from_millis(100);

/// The lease monitor of a manager, which works for as long as it is polled.
pub(crate) struct LeaseMonitor {
    pub(crate) records: Records,
    pub(crate) happenings: Happenings,
    pub(crate) sources: Sources,
}

impl LeaseMonitor {
    pub(crate) async fn run(self) {
        loop {
            let record = poll_fn(|cx| {
                // While the manager is down what is in flight is driven here, so that renewals count in time.
                if let Err(panic) = caught(|| self.sources.poll_if_down(cx)) {
                    tracing::error!(panic, "could not drive the calls to the store");
                }
                self.records.poll_due(cx)
            })
            .await;
            let Some(lease) = self.records.lease(record) else {
                self.happenings.push(Happening::Due(record));
                continue;
            };
            // The clock of the application may panic, or its actor's address. The end of the lease is told all the same.
            if let Err(panic) = caught(|| self.check(&lease)) {
                let token = lease.hold().token.prefix();
                self.records.set_timer(record, Some(AFTER_A_PANIC));
                tracing::error!(%token, panic, "could not check a lease");
            }
        }
    }

    fn check(&self, lease: &Arc<LeaseShared>) {
        let now = lease.clock.now();
        if lease.expired_at(now) {
            return self.happenings.push(Happening::Lost(lease.record));
        }
        let held = self.records.with(lease.record, |record| {
            record.holding().map(|holding| (holding.bound_to.clone(), holding.renewer.is_some()))
        });
        let Some((bound_to, mut has_renewer)) = held.flatten() else { return };
        if bound_to.as_ref().is_some_and(|lives| !lives()) {
            let (resource, token) = (&lease.hold().resource, lease.hold().token.prefix());
            tracing::debug!(%resource, %token, "the actor that the lease is bound to died; releasing it");
            self.happenings.push(Happening::OwnerGone(lease.record));
            // In case that its handling panics too often.
            return self.records.set_timer(lease.record, Some(CHECK_OWNER_EVERY));
        }
        if !has_renewer && lease.renewal_due(now).is_some_and(|due| due.is_zero()) {
            self.happenings.push_front(Happening::RenewalDue(lease.record));
            has_renewer = true;
        }
        let next = next_check(lease, now, bound_to.is_some(), has_renewer);
        self.records.set_timer(lease.record, Some(next));
    }
}

/// Returns the time after which the lease has to be checked, if nothing happens to it before that.
pub(crate) fn next_check(lease: &LeaseShared, now: Moment, bound: bool, has_renewer: bool) -> Duration {
    let end = lease.remaining_at(now);
    let owner = if bound { CHECK_OWNER_EVERY } else { end };
    let renewal = if has_renewer { None } else { lease.renewal_due(now) };
    end.min(owner).min(renewal.unwrap_or(end))
}
