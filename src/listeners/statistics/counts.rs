//! The counters in their places: totals, windows, and classes.

use super::{
    Statistics,
    classes::Classes,
    distribution::Buckets,
    tally::{RunningSummary, Summary},
    windows::Window,
};
use crate::listeners::event::{Class, LockEvent, RequestEnd};

/// Outcomes of requests that used the default wait. The others say nothing about that setting.
#[derive(Clone, Copy, Default)]
pub(crate) struct DefaultWaits {
    pub(crate) granted: u64,
    pub(crate) timed_out: u64,
}

#[derive(Clone)]
pub(crate) struct Counts {
    /// The counters that a summary reports.
    total: RunningSummary,
    /// All else.
    pub(crate) stats: Statistics,
    retries: Buckets,
    pub(crate) windows: [Window; 2],
    pub(crate) classes: Classes,
    pub(crate) default_waits: DefaultWaits,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            total: RunningSummary::default(),
            stats: Statistics::default(),
            retries: Buckets::default(),
            windows: Window::all(),
            classes: Classes::default(),
            default_waits: DefaultWaits::default(),
        }
    }
}

impl Counts {
    /// Counts an event in each place.
    pub(crate) fn note(&mut self, class: Option<Class>, event: &LockEvent<'_>) {
        self.total.note(event);
        self.count(event);
        self.windows.iter_mut().for_each(|window| window.note(event));
        if let Some(class) = class {
            self.classes.note(class, event);
        }
    }

    fn count(&mut self, event: &LockEvent<'_>) {
        let stats = &mut self.stats;
        match *event {
            LockEvent::Requested(_) => stats.pending += 1,
            LockEvent::Attempted => stats.attempts += 1,
            LockEvent::Ended { end, attempts, by_default, .. } => {
                stats.pending -= 1;
                match end {
                    RequestEnd::Granted => {
                        stats.held += 1;
                        self.retries.record(u64::from(attempts.saturating_sub(1)));
                        self.default_waits.granted += u64::from(by_default);
                    }
                    RequestEnd::TimedOut => self.default_waits.timed_out += u64::from(by_default),
                    RequestEnd::Failed(kind) => *stats.failed.entry(kind).or_default() += 1,
                    RequestEnd::Refused | RequestEnd::Cancelled => {}
                }
            }
            LockEvent::Releasing { .. } => {
                stats.held -= 1;
                stats.releases_unconfirmed += 1;
            }
            LockEvent::Released => stats.releases_unconfirmed -= 1,
            LockEvent::Lost { reason, .. } => {
                stats.held -= 1;
                *stats.lost.entry(reason).or_default() += 1;
            }
            LockEvent::FoundLost(reason) => {
                stats.releases_unconfirmed -= 1;
                *stats.lost.entry(reason).or_default() += 1;
            }
            LockEvent::RenewerRestarted => stats.renewer_restarts += 1,
            LockEvent::ManagerRestarted => stats.manager_restarts += 1,
            LockEvent::Reclaimed => stats.reclaimed += 1,
            LockEvent::Renewed { .. } | LockEvent::Missed => {}
        }
    }

    /// Adds the counters of another manager.
    #[cfg(feature = "actix-web")]
    pub(crate) fn add(&mut self, other: &Self) {
        self.total.add(&other.total);
        self.retries.add(&other.retries);
        self.windows.iter_mut().zip(&other.windows).for_each(|(ours, theirs)| ours.add(theirs));
        self.classes.add(&other.classes);
        let (ours, theirs) = (&mut self.stats, &other.stats);
        ours.attempts += theirs.attempts;
        ours.pending += theirs.pending;
        ours.held += theirs.held;
        ours.releases_unconfirmed += theirs.releases_unconfirmed;
        ours.renewer_restarts += theirs.renewer_restarts;
        ours.manager_restarts += theirs.manager_restarts;
        ours.reclaimed += theirs.reclaimed;
        theirs.failed.iter().for_each(|(kind, count)| *ours.failed.entry(kind).or_default() += count);
        theirs.lost.iter().for_each(|(reason, count)| *ours.lost.entry(*reason).or_default() += count);
    }

    pub(crate) fn snapshot(&self) -> Statistics {
        let (total, [last_minute, last_hour]) =
            (self.total.summary(), self.windows.each_ref().map(Window::summary));
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
            last_minute,
            last_hour,
            classes: self.classes.summaries(),
            ..self.stats.clone()
        }
    }
}
