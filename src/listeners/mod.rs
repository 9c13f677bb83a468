//! The listeners to what happens to requests and leases, and the one place that tells them: counters, metrics, the trace.
//!
//! A new one is an [`Ear`] in a file of its own, and a line in `ears`. Spans are apart: each travels with its request or lease.

mod ear;
mod event;
#[cfg(feature = "metrics")]
mod meters;
pub(crate) mod spans;
pub(crate) mod statistics;
pub(crate) mod trace;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};

pub(crate) use self::event::{About, Admitted, Class, LockEvent, RequestEnd};
use self::{ear::Ear, statistics::Counts, trace::Trace};
use crate::core::{LossReason, Moment};

/// The listeners of a manager. One lock guards all of them, so that a snapshot of the counters obeys its sums.
pub(crate) struct Listeners(Mutex<Inner>);

struct Inner {
    counts: Counts,
    trace: Trace,
    ears: Vec<Box<dyn Ear>>,
}

/// Returns the other listeners that this build has.
fn ears() -> Vec<Box<dyn Ear>> {
    vec![
        #[cfg(feature = "metrics")]
        Box::new(meters::Meters::new()),
    ]
}

impl Listeners {
    /// Creates the listeners of a manager with this default wait, and this longest wait.
    pub(crate) fn new(default_wait: Duration, max_wait: Duration) -> Self {
        let (counts, trace) = (Counts::default(), Trace::new(default_wait, max_wait));
        Self(Mutex::new(Inner { counts, trace, ears: ears() }))
    }

    /// Tells all of them an event.
    pub(crate) fn tell(&self, about: About, event: LockEvent<'_>) {
        let mut inner = self.0.lock();
        let Inner { counts, trace, ears } = &mut *inner;
        counts.note(about.class, &event);
        let class = about.class.and_then(|class| counts.classes.name(class));
        trace.hear(about, class, &event);
        ears.iter_mut().for_each(|ear| ear.hear(about, class, &event));
    }

    /// Tells a release that has begun. The lease does not count as released before that is confirmed.
    pub(crate) fn tell_releasing(self: &Arc<Self>, about: About, held_for: Duration) -> Unconfirmed {
        self.tell(about, LockEvent::Releasing { held_for });
        Unconfirmed { listeners: Some(Arc::clone(self)), class: about.class }
    }

    /// Tells that the store has answered a call, which began at this moment.
    pub(crate) fn store_answered(&self, verb: &'static str, well: bool, began: Instant) {
        self.0.lock().ears.iter_mut().for_each(|ear| ear.store_answered(verb, well, began.elapsed()));
    }

    /// Tells the time. Must be called about once a second: events are counted without a look at the clock.
    pub(crate) fn tick(&self, now: Moment) {
        let mut inner = self.0.lock();
        let Inner { counts, ears, .. } = &mut *inner;
        counts.windows.iter_mut().for_each(|window| window.advance(now));
        ears.iter_mut().for_each(|ear| ear.tick(&|| counts.windows[0].summary()));
    }

    /// Returns the class of this name. `None` if it has no valid one.
    pub(crate) fn class(&self, name: Option<&str>) -> Option<Class> {
        name.filter(|name| Class::check(name).is_ok()).map(|name| self.counts().classes.named(name))
    }

    pub(crate) fn counts(&self) -> MappedMutexGuard<'_, Counts> {
        MutexGuard::map(self.0.lock(), |inner| &mut inner.counts)
    }

    pub(crate) fn trace(&self) -> MappedMutexGuard<'_, Trace> {
        MutexGuard::map(self.0.lock(), |inner| &mut inner.trace)
    }
}

/// A release that the store has not confirmed yet. Dropping it counts the lease as released: nobody waits for the
/// confirmation any more, because it has come, or because the TTL has ended the lease.
pub(crate) struct Unconfirmed {
    listeners: Option<Arc<Listeners>>,
    class: Option<Class>,
}

impl Unconfirmed {
    /// Counts the lease as lost instead, because it had been lost before it was released.
    pub(crate) fn found_lost(mut self, reason: LossReason) {
        if let Some(listeners) = self.listeners.take() {
            listeners.tell(About { token: None, class: self.class }, LockEvent::FoundLost(reason));
        }
    }
}

impl Drop for Unconfirmed {
    fn drop(&mut self) {
        if let Some(listeners) = &self.listeners {
            listeners.tell(About { token: None, class: self.class }, LockEvent::Released);
        }
    }
}
