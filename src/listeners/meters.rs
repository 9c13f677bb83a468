//! The metrics: what is counted, told to the recorder of the application by the facade `metrics`.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use metrics::{Counter, Gauge, Histogram, Unit, counter, gauge, histogram};

use super::{
    ear::Ear,
    event::{About, LockEvent, NONE, RequestEnd},
    statistics::Summary,
};

const REQUESTS: &str = "leasehold_requests_total";
const PENDING: &str = "leasehold_requests_pending";
const ATTEMPTS: &str = "leasehold_attempts_total";
const WAIT: &str = "leasehold_wait_seconds";
const HELD: &str = "leasehold_leases_held";
const HOLD: &str = "leasehold_hold_seconds";
const LOSSES: &str = "leasehold_losses_total";
const RENEWALS: &str = "leasehold_renewals_total";
const NEAR_MISSES: &str = "leasehold_near_misses_total";
const RENEWAL_LAG: &str = "leasehold_renewal_lag_seconds";
const VALIDITY_LEFT: &str = "leasehold_renewal_validity_left_seconds";
const SMALLEST_LEFT: &str = "leasehold_renewal_smallest_validity_left_seconds";
const UNCONFIRMED: &str = "leasehold_releases_unconfirmed";
const RECLAIMS: &str = "leasehold_reclaims_total";
const RESTARTS: &str = "leasehold_restarts_total";
const STORE: &str = "leasehold_store_seconds";

enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

use MetricKind as K;
use Unit::{Count, Seconds};

#[rustfmt::skip]
const ALL: [(MetricKind, &str, Unit, &str); 16] = [
    (K::Counter, REQUESTS, Count, "Requests for a lease that ended, by class and outcome: granted, refused, timed_out, cancelled, or the kind of error"),
    (K::Gauge, PENDING, Count, "Requests for a lease that have no answer yet: the queue, by class"),
    (K::Counter, ATTEMPTS, Count, "Attempts that were sent to the store for requests"),
    (K::Histogram, WAIT, Seconds, "Waiting times of granted requests, by class"),
    (K::Gauge, HELD, Count, "Leases that are held, by class"),
    (K::Histogram, HOLD, Seconds, "Holding times of leases that are over, by class"),
    (K::Counter, LOSSES, Count, "Leases that were lost, by class and reason"),
    (K::Counter, RENEWALS, Count, "Renewals, by outcome: confirmed or missed"),
    (K::Counter, NEAR_MISSES, Count, "Renewals that were confirmed after one or more had been missed"),
    (K::Histogram, RENEWAL_LAG, Seconds, "Times from when a renewal was due until it was confirmed"),
    (K::Histogram, VALIDITY_LEFT, Seconds, "Validity that leases had left when their renewal was confirmed"),
    (K::Gauge, SMALLEST_LEFT, Seconds, "Smallest validity left at a renewal, in the last minute that had one"),
    (K::Gauge, UNCONFIRMED, Count, "Releases that the store has not confirmed yet"),
    (K::Counter, RECLAIMS, Count, "Releases after an unknown outcome, or after the caller had gone"),
    (K::Counter, RESTARTS, Count, "Restarts of actors that died, by actor: renewer or manager"),
    (K::Histogram, STORE, Seconds, "Times that the store took for a call, by verb and outcome: ok or error"),
];

/// The handles of metrics that change with every lock, made once. What is rare looks its handle up.
pub(super) struct Meters {
    unclassed: OfClass,
    classes: BTreeMap<usize, OfClass>,
    attempts: Counter,
    confirmed: Counter,
    missed: Counter,
    lag: Histogram,
    left: Histogram,
    unconfirmed: Gauge,
    /// By verb, and true for calls that the store answered well.
    store: BTreeMap<(&'static str, bool), Histogram>,
}

struct OfClass {
    name: Arc<str>,
    granted: Counter,
    refused: Counter,
    timed_out: Counter,
    cancelled: Counter,
    pending: Gauge,
    held: Gauge,
    wait: Histogram,
    hold: Histogram,
}

impl Meters {
    /// Describes all metrics to the recorder that the application has installed by now, and registers them.
    pub(super) fn new() -> Self {
        for (kind, name, unit, text) in ALL {
            match kind {
                MetricKind::Counter => metrics::describe_counter!(name, unit, text),
                MetricKind::Gauge => metrics::describe_gauge!(name, unit, text),
                MetricKind::Histogram => metrics::describe_histogram!(name, unit, text),
            }
        }
        let meters = Self {
            unclassed: OfClass::new(NONE.into()),
            classes: BTreeMap::new(),
            attempts: counter!(ATTEMPTS),
            confirmed: counter!(RENEWALS, "outcome" => "confirmed"),
            missed: counter!(RENEWALS, "outcome" => "missed"),
            lag: histogram!(RENEWAL_LAG),
            left: histogram!(VALIDITY_LEFT),
            unconfirmed: gauge!(UNCONFIRMED),
            store: BTreeMap::new(),
        };
        // Counters that are seldom or never counted are zero, and not missing.
        guarded(|| {
            for actor in ["manager", "renewer"] {
                counter!(RESTARTS, "actor" => actor).increment(0);
            }
            counter!(NEAR_MISSES).increment(0);
            counter!(RECLAIMS).increment(0);
        });
        meters
    }
}

impl OfClass {
    fn new(name: Arc<str>) -> Self {
        let requests = |outcome| counter!(REQUESTS, "class" => Arc::clone(&name), "outcome" => outcome);
        Self {
            granted: requests("granted"),
            refused: requests("refused"),
            timed_out: requests("timed_out"),
            cancelled: requests("cancelled"),
            pending: gauge!(PENDING, "class" => Arc::clone(&name)),
            held: gauge!(HELD, "class" => Arc::clone(&name)),
            wait: histogram!(WAIT, "class" => Arc::clone(&name)),
            hold: histogram!(HOLD, "class" => Arc::clone(&name)),
            name,
        }
    }

