//! The state of a lease: shared by the holder's handle, the renewer and the manager, owned by none of them.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use actix::Recipient;
use tokio::sync::Notify;

use crate::{
    core::{Fence, LeaseStatus, LossReason, Moment, RecordKey, RenewalPlan, Renewals, Token, Validity},
    lease::{LeaseChange, LeaseEvent, RenewError, revocation::KnownRevocations},
    listeners::{
        About, Class, Listeners, LockEvent, Unconfirmed,
        spans::{AcquireSpan, LeaseSpan},
    },
    runtime::env::Clock,
    store::{Acquisition, Grant, Hold, Metadata},
};

/// The part of a request that its lease has, too.
#[derive(Clone)]
pub(crate) struct LeaseTerms {
    pub(crate) acquisition: Arc<Acquisition>,
    pub(crate) plan: RenewalPlan,
    pub(crate) min_hold: Duration,
    /// True if the lease is part of a set, which is handed out as a whole or not at all.
    pub(crate) for_a_set: bool,
    pub(crate) events: Option<Recipient<LeaseEvent>>,
    /// True if the listener of the events hears of a shutdown alone: an election need not be woken by each renewal.
    pub(crate) shutdown_alone: bool,
    pub(crate) class: Option<Class>,
}

impl LeaseTerms {
    pub(crate) fn about(&self) -> About {
        About { token: Some(self.acquisition.hold.token), class: self.class }
    }

    /// Tells the listener of the events, if there is one and it hears of such changes.
    pub(crate) fn tell(&self, fence: Option<Fence>, change: LeaseChange) {
        let is_heard = !self.shutdown_alone || change == LeaseChange::ShuttingDown;
        if let Some(listener) = self.events.as_ref().filter(|_| is_heard) {
            listener.do_send(LeaseEvent::of(&self.acquisition.hold, fence, change));
        }
    }
}

/// Everything about a lease that must survive the death of its renewer, and of its manager.
pub(crate) struct LeaseShared {
    /// The record of the lease in the table of its manager.
    pub(crate) record: RecordKey,
    pub(crate) terms: LeaseTerms,
    pub(crate) fence: Option<Fence>,
    pub(crate) holds: u64,
    pub(crate) slot: Option<u32>,
    /// True if the lease is, or was, in the hands of the caller, who may have done something under it.
    pub(crate) handed_out: AtomicBool,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) listeners: Arc<Listeners>,
    pub(super) granted_at: Moment,
    /// All leases that are renewed together with it, if it is one of several. A lease joins one set, once.
    pub(crate) joined: OnceLock<Arc<[Token]>>,
    now: Mutex<Present>,
    /// Notified when something has changed that somebody may wait for, or when the clock may have jumped while timers stood still.
    pub(crate) changed: Notify,
}

/// The part of a lease that changes.
pub(super) struct Present {
    pub(super) validity: Validity,
    pub(super) renewals: Renewals,
    /// The moment at which the request was sent that the store confirmed last.
    pub(super) confirmed: Moment,
    /// The moment at which the last request was sent that may have moved the end in the store.
    pub(super) asked: Moment,
    /// The moment until which the answer to a renewal on its way is waited for.
    pub(super) answer_by: Option<Moment>,
    /// The number of renewals on their way to the store and back.
    pub(super) on_their_way: u32,
    /// The number of renewals that were missed since the last confirmed one.
    pub(super) missed_in_a_row: u32,
    /// True if the store said that it is not held, also after its release or hand-over.
    pub(super) found_lost: bool,
    /// The requests to give the lease back, if there are any.
    pub(super) revoke_requested: Option<Box<KnownRevocations>>,
    /// The metadata that the holder told last, and the moment since which the store may not have it.
    pub(super) described: Option<(Arc<Metadata>, Option<Moment>)>,
    /// The span of the lease, until it is over.
    span: LeaseSpan,
}

impl LeaseShared {
    /// Creates the state of a lease that was requested at `sent` and is granted at `now`.
    pub(crate) fn granted(
        record: RecordKey,
        terms: LeaseTerms,
        span: &AcquireSpan,
        (sent, now): (Moment, Moment),
        grant: Grant,
        (clock, listeners): (&Arc<dyn Clock>, &Arc<Listeners>),
    ) -> Self {
        let Acquisition { hold: Hold { resource, token, .. }, mode, ttl, .. } = &*terms.acquisition;
        let span = LeaseSpan::new(span, (resource, *token, *mode), grant.fence);
        let validity = Validity::granted(sent, *ttl);
        let renewals = Renewals::new(terms.plan, now);
        Self {
            record,
            fence: grant.fence,
            holds: grant.holds,
            slot: grant.slot,
            handed_out: AtomicBool::new(!terms.for_a_set),
            terms,
            clock: Arc::clone(clock),
            listeners: Arc::clone(listeners),
            granted_at: now,
            joined: OnceLock::new(),
            now: Mutex::new(Present {
                validity,
                renewals,
                confirmed: sent,
                asked: sent,
                answer_by: None,
                on_their_way: 0,
                missed_in_a_row: 0,
                found_lost: false,
                revoke_requested: None,
                described: None,
                span,
            }),
            changed: Notify::new(),
        }
    }

    pub(crate) fn hold(&self) -> &Hold {
        &self.terms.acquisition.hold
    }

