//! Changes to locks and schedules: each is a task of its own, an entry in the audit, and a line that the pages show.

use std::{sync::Arc, time::Duration};

use leasehold::{
    InvalidValue, ResourceName, Revoke, RevokeError, StoreError,
    schedule::Control,
    text::{counted, exact},
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    failure::Failure,
    guard::Change,
    observer::Changed,
    shared::{Shared, ask},
};

/// A change that somebody may ask for.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    Revoke { name: ResourceName, reason: String, grace: Duration },
    ForceRelease { name: ResourceName },
    Schedule { name: ResourceName, action: Action },
}

/// A change to a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    Pause,
    Resume,
    Run,
}

impl Wanted {
    fn name(&self) -> &ResourceName {
        match self {
            Self::Revoke { name, .. } | Self::ForceRelease { name } | Self::Schedule { name, .. } => name,
        }
    }

    /// Returns the name of the action, and the change in words.
    fn what(&self) -> (&'static str, String) {
        match self {
            Self::Revoke { reason, grace, .. } => {
                ("revoke", format!("revoke with {} to finish: {reason}", exact(*grace)))
            }
            Self::ForceRelease { .. } => ("force_release", "release by force".to_owned()),
            Self::Schedule { action: Action::Pause, .. } => ("pause", "pause the schedule".to_owned()),
            Self::Schedule { action: Action::Resume, .. } => ("resume", "resume the schedule".to_owned()),
            Self::Schedule { action: Action::Run, .. } => ("run", "run the schedule now".to_owned()),
        }
    }

    async fn make(self, shared: &Shared) -> Result<String, Failure> {
        match self {
            Self::Revoke { name, reason, grace } => {
                let revoke = Revoke::new(name.as_bytes()).reason(reason).grace(grace);
                let revoked = ask(&shared.locks, revoke).await?.map_err(|error| match error {
                    RevokeError::Invalid(invalid) => invalid.into(),
                    error => Failure::of(&error),
                })?;
                let more = if revoked.more { "; there may be more holders" } else { "" };
                let (finished, taken) = (revoked.finished, revoked.taken);
                let unconfirmed = revoked.unconfirmed;
                Ok(format!("{finished} finished, {taken} taken, {unconfirmed} unconfirmed{more}"))
            }
            Self::ForceRelease { name } => {
                let answer = ask(&shared.locks, Revoke::at_once(name.as_bytes())).await?;
                let revoked = answer.map_err(|error| Failure::of(&error))?;
                Ok(format!("taken from {}", counted(revoked.taken as u64, "holder")))
            }
            Self::Schedule { name, action } => {
                let of_store = |error: StoreError| Failure::of(&error);
                let found = Control::find(&shared.locks, &name).await.map_err(of_store)?;
                let unknown = || Failure::not_found(format!("the store knows no schedule {name}"));
                let schedule = found.ok_or_else(unknown)?;
                let done = match action {
                    Action::Pause => schedule.pause().await,
                    Action::Resume => schedule.resume().await,
                    Action::Run => schedule.run_now().await,
                };
                done.map(|()| "done".to_owned()).map_err(of_store)
            }
        }
    }
}

/// Begins a change. It goes on, and comes into the audit, also if whoever asked for it goes away.
pub(crate) fn begin(
    shared: Arc<Shared>,
    Change { who, from }: Change,
    wanted: Wanted,
) -> tokio::task::JoinHandle<Result<String, Failure>> {
    let (name, (action, what)) = (wanted.name().clone(), wanted.what());
    let who = who.to_string();
    tracing::info!(target: "leasehold::audit", who, from, action, resource = %name, what, "asked for");
    let number = shared.changes.add(name.clone(), what, who.clone());
    actix_rt::spawn(async move {
        let done = wanted.make(&shared).await;
        let outcome = match &done {
            Ok(outcome) => outcome.clone(),
            Err(failure) => format!("failed: {failure}"),
        };
        tracing::info!(target: "leasehold::audit", who, from, action, resource = %name, outcome, "over");
        shared.changes.end(number, outcome);
        // Without an observer nobody watches.
        let _ = ask(&shared.observer, Changed).await;
        done
    })
}

/// The body of a revoke: of the API, and of a form.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Revoke)]
pub(crate) struct RevokeBody {
    resource: String,
    reason: String,
    #[serde(default = "half_a_minute")]
    #[schema(default = 30)]
    grace_seconds: u32,
}

const fn half_a_minute() -> u32 {
    30
}

/// The body of a release by force. The name is said twice, so that it is not done by a slip.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ForceRelease)]
pub(crate) struct ForceBody {
    resource: String,
    /// The name of the resource once more.
    confirm: String,
}

/// The body of a change to a schedule.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ScheduleChange)]
pub(crate) struct ScheduleBody {
    schedule: String,
    action: Action,
}

impl TryFrom<RevokeBody> for Wanted {
    type Error = InvalidValue;

    fn try_from(RevokeBody { resource, reason, grace_seconds }: RevokeBody) -> Result<Self, InvalidValue> {
        let grace = Duration::from_secs(grace_seconds.into());
        Ok(Self::Revoke { name: ResourceName::decode(&resource)?, reason, grace })
    }
}

impl TryFrom<ForceBody> for Wanted {
    type Error = InvalidValue;

    fn try_from(ForceBody { resource, confirm }: ForceBody) -> Result<Self, InvalidValue> {
        if confirm.trim() != resource {
            let value = confirm.escape_debug();
            return Err(InvalidValue::new("confirm", value, format!("the name of the resource: {resource}")));
        }
        Ok(Self::ForceRelease { name: ResourceName::decode(&resource)? })
    }
}

impl TryFrom<ScheduleBody> for Wanted {
    type Error = InvalidValue;

    fn try_from(ScheduleBody { schedule, action }: ScheduleBody) -> Result<Self, InvalidValue> {
        Ok(Self::Schedule { name: ResourceName::decode(&schedule)?, action })
    }
}
