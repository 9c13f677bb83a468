//! A lease that somebody wants back, and the moment at which its resource opens: at once, or later by `min_hold` and `lock_delay`.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::{LeaseChange, LeaseShared, RevokeRequested};
use crate::core::{LeaseStatus, LossReason, Moment, Token};

impl LeaseShared {
    /// Tells the holder that somebody wants the resource back, unless it was told of this revocation, or the lease is over.
    pub(crate) fn revoke_requested(&self, revocation: Token, reason: &Arc<str>, grace: Duration) {
        let now = self.clock.now();
        let mut present = self.present();
        if !matches!(present.validity.status(), LeaseStatus::Held | LeaseStatus::AtRisk) {
            return;
        }
        let requests = present.revoke_requested.get_or_insert_default();
        let request = RevokeRequested { reason: Arc::clone(reason), grace, revocation, end: now + grace };
        let is_new = requests.add(request.clone(), now);
        drop(present);
        // One that is known may end sooner than it said before.
        self.changed.notify_waiters();
        if !is_new {
            return;
        }
        tracing::info!(
            resource = %self.hold().resource, token = %self.hold().token.prefix(), ?grace, %reason,
            "somebody wants the resource of a lease back"
        );
        self.tell(LeaseChange::RevokeRequested(request));
    }

    /// Waits for a request that ends before the known one, if any. `None` when the lease is over and nobody asked.
    pub(crate) async fn until_revoke_requested(
        &self,
        known: Option<RevokeRequested>,
    ) -> Option<RevokeRequested> {
        loop {
            let changed = self.changed.notified();
            if let Some(requested) = self.wanted_back().filter(|it| {
                known.as_ref().is_none_or(|known| it.revocation != known.revocation && it.end < known.end)
            }) {
                return Some(requested);
            }
            tokio::select! {
                biased;
                () = changed => {}
                _ = self.over() => return None,
            }
        }
    }

    /// Returns the request to give it back whose grace ends first, with what is left of it.
    pub(crate) fn wanted_back(&self) -> Option<RevokeRequested> {
        self.present().revoke_requested.as_ref().and_then(|all| all.first(self.clock.now()))
    }

    /// Records that the lease was handed to its caller, or that nothing was done under it.
    pub(crate) fn hand_out(&self, handed_out: bool) {
        self.handed_out.store(handed_out, Ordering::Relaxed);
    }

    /// Returns true if somebody wants the resource back, who has not given up.
    fn is_wanted_back(&self, now: Moment) -> bool {
        self.present().revoke_requested.as_ref().is_some_and(|all| all.is_wanted_back(now))
    }

    fn is_handed_out(&self) -> bool {
        self.handed_out.load(Ordering::Relaxed)
    }

    /// Returns the cooldown: the time that the resource stays closed when the lease is released now. It is the rest of the
    /// minimum hold, of which nothing counts while somebody wants the resource back. If the lease was lost and has a lock
    /// delay, it is the time until its end and its lock delay are over.
    pub(crate) fn cooldown(&self, now: Moment) -> Duration {
        if self.terms.min_hold.is_zero() && self.terms.acquisition.lock_delay.is_zero() {
            return Duration::ZERO;
        }
        match self.status_at(now) {
            _ if !self.is_handed_out() && !planted!("an ungranted part of a set is kept closed") => {
                Duration::ZERO
            }
            // It may not be released yet, and whoever takes it opens the resource at once.
            LeaseStatus::Lost(LossReason::Forced) => Duration::ZERO,
            LeaseStatus::Lost(_) if self.terms.acquisition.lock_delay.is_zero() => Duration::ZERO,
            LeaseStatus::Lost(_) => self.opens_at(now).remaining(now),
            // Whoever gives it back when asked leaves no more closed than whoever has it taken away.
            _ if self.is_wanted_back(now) => Duration::ZERO,
            _ => self.terms.min_hold.saturating_sub(self.granted_at.elapsed(now)),
        }
    }

    /// Returns the moment at which the resource opens if the lease was lost and nobody releases it.
    pub(crate) fn opens_at(&self, now: Moment) -> Moment {
        match self.status_at(now) {
            // The store has ended it, and keeps the resource closed for as long as it has to.
            LeaseStatus::Lost(LossReason::NotHeld | LossReason::Forced) => now,
            _ if !self.is_handed_out() => now,
            _ => self.end_in_store() + self.terms.acquisition.lock_delay,
        }
    }
}
