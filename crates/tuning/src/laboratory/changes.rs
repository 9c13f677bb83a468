//! The tuners of a fleet, and the changes that they made.

use std::sync::{Arc, Mutex, PoisonError};

use actix::{Actor, Addr, Context, Handler};
use leasehold::{InvalidValue, LockManager, TunerSettings};
use tokio::time::Instant;

use crate::{
    laboratory::report::Tuned,
    tuner::{Tuner, TunerEvent},
};

/// The changes of all tuners so far: when they came, and from which process.
#[derive(Clone, Default)]
pub(super) struct FleetChanges(Arc<Mutex<Vec<(Instant, u32, TunerEvent)>>>);

/// The listener to one tuner.
struct TunerListener {
    process: u32,
    changes: FleetChanges,
}

impl FleetChanges {
    /// Returns all of them, with the times since this moment.
    pub(super) fn since(&self, began: Instant) -> Vec<Tuned> {
        // Nothing that can panic happens while this is locked.
        let changes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tuned = |(at, process, event): &(Instant, u32, TunerEvent)| {
            Tuned::new(at.saturating_duration_since(began), *process, event)
        };
        changes.iter().map(tuned).collect()
    }
}

impl Actor for TunerListener {
    type Context = Context<Self>;
}

impl Handler<TunerEvent> for TunerListener {
    type Result = ();

    fn handle(&mut self, event: TunerEvent, _: &mut Self::Context) {
        let mut changes = self.changes.0.lock().unwrap_or_else(PoisonError::into_inner);
        changes.push((Instant::now(), self.process, event));
    }
}

/// Starts a tuner for the manager of each process, if the settings want any.
pub(super) fn start<'a>(
    managers: impl IntoIterator<Item = (u32, &'a Addr<LockManager>)>,
    settings: &TunerSettings,
) -> Result<FleetChanges, InvalidValue> {
    let changes = FleetChanges::default();
    for (process, locks) in managers.into_iter().filter(|_| settings.enabled) {
        let listener = TunerListener { process, changes: changes.clone() }.start();
        Tuner::builder(locks).settings(settings.clone()).tell(listener.recipient()).start()?;
    }
    Ok(changes)
}
