//! The counters of a lock manager, and the sums that they obey.

mod classes;
mod counts;
mod distribution;
mod tally;
mod windows;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

pub(crate) use self::counts::{Counts, DefaultWaits};
pub use self::{distribution::Distribution, tally::Summary};
use crate::core::LossReason;

/// A snapshot of a lock manager's counters since it was started.
///
/// All counters are taken at one moment. At every moment they obey:
///
/// * `requests = granted + refused + timed_out + cancelled + failed (all kinds) + pending`
/// * `granted = released + releases_unconfirmed + lost (all reasons) + held`
///
/// It is `Serialize`: the fields keep their names, a reason of a loss is its [short name](LossReason::as_str), and times are
/// seconds.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Statistics {
    /// Requests for a lease, of any mode.
    pub requests: u64,
    /// Attempts that were sent to the store for them.
    pub attempts: u64,
    /// Requests that got their lease.
    pub granted: u64,
    /// Requests that were answered `Held` because they were a try, their attempts were used up, or they gave up early.
    pub refused: u64,
    /// Requests that were answered `Held` because their wait was over.
    pub timed_out: u64,
    /// Requests whose caller went away first.
    pub cancelled: u64,
    /// Requests that failed for another reason, by [kind of error](crate::AcquireError::kind).
    pub failed: BTreeMap<&'static str, u64>,
    /// Requests that have no answer yet.
    pub pending: u64,
    /// Leases that are held.
    pub held: u64,
    /// Leases that were released: the store has confirmed it, or their TTL has ended since.
    pub released: u64,
    /// Leases that were released, which the store has not confirmed yet. The library goes on until it does,
    /// or until their TTL has ended.
    pub releases_unconfirmed: u64,
    /// Leases that were lost, by reason.
    #[serde(serialize_with = "by_short_name")]
    pub lost: BTreeMap<LossReason, u64>,
    /// Renewals that were confirmed.
    pub renewals: u64,
    /// Renewals that failed, or whose outcome was unknown.
    pub missed_renewals: u64,
    /// Renewals that were confirmed after one or more had been missed: leases that were nearly lost.
    pub near_misses: u64,
    /// Renewers that died and were started again.
    pub renewer_restarts: u64,
    /// Restarts of the manager itself after it died.
    pub manager_restarts: u64,
    /// Reclaims: releases after an unknown outcome, or after the caller had gone.
    pub reclaimed: u64,
    /// Retries of granted requests: attempts less one.
    pub retries: Distribution,
    /// Waiting times of granted requests, in microseconds.
    #[serde(rename = "waited_seconds", serialize_with = "distribution::in_seconds")]
    pub waited: Distribution,
    /// Holding times of leases that are over, in microseconds.
    #[serde(rename = "held_seconds", serialize_with = "distribution::in_seconds")]
    pub held_for: Distribution,
    /// The counters of the last minute, in steps of 5 s: of the last 60 to 66 s.
    pub last_minute: Summary,
    /// The counters of the last hour, in steps of 5 min: of the last 60 to 65 min.
    pub last_hour: Summary,
    /// The counters of each [class](crate::Request::class) since the start. At most 64: what comes later counts as the class
    /// `other`.
    pub classes: BTreeMap<String, Summary>,
}

impl Statistics {
    /// Returns the share of the answered requests that got their lease; 1 when none has an answer.
    pub fn success_rate(&self) -> f64 {
        match self.requests - self.pending {
            0 => 1.0,
            answered => self.granted as f64 / answered as f64,
        }
    }
}

fn by_short_name<S: Serializer>(lost: &BTreeMap<LossReason, u64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(lost.iter().map(|(reason, count)| (reason.as_str(), count)))
}
