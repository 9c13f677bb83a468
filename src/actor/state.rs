//! What a lease is at this moment: shared by the holder's handle, the renewer and the manager, owned by none of them.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use actix::Recipient;
use tokio::sync::Notify;

use crate::{
    actor::{
        event::{LeaseChange, LeaseEvent},
        stats::Recorder,
    },
    protocol::{Fence, LossReason, Mode, Moment, Standing, Validity},
    store::{Hold, StoreError},
    world::Clock,
};

/// How a lease is renewed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RenewalPlan {
    /// How often; `None` is never.
    pub(crate) interval: Option<Duration>,
    /// How many renewals at most.
    pub(crate) max_renewals: Option<u32>,
    /// How long it is held at most.
    pub(crate) max_hold: Option<Duration>,
    /// How old the worker's last report may be.
    pub(crate) heartbeat: Option<Duration>,
}

/// Everything about a lease that must survive the death of its renewer, and of its manager.
pub(crate) struct LeaseState {
    pub(crate) hold: Hold,
    pub(crate) mode: Mode,
    pub(crate) fence: Option<Fence>,
    pub(crate) holds: u64,
    pub(crate) plan: RenewalPlan,
    pub(crate) min_hold: Duration,
    /// Until when an attempt whose outcome is unknown may still be executed for this token.
    pub(crate) perhaps_until: Option<Moment>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) stats: Arc<Recorder>,
    events: Option<Recipient<LeaseEvent>>,
    granted_at: Moment,
    now: Mutex<Present>,
    changed: Notify,
}

/// The part of a lease that changes.
struct Present {
    validity: Validity,
    /// When the request was sent that the store confirmed last.
    confirmed: Moment,
    renewals: u32,
    heartbeat: Moment,
    /// Why the lease will be lost, if nothing changes: what keeps it from being renewed.
    withheld: Option<LossReason>,
}

/// What is needed to make a [`LeaseState`] beside the answer of the store.
pub(crate) struct Terms {
    pub(crate) hold: Hold,
    pub(crate) mode: Mode,
    pub(crate) ttl: Duration,
    pub(crate) plan: RenewalPlan,
    pub(crate) min_hold: Duration,
    pub(crate) perhaps_until: Option<Moment>,
    pub(crate) events: Option<Recipient<LeaseEvent>>,
}

impl LeaseState {
    /// The state of a lease that was asked for at `sent` and is granted now; `None` if its time has run out already.
    pub(crate) fn granted(
        terms: Terms,
        sent: Moment,
        (fence, holds): (Option<Fence>, u64),
        clock: Arc<dyn Clock>,
        stats: Arc<Recorder>,
    ) -> Option<Self> {
        let granted_at = clock.now();
        let validity = Validity::granted(sent, terms.ttl);
        validity.is_valid(granted_at).then(|| Self {
            hold: terms.hold,
            mode: terms.mode,
            fence,
            holds,
            plan: terms.plan,
            min_hold: terms.min_hold,
            perhaps_until: terms.perhaps_until,
            clock,
            stats,
            events: terms.events,
            granted_at,
            now: Mutex::new(Present {
                validity,
                confirmed: sent,
                renewals: 0,
                heartbeat: granted_at,
                withheld: None,
            }),
            changed: Notify::new(),
        })
    }

    fn present(&self) -> MutexGuard<'_, Present> {
        // Nothing that runs under this lock can panic half-way.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the lease stands, by the clock.
    pub(crate) fn standing(&self) -> Standing {
        let now = self.clock.now();
        let present = self.present();
        match present.validity.standing() {
            Standing::Held | Standing::AtRisk if self.held_out(now) || !present.validity.is_valid(now) => {
                Standing::Lost(self.reason(&present, now))
            }
            standing => standing,
        }
    }

    pub(crate) fn is_valid(&self) -> bool {
        matches!(self.standing(), Standing::Held | Standing::AtRisk)
    }

    /// How long the lease certainly holds, if nobody renews it.
    pub(crate) fn remaining(&self) -> Duration {
        let now = self.clock.now();
        let validity = self.present().validity.remaining(now);
        self.plan.max_hold.map_or(validity, |most| validity.min((self.granted_at + most).remaining(now)))
    }

