//! The life of a lease from its holder's point of view: held, at risk, lost.

use std::{fmt, time::Duration};

use crate::core::Moment;

/// Returns the part of the TTL that is deducted for two clocks with slightly different rates: 1 % of it and 2 ms.
///
/// The figure is that of the Redlock page of the Redis documentation's reference implementations (`drift = ttl × 0.01 + 2 ms`).
pub fn drift_allowance(ttl: Duration) -> Duration {
    ttl / 100 + Duration::from_millis(2)
}

/// Returns the time before the end at which the holder is told, in case a timer fires late: 1 % of the TTL, at least 10 ms.
pub fn guard_band(ttl: Duration) -> Duration {
    (ttl / 100).max(Duration::from_millis(10))
}

/// Shortens an interval by up to a tenth, given a random `draw` in `0.0..1.0`, so that leases of one moment drift apart.
pub(crate) fn jitter(interval: Duration, draw: f64) -> Duration {
    interval.mul_f64(1.0 - draw.clamp(0.0, 1.0) / 10.0)
}

/// The reason why a lease was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LossReason {
    /// The store reported that this token holds nothing: it expired there, was released by force or deleted, or the store
    /// came back empty. Another token may already hold the resource.
    NotHeld,
    /// No renewal was confirmed in time. The store may still hold the lease for this token for a moment.
    Expired,
    /// The lease was renewed as often as its `max_renewals` allows, and its time ran out.
    MaxRenewals,
    /// The lease was held for its `max_hold`.
    MaxHold,
    /// The worker stopped reporting in, and the time of its last heartbeat ran out.
    HeartbeatMissed,
    /// The renewer died too often to be started again, and the time ran out.
    RenewerDied,
    /// The manager was shut down before the holder was done.
    ShutDown,
    /// Somebody else released it: by its token, or because the actor that it is bound to died.
    Released,
    /// Somebody took it away: by `Revoke`, when the grace was over. Told as soon as the store says so.
    /// Another token may already hold the resource.
    Forced,
}

impl LossReason {
    /// Returns a short name for counters and logs.
    pub const fn as_str(self) -> &'static str {
        self.told().0
    }

    /// Returns the short name, and the sentence of `Display`.
    const fn told(self) -> (&'static str, &'static str) {
        match self {
            Self::NotHeld => ("not_held", "the store says it is not held"),
            Self::Expired => ("expired", "no renewal was confirmed in time"),
            Self::MaxRenewals => ("max_renewals", "it was renewed as often as allowed"),
            Self::MaxHold => ("max_hold", "it was held as long as allowed"),
            Self::HeartbeatMissed => ("heartbeat_missed", "the worker's heartbeat stopped"),
            Self::RenewerDied => ("renewer_died", "its renewer could not be kept alive"),
            Self::ShutDown => ("shut_down", "the lock manager was shut down"),
            Self::Released => ("released", "it was released by somebody else"),
            Self::Forced => ("forced", "it was taken away by force"),
        }
    }
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.told().1)
    }
}

/// The status of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseStatus {
    /// Confirmed by the store, and no renewal has failed since.
    Held,
    /// Still valid, but a renewal was missed.
    AtRisk,
    /// Over. The holder is told before the resource could be granted to another token, except with
    /// [`LossReason::NotHeld`] and [`LossReason::Forced`].
    Lost(LossReason),
    /// Over: released.
    Released,
}

/// The time for which a holder may rely on its lease, counted from when the acquiring request was *sent*.
///
/// The end is early by the [drift allowance](drift_allowance) and the [guard band](guard_band). A holder that stops at
/// this end has stopped before the store, which started to count later, grants the resource to another token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Validity {
    ttl: Duration,
    until: Moment,
    status: LeaseStatus,
}

impl Validity {
    /// Returns the validity of a grant that was requested at `sent`. It may have passed when the answer comes.
    pub(crate) fn granted(sent: Moment, ttl: Duration) -> Self {
        Self { ttl, until: Self::end(sent, ttl), status: LeaseStatus::Held }
    }

    fn end(sent: Moment, ttl: Duration) -> Moment {
        if planted!("a loss that is told late") {
            return sent + ttl + guard_band(ttl);
        }
        sent + ttl.saturating_sub(drift_allowance(ttl) + guard_band(ttl))
    }

    /// Returns the status of the lease at `now`: unlike [`status`](Self::status), also an end that nobody has noticed yet.
    pub(crate) fn status_at(&self, now: Moment) -> LeaseStatus {
        match self.status {
            LeaseStatus::Held | LeaseStatus::AtRisk if now >= self.until => {
                LeaseStatus::Lost(LossReason::Expired)
            }
            status => status,
        }
    }

    /// Returns the status of the lease at the last check.
    pub(crate) const fn status(&self) -> LeaseStatus {
        self.status
    }

    /// Returns true if the lease certainly holds at `now`.
    pub(crate) fn is_valid(&self, now: Moment) -> bool {
        matches!(self.status_at(now), LeaseStatus::Held | LeaseStatus::AtRisk)
    }

