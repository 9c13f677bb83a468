//! The doctor of the console: it examines on demand, one examination at a time.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tokio::time::Instant;

use super::{failure::Failure, model::millis};
use crate::{
    config::Config,
    doctor::{self, Diagnosis, Severity},
};

/// A doctor, and what it found last.
#[derive(Default)]
pub(crate) struct Doctor {
    config: Option<Config>,
    /// Held while an examination goes on.
    going_on: tokio::sync::Mutex<()>,
    latest: Mutex<Option<(Instant, Diagnosis)>>,
}

/// The findings of an examination.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DiagnosisView {
    pub(crate) ms_ago: u64,
    pub(crate) worst: Option<Severity>,
    #[serde(flatten)]
    pub(crate) diagnosis: Diagnosis,
}

impl Doctor {
    pub(crate) fn new(config: Config) -> Self {
        Self { config: Some(config), ..Self::default() }
    }

    /// Returns true if there is something to examine.
    pub(crate) const fn is_there(&self) -> bool {
        self.config.is_some()
    }

    /// Returns what was found last.
    pub(crate) fn latest(&self) -> Option<DiagnosisView> {
        // Nothing panics while it is locked.
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.as_ref().map(|(at, diagnosis)| DiagnosisView {
            ms_ago: millis(at.elapsed()),
            worst: diagnosis.worst(),
            diagnosis: diagnosis.clone(),
        })
    }

    /// Examines the deployment.
    pub(crate) async fn examine(&self) -> Result<Option<DiagnosisView>, Failure> {
        let Some(config) = &self.config else {
            return Err(Failure::not_found("this console was not told which configuration to examine"));
        };
        let _alone = self.going_on.try_lock().map_err(|_| Failure::busy("an examination goes on"))?;
        let diagnosis = doctor::examine(config).await.map_err(|error| Failure::invalid(&error))?;
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), diagnosis));
        Ok(self.latest())
    }
}
