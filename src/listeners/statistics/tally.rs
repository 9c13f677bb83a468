//! The counters of one window, or of one class.

use std::time::Duration;

use serde::{Serialize, Serializer};

use super::distribution::{self, Buckets, Distribution};
use crate::listeners::event::{LockEvent, RequestEnd};

/// The counters of a window of time, or of a class of requests.
///
/// A request counts when it comes, and again when it ends; a lease when it is over. So the sums of
/// [`Statistics`](crate::Statistics) do not hold here: what ends in a window may have begun before.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Requests for a lease, of any mode.
    pub requests: u64,
    /// Requests that got their lease.
    pub granted: u64,
    /// Requests that were answered `Held` because they were a try, their attempts were used up, or they gave up early.
    pub refused: u64,
    /// Requests that were answered `Held` because their wait was over.
    pub timed_out: u64,
    /// Requests whose caller went away first.
    pub cancelled: u64,
    /// Requests that failed for another reason.
    pub failed: u64,
    /// Leases that were released.
    pub released: u64,
    /// Leases that were lost, for any reason.
    pub lost: u64,
    /// Renewals that were confirmed.
    pub renewals: u64,
    /// Renewals that failed, or whose outcome was unknown.
    pub missed_renewals: u64,
    /// Renewals that were confirmed after one or more had been missed: leases that were nearly lost.
    pub near_misses: u64,
    /// The smallest validity that a lease had left when its renewal was confirmed: how near the nearest miss was. `None`
    /// if none was renewed.
    #[serde(rename = "smallest_validity_left_seconds", serialize_with = "seconds_if_known")]
    pub smallest_validity_left: Option<Duration>,
    /// The longest time from when a renewal was due until it was confirmed. `None` if no renewal was due: those that are
    /// made earlier, by [`Lease::renew`](crate::Lease::renew) or together with another lease, have no lag.
    #[serde(rename = "longest_renewal_lag_seconds", serialize_with = "seconds_if_known")]
    pub longest_renewal_lag: Option<Duration>,
    /// Waiting times of granted requests, in microseconds.
    #[serde(rename = "waited_seconds", serialize_with = "distribution::in_seconds")]
    pub waited: Distribution,
    /// Holding times of leases that are over, in microseconds.
    #[serde(rename = "held_seconds", serialize_with = "distribution::in_seconds")]
    pub held_for: Distribution,
}

impl Summary {
    /// Returns the share of the requests that ended which got their lease; 1 when none ended.
    pub fn success_rate(&self) -> f64 {
        match self.granted + self.refused + self.timed_out + self.cancelled + self.failed {
            0 => 1.0,
            ended => self.granted as f64 / ended as f64,
        }
    }
}

#[derive(Clone, Default)]
pub(super) struct RunningSummary {
    /// The counters, without the two distributions.
    counts: Summary,
    waited: Buckets,
    held_for: Buckets,
}

impl RunningSummary {
    pub(super) fn note(&mut self, event: &LockEvent<'_>) {
        let counts = &mut self.counts;
        match *event {
            LockEvent::Requested(_) => counts.requests += 1,
            LockEvent::Ended { end, waited, .. } => match end {
                RequestEnd::Granted => {
                    counts.granted += 1;
                    self.waited.record(micros(waited));
                }
                RequestEnd::Refused => counts.refused += 1,
                RequestEnd::TimedOut => counts.timed_out += 1,
                RequestEnd::Cancelled => counts.cancelled += 1,
                RequestEnd::Failed(_) => counts.failed += 1,
            },
            LockEvent::Renewed { near_miss, lag, left } => {
                counts.renewals += 1;
                counts.near_misses += u64::from(near_miss);
                counts.smallest_validity_left = smaller(counts.smallest_validity_left, Some(left));
                counts.longest_renewal_lag = counts.longest_renewal_lag.max(lag);
            }
            LockEvent::Missed => counts.missed_renewals += 1,
            LockEvent::Releasing { held_for } => self.held_for.record(micros(held_for)),
            LockEvent::Released => counts.released += 1,
            LockEvent::Lost { held_for, .. } => {
                counts.lost += 1;
                self.held_for.record(micros(held_for));
            }
            LockEvent::FoundLost(_) => counts.lost += 1,
            LockEvent::Attempted
            | LockEvent::RenewerRestarted
            | LockEvent::ManagerRestarted
            | LockEvent::Reclaimed => {}
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        let (ours, theirs) = (&mut self.counts, &other.counts);
        ours.requests += theirs.requests;
        ours.granted += theirs.granted;
        ours.refused += theirs.refused;
        ours.timed_out += theirs.timed_out;
        ours.cancelled += theirs.cancelled;
        ours.failed += theirs.failed;
        ours.released += theirs.released;
        ours.lost += theirs.lost;
        ours.renewals += theirs.renewals;
        ours.missed_renewals += theirs.missed_renewals;
        ours.near_misses += theirs.near_misses;
        ours.smallest_validity_left = smaller(ours.smallest_validity_left, theirs.smallest_validity_left);
        ours.longest_renewal_lag = ours.longest_renewal_lag.max(theirs.longest_renewal_lag);
        self.waited.add(&other.waited);
        self.held_for.add(&other.held_for);
    }

    pub(super) fn summary(&self) -> Summary {
        let (waited, held_for) = (self.waited.distribution(), self.held_for.distribution());
        Summary { waited, held_for, ..self.counts.clone() }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn smaller(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}

/// Writes a duration in seconds; `null` if it is not known.
fn seconds_if_known<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64()).serialize(to)
}
