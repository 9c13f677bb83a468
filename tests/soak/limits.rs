//! The times in which a limit of `docs/limits.md` allows conflicts.

use leasehold_testing::history::{Conflict, Held};

use crate::{
    load::micros_of,
    outages::scenario::{GRACE, LONGEST_TTL},
};

/// For how long a fault has consequences when it is over: a lease that it broke is over after a TTL, and that is known a grace later.
pub(super) const CONSEQUENCES: u64 = (LONGEST_TTL.as_micros() + GRACE.as_micros()) as u64;

/// A time in which a limit of the documentation allows conflicts.
#[derive(Clone, Debug)]
pub(super) struct Allowed {
    pub(super) from: u64,
    /// `u64::MAX` while it lasts.
    pub(super) until: u64,
    pub(super) why: &'static str,
}

impl Allowed {
    /// Returns true if the limit concerns a moment.
    pub(super) const fn covers(&self, at: u64) -> bool {
        self.from <= at && at <= self.last()
    }

    /// Returns true if the limit allows a conflict.
    pub(super) fn allows(&self, conflict: &Conflict) -> bool {
        self.covers(micros_of(conflict.from))
    }

    /// Returns true if a lease was there in its time.
    pub(super) fn touches(&self, held: &Held) -> bool {
        micros_of(held.ended()) > self.from && micros_of(held.asked) < self.last()
    }

    /// The moment until which it has consequences.
    pub(super) const fn last(&self) -> u64 {
        self.until.saturating_add(CONSEQUENCES)
    }
}
