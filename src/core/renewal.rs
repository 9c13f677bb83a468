//! The renewal rules of a lease: its permission, the longest hold, and the reason when the lease runs out.

use std::time::Duration;

use crate::core::{LossReason, Moment};

/// The plan by which a lease is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RenewalPlan {
    /// The interval between renewals; `None` means that the lease is never renewed by itself.
    pub interval: Option<Duration>,
    /// The largest number of renewals; `None` is unlimited.
    pub max_renewals: Option<u32>,
    /// The longest time for which the lease is held; `None` is unlimited.
    pub max_hold: Option<Duration>,
    /// The largest age of the worker's last report at a renewal; `None` requires no report.
    pub heartbeat: Option<Duration>,
    /// True if it is renewed at the same moments as all others of its manager with this interval of which this is true.
    pub in_step: bool,
}

/// The renewals of one lease: its plan, and its progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Renewals {
    plan: RenewalPlan,
    granted: Moment,
    made: u32,
    heartbeat: Moment,
    withheld: Option<LossReason>,
}

impl Renewals {
    /// Creates the renewals of a lease that was granted at this moment, which counts as the worker's first report.
    pub(crate) const fn new(plan: RenewalPlan, granted: Moment) -> Self {
        Self { plan, granted, made: 0, heartbeat: granted, withheld: None }
    }

    pub(crate) const fn made(&self) -> u32 {
        self.made
    }

    pub(crate) const fn heartbeat(&mut self, now: Moment) {
        self.heartbeat = now;
    }

    /// Returns true if the lease may be renewed by itself now. If not, the reason is kept as that of the coming loss.
    pub(crate) fn may_renew(&mut self, now: Moment) -> bool {
        let used_up = self.plan.max_renewals.is_some_and(|most| self.made >= most);
        let silent = self.plan.heartbeat.is_some_and(|most| self.heartbeat.elapsed(now) > most);
        let silent = silent.then_some(LossReason::HeartbeatMissed);
        self.withheld = if used_up { Some(LossReason::MaxRenewals) } else { silent };
        self.withheld.is_none()
    }

    pub(crate) const fn confirmed(&mut self) {
        self.made += 1;
        self.withheld = None;
    }

    /// Records the death of the renewer. If the renewer cannot be kept alive, that is the reason when the lease is lost.
    pub(crate) fn renewer_died(&mut self) {
        self.withheld.get_or_insert(LossReason::RenewerDied);
    }

    /// Returns the time for which the lease may still be held; `None` is unlimited.
    pub(crate) fn hold_left(&self, now: Moment) -> Option<Duration> {
        self.plan.max_hold.map(|most| (self.granted + most).remaining(now))
    }

    /// Returns true if the lease has been held for as long as it may.
    pub(crate) fn held_out(&self, now: Moment) -> bool {
        self.hold_left(now).is_some_and(|left| left.is_zero())
    }

    /// Returns the reason of the loss if the lease runs out now.
    pub(crate) fn reason(&self, now: Moment) -> LossReason {
        if self.held_out(now) { LossReason::MaxHold } else { self.withheld.unwrap_or(LossReason::Expired) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::made_up::at_secs as at;

    const ENDLESS: RenewalPlan =
        RenewalPlan { interval: None, max_renewals: None, max_hold: None, heartbeat: None, in_step: false };

    #[test]
    fn a_plan_without_bounds_is_renewed_for_ever() {
        let mut renewals = Renewals::new(ENDLESS, at(0));
        (0..1_000).for_each(|_| renewals.confirmed());
        assert!(renewals.may_renew(at(1_000_000)));
        assert_eq!(renewals.reason(at(1_000_000)), LossReason::Expired);
        assert_eq!(renewals.hold_left(at(1_000_000)), None);
        assert_eq!(renewals.made(), 1_000);
    }

    #[test]
    fn renewals_that_are_used_up_are_to_blame_and_a_dead_renewer_unless_something_else_was_before() {
        let of = |max_renewals| Renewals::new(RenewalPlan { max_renewals, ..ENDLESS }, at(0));
        let mut renewals = of(Some(1));
        assert!(renewals.may_renew(at(1)) && !of(Some(0)).may_renew(at(1)));
        renewals.confirmed();
        renewals.renewer_died();
        assert_eq!(renewals.reason(at(1)), LossReason::RenewerDied);
        assert!(!renewals.may_renew(at(2)));
        assert_eq!(renewals.reason(at(2)), LossReason::MaxRenewals);
        renewals.renewer_died();
        assert_eq!(renewals.reason(at(2)), LossReason::MaxRenewals);
    }

    #[test]
    fn a_worker_that_reports_again_is_renewed_again() {
        let plan = RenewalPlan { heartbeat: Some(Duration::from_secs(5)), ..ENDLESS };
        let mut renewals = Renewals::new(plan, at(0));
        assert!(renewals.may_renew(at(5)));
        assert!(!renewals.may_renew(at(6)));
        assert_eq!(renewals.reason(at(6)), LossReason::HeartbeatMissed);
        renewals.heartbeat(at(6));
        assert!(renewals.may_renew(at(7)));
        assert_eq!(renewals.reason(at(7)), LossReason::Expired);
    }

    #[test]
    fn the_longest_hold_ends_it_whatever_else_happens() {
        let plan = RenewalPlan { max_hold: Some(Duration::from_secs(10)), ..ENDLESS };
        let mut renewals = Renewals::new(plan, at(0));
        assert_eq!(renewals.hold_left(at(4)), Some(Duration::from_secs(6)));
        assert!(renewals.may_renew(at(4)) && !renewals.held_out(at(9)));
        assert!(renewals.held_out(at(10)));
        assert_eq!(renewals.reason(at(10)), LossReason::MaxHold);
    }
}