    /// Whether the holder has been told that it is over: no question to the clock.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.present().validity.standing(), Standing::Lost(_) | Standing::Released)
    }

    /// Completes when the lease is over, be it by an answer or by the clock of this process alone.
    pub(crate) async fn over(&self) -> Standing {
        loop {
            let changed = self.changed.notified();
            match self.standing() {
                Standing::Held | Standing::AtRisk => {}
                over => return over,
            }
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep(self.remaining()) => {}
            }
        }
    }

    /// How long ago the lease was granted.
    pub(crate) fn held_for(&self) -> Duration {
        self.granted_at.elapsed(self.clock.now())
    }

    /// How much of its minimum hold is left.
    pub(crate) fn closed_for(&self) -> Duration {
        self.min_hold.saturating_sub(self.held_for())
    }

    /// The moment at which the store, too, has ended the lease, if nobody renews it.
    pub(crate) fn end_in_store(&self) -> Moment {
        let present = self.present();
        present.confirmed + present.validity.ttl()
    }

    pub(crate) fn ttl(&self) -> Duration {
        self.present().validity.ttl()
    }

    /// The moment from which the next renewal is counted: when the last confirmed request was sent.
    pub(crate) fn confirmed(&self) -> Moment {
        self.present().confirmed
    }

    /// How many renewals were confirmed.
    pub(crate) fn renewals(&self) -> u32 {
        self.present().renewals
    }

    /// The worker reports in.
    pub(crate) fn beat(&self) {
        self.present().heartbeat = self.clock.now();
    }

    /// Whether the lease may be renewed by itself now. If not, that is remembered as the reason of the loss to come.
    pub(crate) fn may_renew(&self) -> bool {
        let now = self.clock.now();
        let mut present = self.present();
        let used_up = self.plan.max_renewals.is_some_and(|most| present.renewals >= most);
        let silent = self.plan.heartbeat.is_some_and(|most| present.heartbeat.elapsed(now) > most);
        present.withheld = match (used_up, silent) {
            (true, _) => Some(LossReason::MaxRenewals),
            (false, true) => Some(LossReason::HeartbeatMissed),
            (false, false) => None,
        };
        present.withheld.is_none()
    }

    /// The renewer died; if it cannot be kept alive, that will be why the lease is lost.
    pub(crate) fn renewer_died(&self) {
        self.present().withheld.get_or_insert(LossReason::RenewerDied);
    }

    /// The store confirmed a renewal that was sent at `sent`. Answers whether it came in time to count.
    pub(crate) fn renewed(&self, sent: Moment) -> bool {
        let now = self.clock.now();
        let mut present = self.present();
        let near_miss = present.validity.standing() == Standing::AtRisk;
        if self.held_out(now) || !present.validity.renewed(sent, now) {
            return false;
        }
        present.confirmed = present.confirmed.max(sent);
        present.renewals += 1;
        present.withheld = None;
        drop(present);
        self.stats.renewed(near_miss);
        self.tell(LeaseChange::Renewed);
        true
    }

    /// A renewal failed, or its outcome is unknown.
    pub(crate) fn missed(&self, error: &StoreError) {
        self.stats.missed();
        let news = self.present().validity.missed();
        let left = self.remaining();
        if news {
            tracing::warn!(
                resource = %self.hold.resource, token = %self.hold.token.prefix(), ?left, error = error as &dyn std::error::Error,
                "a renewal was missed; the lease is at risk"
            );
            self.tell(LeaseChange::AtRisk);
        }
    }

    /// The lease is over for this reason. Answers whether that is news.
    pub(crate) fn lose(&self, reason: LossReason) -> bool {
        let news = self.present().validity.lose(reason);
        if news {
            let held_for = self.held_for();
            self.stats.lost(reason, held_for);
            tracing::warn!(
                resource = %self.hold.resource, token = %self.hold.token.prefix(), ?held_for, %reason,
                "the lease is lost"
            );
            self.tell(LeaseChange::Lost(reason));
            self.changed.notify_waiters();
        }
        news
    }

    /// Its time has run out by the clock: it is lost, for whatever kept it from being renewed.
    pub(crate) fn expire(&self) {
        let now = self.clock.now();
        let reason = self.reason(&self.present(), now);
        self.lose(reason);
    }

    /// The holder gives the lease back. Answers where the lease stood before that.
    pub(crate) fn release(&self) -> Standing {
        if !self.is_over() && !self.is_valid() {
            self.expire();
        }
        let mut present = self.present();
        let before = present.validity.standing();
        if present.validity.release() {
            drop(present);
            self.stats.released(self.held_for());
            self.tell(LeaseChange::Released);
            self.changed.notify_waiters();
        }
        before
    }

    /// The store says that it held nothing when it was to be given back: it had been lost without a sign.
    pub(crate) fn found_lost(&self) {
        self.stats.found_lost(LossReason::NotHeld);
        tracing::warn!(
            resource = %self.hold.resource, token = %self.hold.token.prefix(),
            "the lease had been lost before it was released: the store says it is not held"
        );
        self.tell(LeaseChange::Lost(LossReason::NotHeld));
    }

    /// The lease was granted: tells it.
    pub(crate) fn tell_granted(&self) {
        self.tell(LeaseChange::Granted);
    }

    fn held_out(&self, now: Moment) -> bool {
        self.plan.max_hold.is_some_and(|most| self.granted_at.elapsed(now) >= most)
    }

    fn reason(&self, present: &Present, now: Moment) -> LossReason {
        if self.held_out(now) {
            return LossReason::MaxHold;
        }
        present.withheld.unwrap_or(LossReason::Expired)
    }

    fn tell(&self, change: LeaseChange) {
        let Some(listener) = &self.events else { return };
        listener.do_send(LeaseEvent {
            resource: self.hold.resource.clone(),
            token: self.hold.token.prefix(),
            fence: self.fence,
            change,
        });
    }
}

impl fmt::Debug for LeaseState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("resource", &self.hold.resource)
            .field("token", &self.hold.token.prefix())
            .field("mode", &self.mode)
            .field("fence", &self.fence)
            .field("standing", &self.standing())
            .finish_non_exhaustive()
    }
}
