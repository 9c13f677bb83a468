//! The doctor of the console: it examines on demand, one examination at a time, and not again at once.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use actix_web::HttpRequest;
use leasehold::Config;
use leasehold_doctor::{Diagnosis, Severity};
use serde::Serialize;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::{
    failure::Failure,
    guard::{self, Guard},
};
use crate::{described, view::seconds};

/// The time for which findings are told again to whoever asks for an examination.
const PAUSE: Duration = Duration::from_secs(5);

/// A doctor, and what it found last.
#[derive(Default)]
pub(crate) struct Doctor {
    config: Option<Config>,
    /// Held while an examination goes on.
    going_on: tokio::sync::Mutex<()>,
    latest: Mutex<Option<(Instant, Diagnosis)>>,
}

/// The findings of an examination.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Findings)]
pub(crate) struct DiagnosisView {
    #[serde(rename = "seconds_ago", serialize_with = "seconds")]
    #[schema(value_type = f64)]
    pub(crate) ago: Duration,
    #[schema(value_type = Option<described::Severity>)]
    pub(crate) worst: Option<Severity>,
    #[serde(flatten)]
    #[schema(value_type = described::Examination)]
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
            ago: at.elapsed(),
            worst: diagnosis.worst(),
            diagnosis: diagnosis.clone(),
        })
    }

    /// Examines the deployment for whoever sends this request: it takes no token, but comes into the audit. It goes on if nobody
    /// waits for it any more.
    pub(crate) async fn examine_for(
        self: Arc<Self>,
        request: &HttpRequest,
        guard: &Guard,
    ) -> Result<Option<DiagnosisView>, Failure> {
        let who = guard.operator(request).map_or_else(|| "nobody".to_owned(), |who| who.to_string());
        let request = request.clone();
        guard::asked_for(&request, &who, "examine");
        actix_rt::spawn(async move { self.examine_and_tell(&request, &who).await })
            .await
            .map_err(|_| Failure::gone())?
    }

    async fn examine_and_tell(
        &self,
        request: &HttpRequest,
        who: &str,
    ) -> Result<Option<DiagnosisView>, Failure> {
        let done = self.examine().await;
        let outcome = match &done {
            Ok(view) => match view.as_ref().and_then(|view| view.worst) {
                Some(worst) => format!("the worst finding: {}", worst.as_str()),
                None => "nothing found".to_owned(),
            },
            Err(failure) => format!("failed: {failure}"),
        };
        guard::audited(request, who, "examine", &outcome);
        done
    }

    /// Examines the deployment. Whoever asks meanwhile, or just afterwards, is told the same.
    async fn examine(&self) -> Result<Option<DiagnosisView>, Failure> {
        let Some(config) = &self.config else {
            return Err(Failure::not_found("this console was not told which configuration to examine"));
        };
        let _alone = self.going_on.lock().await;
        if let Some(view) = self.latest().filter(|view| view.ago < PAUSE) {
            return Ok(Some(view));
        }
        let diagnosis = leasehold_doctor::examine(config).await.map_err(|error| Failure::invalid(&error))?;
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), diagnosis));
        Ok(self.latest())
    }
}
