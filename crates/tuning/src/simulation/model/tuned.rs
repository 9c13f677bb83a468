//! The tuners of a simulated fleet, and the changes that they made.

use std::sync::{Arc, Mutex, PoisonError};

use actix::{Actor, Addr, Context, Handler};
use leasehold::{InvalidValue, LockManager, TunerSettings};
use tokio::time::Instant;

use crate::{
    simulation::report::Tuned,
    tuner::{Tuner, TunerEvent},
};

/// The changes of all tuners so far.
#[derive(Clone, Default)]
pub(super) struct Changes(Arc<Mutex<Vec<Tuned>>>);

impl Changes {
    pub(super) fn told(&self) -> Vec<Tuned> {
        // Nothing that can panic happens while this is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The listener to one tuner.
struct Listener {
    process: u32,
    started: Instant,
    changes: Changes,
}

impl Actor for Listener {
    type Context = Context<Self>;
}

impl Handler<TunerEvent> for Listener {
    type Result = ();

    fn handle(&mut self, event: TunerEvent, _: &mut Self::Context) {
        let tuned = Tuned::new(self.started.elapsed(), self.process, &event);
        self.changes.0.lock().unwrap_or_else(PoisonError::into_inner).push(tuned);
    }
}

/// Starts a tuner for each manager, if the settings want any.
pub(super) fn start(
    managers: &[Addr<LockManager>],
    settings: &TunerSettings,
) -> Result<Changes, InvalidValue> {
    let (changes, started) = (Changes::default(), Instant::now());
    for (process, locks) in (0..).zip(managers).filter(|_| settings.enabled) {
        let listener = Listener { process, started, changes: changes.clone() }.start();
        Tuner::builder(locks).settings(settings.clone()).tell(listener.recipient()).start()?;
    }
    Ok(changes)
}