    pub(super) fn present(&self) -> MutexGuard<'_, Present> {
        // Nothing that runs under this lock can panic half-way.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn status(&self) -> LeaseStatus {
        self.status_at(self.clock.now())
    }

    pub(crate) fn status_at(&self, now: Moment) -> LeaseStatus {
        let present = self.present();
        match present.validity.status() {
            LeaseStatus::Held | LeaseStatus::AtRisk if !present.is_valid(now) => {
                LeaseStatus::Lost(present.renewals.reason(now))
            }
            status => status,
        }
    }

    pub(crate) fn is_valid_at(&self, now: Moment) -> bool {
        matches!(self.status_at(now), LeaseStatus::Held | LeaseStatus::AtRisk)
    }

    /// Returns the time for which the lease certainly holds if nobody renews it.
    pub(crate) fn remaining(&self) -> Duration {
        self.remaining_at(self.clock.now())
    }

    pub(crate) fn remaining_at(&self, now: Moment) -> Duration {
        let present = self.present();
        let validity = present.validity.remaining(now);
        present.renewals.hold_left(now).map_or(validity, |hold| hold.min(validity))
    }

    /// Returns true if the holder has been told that the lease is over. The clock is not read.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.present().validity.status(), LeaseStatus::Lost(_) | LeaseStatus::Released)
    }

    /// Completes when the lease is over, be it by an answer or by the clock of this process alone.
    pub(crate) async fn over(&self) -> LossReason {
        loop {
            let changed = self.changed.notified();
            if let Some(reason) = self.end() {
                return reason;
            }
            tokio::select! {
                biased;
                () = changed => {}
                () = tokio::time::sleep(self.remaining()) => {}
            }
        }
    }

    pub(crate) fn held_for_at(&self, now: Moment) -> Duration {
        self.granted_at.elapsed(now)
    }

    /// Returns the end of the lease in the store. It allows for a renewal that was executed but never confirmed.
    pub(crate) fn end_in_store(&self) -> Moment {
        self.present().asked + self.terms.acquisition.ttl
    }

    /// Returns the tokens of its set in their order, its own included. Empty if it is not part of a set.
    pub(crate) fn set(&self) -> &[Token] {
        self.joined.get().map_or(&[], |set| set)
    }

    /// Ends the lease for this reason. Returns true if it was not over before.
    pub(crate) fn lose(&self, reason: LossReason) -> bool {
        // Nothing may panic between the change and the counting of it.
        let held_for = self.held_for_at(self.clock.now());
        let mut present = self.present();
        present.found_lost |= reason == LossReason::NotHeld;
        let news = present.validity.lose(reason);
        drop(present);
        if news {
            self.listeners.tell(self.terms.about(), LockEvent::Lost { reason, held_for });
            self.is_now_over(reason.as_str(), LeaseChange::Lost(reason));
            tracing::warn!(
                resource = %self.hold().resource, token = %self.hold().token.prefix(), ?held_for, %reason,
                "the lease is lost"
            );
        }
        news
    }

    /// Returns true if the time of the lease has run out by the clock. Then it is lost.
    pub(crate) fn expired_at(&self, now: Moment) -> bool {
        let over = !self.is_valid_at(now);
        if over {
            self.expire();
        }
        over
    }

    /// Ends the lease because its time has run out by the clock. The reason is what kept it from being renewed.
    pub(crate) fn expire(&self) {
        let now = self.clock.now();
        let reason = self.present().renewals.reason(now);
        self.lose(reason);
    }

    /// Returns the reason why the lease is over, by the clock. `None` while it is valid.
    pub(crate) fn end(&self) -> Option<LossReason> {
        match self.status() {
            LeaseStatus::Held | LeaseStatus::AtRisk => None,
            LeaseStatus::Lost(reason) => Some(reason),
            LeaseStatus::Released => Some(LossReason::Released),
        }
    }

    /// Returns the error of a renewal of a lease that is over.
    pub(crate) fn not_renewed(&self) -> RenewError {
        RenewError::Lost { reason: self.end().unwrap_or(LossReason::Released) }
    }

    /// Ends the lease for its holder. Returns the status before, and the release to be confirmed if it was not over.
    pub(crate) fn release(&self, now: Moment) -> (LeaseStatus, Option<Unconfirmed>) {
        if !self.is_valid_at(now) && !self.is_over() {
            self.expire();
        }
        // Nothing may panic between the change and the counting of it.
        let held_for = self.held_for_at(now);
        let mut present = self.present();
        let before = present.validity.status();
        let news = present.validity.release();
        drop(present);
        let unconfirmed = news.then(|| {
            let unconfirmed = self.listeners.tell_releasing(self.terms.about(), held_for);
            self.is_now_over("released", LeaseChange::Released);
            unconfirmed
        });
        (before, unconfirmed)
    }

    /// Tells all who want to know, and ends the span of the lease.
    fn is_now_over(&self, outcome: &'static str, change: LeaseChange) {
        let span = self.present().span.take();
        self.tell(change);
        self.changed.notify_waiters();
        // Outside of the lock, and last: a subscriber may take its time, or panic.
        span.end(outcome);
    }

    /// Records that the store held nothing when the lease was to be released: it had been lost without a sign.
    pub(crate) fn found_lost(&self, released: Option<Unconfirmed>) {
        released.into_iter().for_each(|released| released.found_lost(LossReason::NotHeld));
        self.tell(LeaseChange::Lost(LossReason::NotHeld));
        tracing::warn!(
            resource = %self.hold().resource, token = %self.hold().token.prefix(),
            "the lease had been lost before it was released: the store says it is not held"
        );
    }

    pub(crate) fn tell(&self, change: LeaseChange) {
        self.terms.tell(self.fence, change);
    }
}

impl Present {
    pub(super) fn is_valid(&self, now: Moment) -> bool {
        self.validity.is_valid(now) && !self.renewals.held_out(now)
    }
}

impl fmt::Debug for LeaseShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("resource", &self.hold().resource)
            .field("token", &self.hold().token.prefix())
            .field("mode", &self.terms.acquisition.mode)
            .field("fence", &self.fence)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
