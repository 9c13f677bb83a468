//! When a resource opens after its lease: at once, or later by `min_hold` and `lock_delay`.

use std::{sync::atomic::Ordering, time::Duration};

use crate::{
    actor::state::LeaseState,
    protocol::{LossReason, Moment, Standing},
};

impl LeaseState {
    /// Whoever asked for it has it in its hands from now on, or never had it.
    pub(crate) fn hand_out(&self, handed_out: bool) {
        self.handed_out.store(handed_out, Ordering::Relaxed);
    }

    fn is_handed_out(&self) -> bool {
        self.handed_out.load(Ordering::Relaxed)
    }

    /// How long the resource stays closed when the lease is given back now: for the rest of its minimum hold; if it was
    /// lost, for as long as its end and its lock delay would keep it closed, provided that it has a delay.
    pub(crate) fn closed_for(&self) -> Duration {
        if self.min_hold.is_zero() && self.lock_delay.is_zero() {
            return Duration::ZERO;
        }
        match self.standing() {
            _ if !self.is_handed_out() => Duration::ZERO,
            Standing::Lost(_) if self.lock_delay.is_zero() => Duration::ZERO,
            Standing::Lost(_) => self.opens_by_itself().remaining(self.clock.now()),
            _ => self.min_hold.saturating_sub(self.held_for()),
        }
    }

    /// When the resource opens if the lease was lost and nobody gives it back.
    pub(crate) fn opens_by_itself(&self) -> Moment {
        match self.standing() {
            // The store has ended it, and keeps closed what it has to.
            Standing::Lost(LossReason::NotHeld) => self.clock.now(),
            _ if !self.is_handed_out() => self.clock.now(),
            _ => self.end_in_store() + self.lock_delay,
        }
    }

    /// Until when an attempt with an unknown outcome may still matter, if it may.
    pub(crate) fn perhaps_until(&self) -> Option<Moment> {
        self.perhaps_until.filter(|until| *until > self.clock.now())
    }
}
