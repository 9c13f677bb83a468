//! The handlers of the API: what each route reads or changes.

use std::sync::Arc;

use actix_web::{
    HttpRequest, HttpResponse, Responder,
    body::BoxBody,
    web::{Data, Json, Query},
};
use leasehold::InvalidValue;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    changes::{self, ForceBody, RevokeBody, ScheduleBody, Wanted},
    examine::DiagnosisView,
    failure::Failure,
    guard::{Change, Guard},
    model::{ElectionView, ManagersView, Page, PartitionsView, ResourceAnswer, SchedulesView, TuningView},
    read::{self, Also, Filter, Named},
    shared::Shared,
    view::printable_json,
};

/// An answer in JSON, or a problem document.
pub(super) type Answer<T> = Result<Told<T>, Failure>;

/// A value as JSON, in which what a terminal obeys is escaped: it may be read with `curl`.
pub(super) struct Told<T>(T);

impl<T: Serialize> Responder for Told<T> {
    type Body = BoxBody;

    fn respond_to(self, _: &HttpRequest) -> HttpResponse {
        match serde_json::to_string(&self.0) {
            Ok(json) => {
                HttpResponse::Ok().content_type("application/json").body(printable_json(&json).into_owned())
            }
            Err(error) => HttpResponse::from_error(error),
        }
    }
}

/// The elections that are known.
#[derive(Serialize, ToSchema)]
pub(super) struct Elections {
    elections: Vec<ElectionView>,
}

/// The findings of an examination.
#[derive(Serialize, ToSchema)]
pub(super) struct Diagnosis {
    diagnosis: Option<DiagnosisView>,
}

/// The outcome of a change, in words.
#[derive(Serialize, ToSchema)]
pub(super) struct Outcome {
    outcome: String,
}

/// The resources that somebody waits for, or all that are not free, in the order of names.
#[utoipa::path(get, path = "/api/resources", params(Filter), responses((status = 200, body = Page)))]
pub(super) async fn resources(shared: Data<Shared>, filter: Query<Filter>) -> Answer<Page> {
    read::page(&shared, &filter).await.map(Told)
}

/// One resource: holders, waiters and timeline.
#[utoipa::path(get, path = "/api/resource", params(Named), responses((status = 200, body = ResourceAnswer)))]
pub(super) async fn one(shared: Data<Shared>, asked: Query<Named>) -> Answer<ResourceAnswer> {
    read::resource(&shared, &asked.name).await.map(Told)
}

/// The manager of this process, and the processes that hold and wait.
#[utoipa::path(get, path = "/api/managers", responses((status = 200, body = ManagersView)))]
pub(super) async fn managers(shared: Data<Shared>) -> Answer<ManagersView> {
    read::managers(&shared).await.map(Told)
}

/// The elections that are known.
#[utoipa::path(get, path = "/api/elections", params(Also), responses((status = 200, body = Elections)))]
pub(super) async fn elections(shared: Data<Shared>, also: Query<Also>) -> Answer<Elections> {
    Ok(Told(Elections { elections: read::elections(&shared, &also).await? }))
}

/// The schedules of the store.
#[utoipa::path(get, path = "/api/schedules", params(Also), responses((status = 200, body = SchedulesView)))]
pub(super) async fn schedules(shared: Data<Shared>, also: Query<Also>) -> Answer<SchedulesView> {
    read::schedules(&shared, &also).await.map(Told)
}

/// The fleets that share partitions, and the members and owners of one.
#[utoipa::path(get, path = "/api/partitions", params(Also), responses((status = 200, body = PartitionsView)))]
pub(super) async fn partitions(shared: Data<Shared>, also: Query<Also>) -> Answer<PartitionsView> {
    read::partitions(&shared, &also).await.map(Told)
}

/// The settings that may change while a manager runs, its load, and what a tuner did.
#[utoipa::path(get, path = "/api/tuning", responses((status = 200, body = TuningView)))]
pub(super) async fn tuning(shared: Data<Shared>) -> Answer<TuningView> {
    read::tuning(&shared).await.map(Told)
}

/// The findings of the last examination; null before the first.
#[utoipa::path(get, path = "/api/diagnosis", responses((status = 200, body = Diagnosis)))]
pub(super) async fn diagnosis(shared: Data<Shared>) -> Answer<Diagnosis> {
    Ok(Told(Diagnosis { diagnosis: shared.doctor.latest() }))
}

/// Examines the deployment.
#[utoipa::path(post, path = "/api/examine", responses((status = 200, body = Diagnosis)))]
pub(super) async fn examine(
    request: HttpRequest,
    guard: Data<Guard>,
    shared: Data<Shared>,
) -> Answer<Diagnosis> {
    Ok(Told(Diagnosis { diagnosis: Arc::clone(&shared.doctor).examine_for(&request, &guard).await? }))
}

/// Takes a resource back; holders may finish. Answers when it is over.
#[utoipa::path(post, path = "/api/revoke", request_body = RevokeBody, responses((status = 200, body = Outcome)), security(("token" = [])))]
pub(super) async fn revoke(right: Change, shared: Data<Shared>, body: Json<RevokeBody>) -> Answer<Outcome> {
    change(right, &shared, body.into_inner()).await
}

/// Takes a resource away from all its holders at once.
#[utoipa::path(post, path = "/api/force-release", request_body = ForceBody, responses((status = 200, body = Outcome)), security(("token" = [])))]
pub(super) async fn force_release(
    right: Change,
    shared: Data<Shared>,
    body: Json<ForceBody>,
) -> Answer<Outcome> {
    change(right, &shared, body.into_inner()).await
}

/// Pauses, resumes or runs a schedule.
#[utoipa::path(post, path = "/api/schedule", request_body = ScheduleBody, responses((status = 200, body = Outcome)), security(("token" = [])))]
pub(super) async fn schedule(
    right: Change,
    shared: Data<Shared>,
    body: Json<ScheduleBody>,
) -> Answer<Outcome> {
    change(right, &shared, body.into_inner()).await
}

/// Makes a change, and answers when it is over.
async fn change(
    right: Change,
    shared: &Arc<Shared>,
    body: impl TryInto<Wanted, Error = InvalidValue>,
) -> Answer<Outcome> {
    let done = changes::begin(Arc::clone(shared), right, body.try_into()?).await;
    let outcome = done.map_err(|_| Failure::gone())??;
    Ok(Told(Outcome { outcome }))
}
