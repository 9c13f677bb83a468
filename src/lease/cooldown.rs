//! The moment at which a resource opens after its lease: at once, or later by `min_hold` and `lock_delay`.

use std::{sync::atomic::Ordering, time::Duration};

use crate::{
    core::{LeaseStatus, LossReason, Moment},
    lease::LeaseShared,
};

impl LeaseShared {
    /// Records that the lease was handed to its caller, or that nothing was done under it.
    pub(crate) fn hand_out(&self, handed_out: bool) {
        self.handed_out.store(handed_out, Ordering::Relaxed);
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
