//! The recorder of the counters: one lock guards all of them, so that a snapshot obeys its sums.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::{
    Statistics,
    classes::{Class, Classes},
    distribution::Buckets,
    ear::Ear,
    event::{CountedEvent, RequestEnd},
    tally::{RunningSummary, Summary},
    windows::Window,
};
use crate::core::{LossReason, Moment};

pub(crate) struct Recorder(Mutex<Counts>);

/// Outcomes of requests that used the default wait. The others say nothing about that setting.
#[derive(Clone, Copy, Default)]
pub(crate) struct DefaultWaits {
    pub(crate) granted: u64,
    pub(crate) timed_out: u64,
}

struct Counts {
    /// The counters that a summary reports.
    total: RunningSummary,
    /// All else.
    stats: Statistics,
    retries: Buckets,
    windows: [Window; 2],
    classes: Classes,
    default_waits: DefaultWaits,
    ear: Option<Box<dyn Ear>>,
}

impl Counts {
    /// Counts an event in each place.
    fn note(&mut self, class: Option<Class>, event: CountedEvent) {
        self.total.note(&event);
        self.count(&event);
        self.windows.iter_mut().for_each(|window| window.note(&event));
        if let Some(class) = class {
            self.classes.note(class, &event);
        }
        if let Some(ear) = &mut self.ear {
            let named = class.and_then(|class| Some((class, self.classes.name(class)?)));
            ear.hear(named, &event);
        }
    }

    fn count(&mut self, event: &CountedEvent) {
        let stats = &mut self.stats;
        match *event {
            CountedEvent::Requested => stats.pending += 1,
            CountedEvent::Attempted => stats.attempts += 1,
            CountedEvent::Ended { end, attempts, by_default, .. } => {
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
            CountedEvent::Releasing { .. } => {
                stats.held -= 1;
                stats.releases_unconfirmed += 1;
            }
            CountedEvent::Released => stats.releases_unconfirmed -= 1,
            CountedEvent::Lost { reason, .. } => {
                stats.held -= 1;
                *stats.lost.entry(reason).or_default() += 1;
            }
            CountedEvent::FoundLost(reason) => {
                stats.releases_unconfirmed -= 1;
                *stats.lost.entry(reason).or_default() += 1;
            }
            CountedEvent::RenewerRestarted => stats.renewer_restarts += 1,
            CountedEvent::ManagerRestarted => stats.manager_restarts += 1,
            CountedEvent::Reclaimed => stats.reclaimed += 1,
            CountedEvent::Renewed { .. } | CountedEvent::Missed => {}
        }
    }
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Counts {
            total: RunningSummary::default(),
            stats: Statistics::default(),
            retries: Buckets::default(),
            windows: Window::all(),
            classes: Classes::default(),
            default_waits: DefaultWaits::default(),
            ear: ear(),
        }))
    }

    /// Counts an event. The class is that of the request or of the lease, if it has one.
    pub(crate) fn note(&self, class: Option<Class>, event: CountedEvent) {
        self.0.lock().note(class, event);
    }

    /// Returns the class of this name. `None` if it has no valid one.
    pub(crate) fn class(&self, name: Option<&str>) -> Option<Class> {
        name.filter(|name| Class::check(name).is_ok()).map(|name| self.0.lock().classes.named(name))
    }

    pub(crate) fn class_name(&self, class: Class) -> Option<Arc<str>> {
        self.0.lock().classes.name(class).cloned()
    }

    /// Counts a release that has begun. The lease does not count as released before that is confirmed.
    pub(crate) fn released(recorder: &Arc<Self>, class: Option<Class>, held_for: Duration) -> Unconfirmed {
        recorder.note(class, CountedEvent::Releasing { held_for });
        Unconfirmed { recorder: Some(Arc::clone(recorder)), class }
    }

    pub(crate) fn default_waits(&self) -> DefaultWaits {
        self.0.lock().default_waits
    }

    pub(crate) fn releases_unconfirmed(&self) -> u64 {
        self.0.lock().stats.releases_unconfirmed
    }

    /// Tells that the store has answered a call, which began at this moment.
    pub(crate) fn store_answered(&self, verb: &'static str, well: bool, began: Instant) {
        if let Some(ear) = &mut self.0.lock().ear {
            ear.store_answered(verb, well, began.elapsed());
        }
    }

    /// Moves the windows on. Must be called about once a second: events are counted without a look at the clock.
    pub(crate) fn tick(&self, now: Moment) {
        let mut counts = self.0.lock();
        let Counts { windows, ear, .. } = &mut *counts;
        windows.iter_mut().for_each(|window| window.advance(now));
        if let Some(ear) = ear {
            ear.tick(&|| windows[0].summary());
        }
    }

    pub(crate) fn snapshot(&self) -> Statistics {
        let counts = self.0.lock();
        let (total, [last_minute, last_hour]) =
            (counts.total.summary(), counts.windows.each_ref().map(Window::summary));
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
            retries: counts.retries.distribution(),
            waited,
            held_for,
            last_minute,
            last_hour,
            classes: counts.classes.summaries(),
            ..counts.stats.clone()
        }
    }
}

/// Returns the listener that this build has.
fn ear() -> Option<Box<dyn Ear>> {
    #[cfg(feature = "metrics")]
    return Some(Box::new(super::meters::Meters::new()));
    #[cfg(not(feature = "metrics"))]
    None
}

/// A release that the store has not confirmed yet. Dropping it counts the lease as released: nobody waits for the
/// confirmation any more, because it has come, or because the TTL has ended the lease.
pub(crate) struct Unconfirmed {
    recorder: Option<Arc<Recorder>>,
    class: Option<Class>,
}

impl Unconfirmed {
    /// Counts the lease as lost instead, because it had been lost before it was released.
    pub(crate) fn found_lost(mut self, reason: LossReason) {
        if let Some(recorder) = self.recorder.take() {
            recorder.note(self.class, CountedEvent::FoundLost(reason));
        }
    }
}

impl Drop for Unconfirmed {
    fn drop(&mut self) {
        if let Some(recorder) = &self.recorder {
            recorder.note(self.class, CountedEvent::Released);
        }
    }
}
