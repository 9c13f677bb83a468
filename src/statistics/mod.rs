//! The counters of a lock manager, and the sums that they obey.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hdrhistogram::Histogram;

use crate::core::LossReason;

/// A snapshot of a lock manager's counters since it was started.
///
/// All counters are taken at one moment. At every moment they obey:
///
/// * `requests = granted + refused + timed_out + cancelled + failed (all kinds) + pending`
/// * `granted = released + releases_unconfirmed + lost (all reasons) + held`
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Requests for a lease, of any mode.
    pub requests: u64,
    /// Attempts that were sent to the store for them.
    pub attempts: u64,
    /// Requests that got their lease.
    pub granted: u64,
    /// Requests that were answered `Held` because they were a try, or their attempts were used up.
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
    pub waited: Distribution,
    /// Holding times of leases that are over, in microseconds.
    pub held_for: Distribution,
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

/// A distribution of values, exact to two digits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Distribution {
    /// The number of values.
    pub count: u64,
    /// The average.
    pub mean: f64,
    /// The median: half of the values are at most this.
    pub p50: u64,
    /// The 90th percentile: nine of ten values are at most this.
    pub p90: u64,
    /// The 99th percentile: 99 of a hundred values are at most this.
    pub p99: u64,
    /// The largest value.
    pub max: u64,
}

impl Distribution {
    fn of(histogram: &Histogram<u64>) -> Self {
        Self {
            count: histogram.len(),
            mean: histogram.mean(),
            p50: histogram.value_at_quantile(0.5),
            p90: histogram.value_at_quantile(0.9),
            p99: histogram.value_at_quantile(0.99),
            max: histogram.max(),
        }
    }
}

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestEnd {
    Granted { attempts: u32, waited: Duration },
    Refused,
    TimedOut,
    Cancelled,
    Failed(&'static str),
}

/// The recorder of the counters. One lock guards all of them, so that a snapshot obeys its sums.
#[derive(Debug)]
pub(crate) struct Recorder(Mutex<Counts>);

#[derive(Debug)]
struct Counts {
    stats: Statistics,
    retries: Histogram<u64>,
    waited: Histogram<u64>,
    held_for: Histogram<u64>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        // A time longer than a week, which no setting allows, is counted as a week.
        const WEEK_IN_MICROS: u64 = 7 * 24 * 3600 * 1_000_000;
        const DIGITS: u8 = 2;
        let histogram =
            || Histogram::new_with_max(WEEK_IN_MICROS, DIGITS).expect("constants within its bounds");
        let (retries, waited, held_for) = (histogram(), histogram(), histogram());
        Self(Mutex::new(Counts { stats: Statistics::default(), retries, waited, held_for }))
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        // Counting cannot panic half-way, so a poisoned lock holds nothing broken.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn requested(&self) {
        let stats = &mut self.counts().stats;
        stats.requests += 1;
        stats.pending += 1;
    }

    pub(crate) fn attempted(&self) {
        self.counts().stats.attempts += 1;
    }

    pub(crate) fn ended(&self, end: RequestEnd) {
        let mut counts = self.counts();
        counts.stats.pending -= 1;
        match end {
            RequestEnd::Granted { attempts, waited } => {
                counts.stats.granted += 1;
                counts.stats.held += 1;
                counts.retries.saturating_record(u64::from(attempts.saturating_sub(1)));
                counts.waited.saturating_record(micros(waited));
            }
            RequestEnd::Refused => counts.stats.refused += 1,
            RequestEnd::TimedOut => counts.stats.timed_out += 1,
            RequestEnd::Cancelled => counts.stats.cancelled += 1,
            RequestEnd::Failed(kind) => *counts.stats.failed.entry(kind).or_default() += 1,
        }
    }

    pub(crate) fn renewed(&self, near_miss: bool) {
        let stats = &mut self.counts().stats;
        stats.renewals += 1;
        stats.near_misses += u64::from(near_miss);
    }

    pub(crate) fn missed(&self) {
        self.counts().stats.missed_renewals += 1;
    }

    /// Counts a release that has begun. The lease does not count as released before that is confirmed.
    pub(crate) fn released(recorder: &Arc<Self>, held_for: Duration) -> Unconfirmed {
        let mut counts = recorder.counts();
        counts.stats.held -= 1;
        counts.stats.releases_unconfirmed += 1;
        counts.held_for.saturating_record(micros(held_for));
        Unconfirmed(Some(Arc::clone(recorder)))
    }

    pub(crate) fn releases_unconfirmed(&self) -> u64 {
        self.counts().stats.releases_unconfirmed
    }

    pub(crate) fn lost(&self, reason: LossReason, held_for: Duration) {
        let mut counts = self.counts();
        counts.stats.held -= 1;
        *counts.stats.lost.entry(reason).or_default() += 1;
        counts.held_for.saturating_record(micros(held_for));
    }

    pub(crate) fn renewer_restarted(&self) {
        self.counts().stats.renewer_restarts += 1;
    }

    pub(crate) fn manager_restarted(&self) {
        self.counts().stats.manager_restarts += 1;
    }

    pub(crate) fn reclaimed(&self) {
        self.counts().stats.reclaimed += 1;
    }

    pub(crate) fn snapshot(&self) -> Statistics {
        let counts = self.counts();
        Statistics {
            retries: Distribution::of(&counts.retries),
            waited: Distribution::of(&counts.waited),
            held_for: Distribution::of(&counts.held_for),
            ..counts.stats.clone()
        }
    }
}

/// A release that the store has not confirmed yet. Dropping it counts the lease as released: nobody waits for the
/// confirmation any more, because it has come, or because the TTL has ended the lease.
pub(crate) struct Unconfirmed(Option<Arc<Recorder>>);

impl Unconfirmed {
    /// Counts the lease as lost instead, because it had been lost before it was released.
    pub(crate) fn found_lost(mut self, reason: LossReason) {
        if let Some(recorder) = self.0.take() {
            let stats = &mut recorder.counts().stats;
            stats.releases_unconfirmed -= 1;
            *stats.lost.entry(reason).or_default() += 1;
        }
    }
}

impl Drop for Unconfirmed {
    fn drop(&mut self) {
        if let Some(recorder) = &self.0 {
            let stats = &mut recorder.counts().stats;
            stats.releases_unconfirmed -= 1;
            stats.released += 1;
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