    fn ended(&self, end: RequestEnd, waited: Duration) {
        self.pending.decrement(1.0);
        match end {
            RequestEnd::Granted => {
                self.granted.increment(1);
                self.held.increment(1.0);
                self.wait.record(waited);
            }
            RequestEnd::Refused => self.refused.increment(1),
            RequestEnd::TimedOut => self.timed_out.increment(1),
            RequestEnd::Cancelled => self.cancelled.increment(1),
            RequestEnd::Failed(kind) => {
                counter!(REQUESTS, "class" => Arc::clone(&self.name), "outcome" => kind).increment(1);
            }
        }
    }

    fn lost(&self, reason: &'static str) {
        counter!(LOSSES, "class" => Arc::clone(&self.name), "reason" => reason).increment(1);
    }
}

impl Ear for Meters {
    fn hear(&mut self, about: About, class: Option<&Arc<str>>, event: &LockEvent<'_>) {
        guarded(|| self.tell(about, class, event));
    }

    fn store_answered(&mut self, verb: &'static str, well: bool, took: Duration) {
        let outcome = if well { "ok" } else { "error" };
        let register = || histogram!(STORE, "verb" => verb, "outcome" => outcome);
        guarded(|| self.store.entry((verb, well)).or_insert_with(register).record(took));
    }

    fn tick(&mut self, last_minute: &dyn Fn() -> Summary) {
        if let Some(left) = last_minute().smallest_validity_left {
            guarded(|| gauge!(SMALLEST_LEFT).set(left));
        }
    }
}

impl Meters {
    fn tell(&mut self, about: About, name: Option<&Arc<str>>, event: &LockEvent<'_>) {
        let of_class = match about.class.zip(name) {
            None => &self.unclassed,
            Some((class, name)) => {
                let new = || OfClass::new(Arc::clone(name));
                &*self.classes.entry(class.place()).or_insert_with(new)
            }
        };
        match *event {
            LockEvent::Requested(_) => of_class.pending.increment(1.0),
            LockEvent::Attempted => self.attempts.increment(1),
            LockEvent::Ended { end, waited, .. } => of_class.ended(end, waited),
            LockEvent::Renewed { near_miss, lag, left } => {
                self.confirmed.increment(1);
                if let Some(lag) = lag {
                    self.lag.record(lag);
                }
                self.left.record(left);
                if near_miss {
                    counter!(NEAR_MISSES).increment(1);
                }
            }
            LockEvent::Missed => self.missed.increment(1),
            LockEvent::Releasing { held_for } => {
                of_class.held.decrement(1.0);
                of_class.hold.record(held_for);
                self.unconfirmed.increment(1.0);
            }
            LockEvent::Released => self.unconfirmed.decrement(1.0),
            LockEvent::Lost { reason, held_for } => {
                of_class.held.decrement(1.0);
                of_class.hold.record(held_for);
                of_class.lost(reason.as_str());
            }
            LockEvent::FoundLost(reason) => {
                self.unconfirmed.decrement(1.0);
                of_class.lost(reason.as_str());
            }
            LockEvent::RenewerRestarted => counter!(RESTARTS, "actor" => "renewer").increment(1),
            LockEvent::ManagerRestarted => counter!(RESTARTS, "actor" => "manager").increment(1),
            LockEvent::Reclaimed => counter!(RECLAIMS).increment(1),
        }
    }
}

/// Tells the recorder of the application something. If that panics, the manager goes on, which is in the midst of a step.
fn guarded(tell: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(tell)).is_err() {
        tracing::error!("the recorder of the metrics panicked: they lack an event");
    }
}
