//! The counters of one or more managers at one moment, in a form that can be added.

use std::{collections::BTreeMap, sync::Arc};

use super::{Statistics, Summary, distribution::Buckets, tally::RunningSummary};

/// The counters before percentiles are taken of them: percentiles of several managers cannot be added.
pub(crate) struct Sums {
    pub(super) total: RunningSummary,
    /// What is not in the total.
    pub(super) stats: Statistics,
    pub(super) retries: Buckets,
    pub(super) last_minute: RunningSummary,
    pub(super) last_hour: RunningSummary,
    pub(super) classes: BTreeMap<Arc<str>, RunningSummary>,
}

impl Sums {
    /// Adds the counters of another manager.
    #[cfg(feature = "actix-web")]
    pub(crate) fn add(&mut self, other: &Self) {
        self.total.add(&other.total);
        self.retries.add(&other.retries);
        self.last_minute.add(&other.last_minute);
        self.last_hour.add(&other.last_hour);
        for (name, theirs) in &other.classes {
            self.classes.entry(Arc::clone(name)).or_default().add(theirs);
        }
        let (ours, theirs) = (&mut self.stats, &other.stats);
        ours.attempts += theirs.attempts;
        ours.pending += theirs.pending;
        ours.held += theirs.held;
        ours.releases_unconfirmed += theirs.releases_unconfirmed;
        ours.renewer_restarts += theirs.renewer_restarts;
        ours.manager_restarts += theirs.manager_restarts;
        ours.reclaimed += theirs.reclaimed;
        for (kind, count) in &theirs.failed {
            *ours.failed.entry(kind).or_default() += count;
        }
        for (reason, count) in &theirs.lost {
            *ours.lost.entry(*reason).or_default() += count;
        }
    }

    pub(crate) fn statistics(self) -> Statistics {
        let total = self.total.summary();
        let Summary { requests, granted, refused, timed_out, cancelled, .. } = total;
        let Summary { released, renewals, missed_renewals, near_misses, waited, held_for, .. } = total;
        Statistics {
            requests,
            granted,
            refused,
            timed_out,
            cancelled,
            released,
            renewals,
            missed_renewals,
            near_misses,
            retries: self.retries.distribution(),
            waited,
            held_for,
            last_minute: self.last_minute.summary(),
            last_hour: self.last_hour.summary(),
            classes: self.classes.iter().map(|(name, tally)| (name.to_string(), tally.summary())).collect(),
            ..self.stats
        }
    }
}
