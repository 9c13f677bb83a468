//! The renewals of a lease: when the next one is due, what permits it, and what came of it.

use std::{sync::Arc, time::Duration};

use crate::{
    core::{LeaseStatus, Moment, RenewalPlan, jitter, one_line},
    lease::{LeaseChange, LeaseShared, shared::Present},
    listeners::LockEvent,
    store::{Metadata, StoreError},
};

/// The number of ticks in an interval. Leases are renewed at ticks: with 10 s, one every 39 ms.
const TICKS: u32 = 256;

impl LeaseShared {
    /// Records that a renewal is about to be sent, after which [`is_back`](Self::is_back) has to follow. Returns the moment from
    /// which it counts, and the time to wait for its answer: half of what is left, so that there is time to ask again.
    pub(crate) fn asks(&self) -> (Moment, Duration) {
        let now = self.clock.now();
        let timeout = self.remaining_at(now) / 2;
        let mut present = self.present();
        present.asked = now;
        present.answer_by = Some(now + timeout);
        present.on_their_way += 1;
        (now, timeout)
    }

    /// Returns the metadata that the store may not have.
    pub(crate) fn untold(&self) -> Option<Arc<Metadata>> {
        let (metadata, untold_since) = self.present().described.clone()?;
        untold_since.map(|_| metadata)
    }

    /// Records that the store may not have the metadata that the holder told last.
    pub(crate) fn tell_again(&self) {
        let now = self.clock.now();
        self.present().described.iter_mut().for_each(|(_, untold_since)| *untold_since = Some(now));
    }

    /// Records that a renewal is not on its way any more: it was answered, or given up.
    pub(crate) fn is_back(&self) {
        let mut present = self.present();
        present.on_their_way -= 1;
        let may_wait = matches!(present.validity.status(), LeaseStatus::Released);
        drop(present);
        if may_wait {
            self.changed.notify_waiters();
        }
    }

    /// Waits until no renewal is on its way. The lease must be over, so that there is no further one.
    pub(super) async fn until_no_renewal(&self) {
        loop {
            let changed = self.changed.notified();
            if self.present().on_their_way == 0 {
                return;
            }
            changed.await;
        }
    }

    /// Records that the store confirmed a renewal that was sent at `sent`, with `told`. Returns true if it came in time to count.
    pub(crate) fn renewed(&self, sent: Moment, told: Option<&Arc<Metadata>>) -> bool {
        let mut present = self.present();
        // Read under the lock: otherwise another thread could see the lease over before this renewal counts.
        let (now, near_miss) = (self.clock.now(), present.validity.status() == LeaseStatus::AtRisk);
        let (left, before) = (present.validity.remaining(now), present.confirmed);
        if !present.is_valid(now) || !present.validity.renewed(sent, now) {
            return false;
        }
        present.confirmed = present.confirmed.max(sent);
        // Another one that was missed, or is on its way, may be executed after this one: then it is told once more.
        let is_last = present.missed_in_a_row == 0 && present.on_their_way == 1;
        if let (Some((latest, untold_since)), Some(told)) = (&mut present.described, told)
            && is_last
            && Arc::ptr_eq(told, latest)
        {
            untold_since.take_if(|since| *since <= sent);
        }
        (present.answer_by, present.missed_in_a_row) = (None, 0);
        present.renewals.confirmed();
        drop(present);
        let due = self.renewal_after(before);
        let lag = due.filter(|due| *due <= now).map(|due| due.elapsed(now));
        self.listeners.tell(self.terms.about(), LockEvent::Renewed { near_miss, lag, left });
        self.tell(LeaseChange::Renewed);
        true
    }

    /// Records that a renewal that was sent at `sent` failed, or that its outcome is unknown. It says nothing of one that was sent
    /// after it.
    pub(crate) fn missed(&self, sent: Moment, error: &StoreError) {
        self.listeners.tell(self.terms.about(), LockEvent::Missed);
        self.has_no_answer(sent);
        self.tell_again();
        let news = {
            let mut present = self.present();
            if present.confirmed > sent {
                return;
            }
            present.missed_in_a_row = present.missed_in_a_row.saturating_add(1);
            present.validity.missed()
        };
        let left = self.remaining();
        if news {
            tracing::debug!(
                resource = %self.hold().resource, token = %self.hold().token.prefix(), ?left, error = one_line(error),
                "a renewal was missed; the lease is at risk"
            );
            self.tell(LeaseChange::AtRisk);
        }
    }

    /// Records that nothing is waited for any more, if the renewal that was sent at `sent` is the latest one.
    pub(crate) fn has_no_answer(&self, sent: Moment) {
        let mut present = self.present();
        if present.asked == sent {
            present.answer_by = None;
        }
    }

    /// Returns true if a renewal was sent after this moment.
    pub(crate) fn has_asked_since(&self, moment: Moment) -> bool {
        self.present().asked > moment
    }

    /// Returns true if the lease may be renewed by itself now. If not, that is remembered as the reason of the loss to come.
    pub(crate) fn may_renew(&self) -> bool {
        let now = self.clock.now();
        self.present().renewals.may_renew(now)
    }

    /// Returns true if it is to be renewed when another of its set is.
    pub(crate) fn may_come_along(&self) -> bool {
        let since = self.present().asked.elapsed(self.clock.now());
        self.terms.plan.interval.is_some_and(|interval| since >= interval / 2)
            && !self.is_over()
            && self.may_renew()
    }

    pub(crate) fn heartbeat(&self) {
        let now = self.clock.now();
        self.present().renewals.heartbeat(now);
    }

    /// Returns the moment of the next renewal after one that was sent at this moment, if it is renewed by itself.
    pub(crate) fn renewal_after(&self, sent: Moment) -> Option<Moment> {
        let RenewalPlan { interval, in_step, .. } = self.terms.plan;
        let interval = interval?;
        if in_step {
            // At one tick for all, whenever each was granted. Another manager, which has another inbox, has another tick.
            let inbox = self.terms.acquisition.ticket.map(|ticket| ticket.inbox.0.spread());
            let phase = interval.mul_f64(inbox.unwrap_or_default());
            return Some((sent + interval - phase).on_tick(interval) + phase);
        }
        // The same share for all renewals of a lease, and another one for each lease.
        let mut pause = jitter(interval, self.hold().token.spread());
        if self.set().first().is_some_and(|first| *first != self.hold().token) {
            // The first of a set takes the others along. They are looked after a little later, in case that it did not.
            pause += interval / 8;
        }
        // Renewals at the same tick travel together.
        Some((sent + pause).on_tick(interval / TICKS))
    }

    /// Returns the time until it has to be renewed, if it is renewed by itself: not before the answer to a renewal on its way.
    pub(crate) fn renewal_due(&self, now: Moment) -> Option<Duration> {
        let Present { confirmed, answer_by, .. } = *self.present();
        let due = self.renewal_after(confirmed)?;
        Some(due.max(answer_by.unwrap_or(due)).remaining(now))
    }
}