    /// Returns the time for which the lease certainly holds from `now` if it is not renewed.
    pub(crate) fn remaining(&self, now: Moment) -> Duration {
        if self.is_valid(now) { self.until.remaining(now) } else { Duration::ZERO }
    }

    /// Records a renewal that was sent at `sent` and confirmed at `now`. Returns true if it counts: a lease whose time ran out
    /// is lost, whatever the store says later, because its holder was told so.
    pub(crate) fn renewed(&mut self, sent: Moment, now: Moment) -> bool {
        if !self.is_valid(now) {
            return false;
        }
        self.until = self.until.max(Self::end(sent, self.ttl));
        self.status = LeaseStatus::Held;
        true
    }

    /// Records a renewal that failed or whose outcome is unknown. Returns true if that is news.
    pub(crate) fn missed(&mut self) -> bool {
        let news = self.status == LeaseStatus::Held;
        if news {
            self.status = LeaseStatus::AtRisk;
        }
        news
    }

    /// Ends the lease for this reason. Returns true if that is news: the first end is the one that counts.
    pub(crate) fn lose(&mut self, reason: LossReason) -> bool {
        self.end_as(LeaseStatus::Lost(reason))
    }

    /// Records that the holder released the lease. Returns true if that is news.
    pub(crate) fn release(&mut self) -> bool {
        self.end_as(LeaseStatus::Released)
    }

    fn end_as(&mut self, status: LeaseStatus) -> bool {
        let news = matches!(self.status, LeaseStatus::Held | LeaseStatus::AtRisk);
        if news {
            self.status = status;
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::core::made_up::at_millis as at;

    const TTL: Duration = Duration::from_secs(10);
    /// 10 s less 1 % and 2 ms of drift, less 1 % of guard.
    const BELIEVED: Duration = Duration::from_millis(9_798);

    #[test]
    fn validity_counts_from_when_the_request_was_sent_and_is_none_for_a_ttl_shorter_than_its_allowances() {
        let validity = Validity::granted(at(500), TTL);
        assert_eq!(validity.until, at(500) + BELIEVED);
        assert!(validity.is_valid(at(500) + BELIEVED - Duration::from_nanos(1)));
        assert!(!validity.is_valid(at(500) + BELIEVED));
        assert_eq!(validity.remaining(at(1_500)), BELIEVED - Duration::from_secs(1));
        assert!(!Validity::granted(at(0), Duration::from_millis(12)).is_valid(at(0)));
    }

    #[test]
    fn a_lease_goes_to_at_risk_and_back_by_the_latest_renewal_that_was_sent() {
        let mut validity = Validity::granted(at(0), TTL);
        assert!(validity.missed());
        assert!(!validity.missed(), "no news the second time");
        assert_eq!(validity.status_at(at(4_000)), LeaseStatus::AtRisk);
        assert!(validity.renewed(at(4_000), at(4_010)));
        assert_eq!(validity.status_at(at(4_010)), LeaseStatus::Held);
        assert!(validity.renewed(at(3_000), at(4_020)), "an older one does not move the end back");
        assert_eq!(validity.until, at(4_000) + BELIEVED);
    }

    #[test]
    fn a_renewal_confirmed_after_the_end_does_not_revive_the_lease() {
        let mut validity = Validity::granted(at(0), TTL);
        assert!(!validity.renewed(at(9_000), at(9_800)));
        assert_eq!(validity.status_at(at(9_800)), LeaseStatus::Lost(LossReason::Expired));
    }

    #[test]
    fn the_first_end_is_the_one_that_counts() {
        let mut validity = Validity::granted(at(0), TTL);
        assert!(validity.lose(LossReason::NotHeld));
        assert!(!validity.release());
        assert!(!validity.renewed(at(1), at(2)));
        assert_eq!(validity.status(), LeaseStatus::Lost(LossReason::NotHeld));
        assert_eq!(validity.remaining(at(3)), Duration::ZERO);
    }

    #[test]
    fn an_interval_is_jittered_by_at_most_a_tenth() {
        assert_eq!(jitter(TTL, 0.0), TTL);
        assert_eq!(jitter(TTL, 1.0), Duration::from_secs(9));
    }

    #[test]
    fn every_reason_has_a_word_and_a_sentence_of_its_own() {
        use LossReason::*;
        let held_too_long = [Expired, MaxRenewals, MaxHold, HeartbeatMissed, RenewerDied];
        let all = [&held_too_long[..], &[NotHeld, ShutDown, Released, Forced]].concat();
        let words: BTreeSet<_> = all.iter().map(|reason| reason.as_str()).collect();
        let sentences: BTreeSet<_> = all.iter().map(LossReason::to_string).collect();
        assert_eq!((words.len(), sentences.len()), (all.len(), all.len()));
        assert!(words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')));
    }

    #[test]
    fn a_release_is_news_once_and_only_of_a_lease_that_is_not_over() {
        let mut validity = Validity::granted(at(0), TTL);
        assert!(validity.release() && !validity.release());
        assert!(!validity.lose(LossReason::Expired), "it is over");
    }
}
