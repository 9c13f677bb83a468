//! The API in JSON, with the handler of each route.

mod description;

use std::sync::Arc;

use actix_web::{
    HttpRequest, HttpResponse, Responder, Route,
    body::BoxBody,
    web::{Data, Json, Query, ServiceConfig, get, post, resource},
};
use leasehold::InvalidValue;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    changes::{self, ForceBody, RevokeBody, ScheduleBody, Wanted},
    events,
    examine::DiagnosisView,
    failure::Failure,
    guard::{Change, Guard},
    model::{ElectionView, ManagersView, Page, ResourceAnswer, SchedulesView, TuningView},
    read::{self, Also, Filter, Named},
    shared::Shared,
    view::printable_json,
};

/// An answer in JSON, or a problem document.
type Answer<T> = Result<Told<T>, Failure>;

/// A value as JSON, in which what a terminal obeys is escaped: it may be read with `curl`.
struct Told<T>(T);

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
struct Elections {
    elections: Vec<ElectionView>,
}

/// The findings of an examination.
#[derive(Serialize, ToSchema)]
struct Diagnosis {
    diagnosis: Option<DiagnosisView>,
}

/// The outcome of a change, in words.
#[derive(Serialize, ToSchema)]
struct Outcome {
    outcome: String,
}

/// Returns the routes: each path, its method, and its handler.
fn routes() -> Vec<(&'static str, &'static str, Route)> {
    vec![
        ("/api/resources", "get", get().to(resources)),
        ("/api/resource", "get", get().to(one)),
        ("/api/managers", "get", get().to(managers)),
        ("/api/elections", "get", get().to(elections)),
        ("/api/schedules", "get", get().to(schedules)),
        ("/api/tuning", "get", get().to(tuning)),
        ("/api/diagnosis", "get", get().to(diagnosis)),
        ("/api/examine", "post", post().to(examine)),
        ("/api/revoke", "post", post().to(revoke)),
        ("/api/force-release", "post", post().to(force_release)),
        ("/api/schedule", "post", post().to(schedule)),
        ("/events", "get", get().to(events::events)),
        ("/openapi.json", "get", get().to(openapi)),
    ]
}

/// Adds the routes of the API.
pub(crate) fn configure(config: &mut ServiceConfig) {
    for (path, _, route) in routes() {
        config.service(resource(path).route(route));
    }
}

/// The resources that somebody waits for, or all that are not free, in the order of names.
#[utoipa::path(get, path = "/api/resources", params(Filter), responses((status = 200, body = Page)))]
async fn resources(shared: Data<Shared>, filter: Query<Filter>) -> Answer<Page> {
    read::page(&shared, &filter).await.map(Told)
}

/// One resource: holders, waiters and timeline.
#[utoipa::path(get, path = "/api/resource", params(Named), responses((status = 200, body = ResourceAnswer)))]
async fn one(shared: Data<Shared>, asked: Query<Named>) -> Answer<ResourceAnswer> {
    read::resource(&shared, &asked.name).await.map(Told)
}

/// The manager of this process, and the processes that hold and wait.
#[utoipa::path(get, path = "/api/managers", responses((status = 200, body = ManagersView)))]
async fn managers(shared: Data<Shared>) -> Answer<ManagersView> {
    read::managers(&shared).await.map(Told)
}

/// The elections that are known.
#[utoipa::path(get, path = "/api/elections", params(Also), responses((status = 200, body = Elections)))]
async fn elections(shared: Data<Shared>, also: Query<Also>) -> Answer<Elections> {
    Ok(Told(Elections { elections: read::elections(&shared, &also).await? }))
}

/// The schedules of the store.
#[utoipa::path(get, path = "/api/schedules", params(Also), responses((status = 200, body = SchedulesView)))]
async fn schedules(shared: Data<Shared>, also: Query<Also>) -> Answer<SchedulesView> {
    read::schedules(&shared, &also).await.map(Told)
}

/// The settings that may change while a manager runs, its load, and what a tuner did.
#[utoipa::path(get, path = "/api/tuning", responses((status = 200, body = TuningView)))]
async fn tuning(shared: Data<Shared>) -> Answer<TuningView> {
    read::tuning(&shared).await.map(Told)
}

/// The findings of the last examination; null before the first.
#[utoipa::path(get, path = "/api/diagnosis", responses((status = 200, body = Diagnosis)))]
async fn diagnosis(shared: Data<Shared>) -> Answer<Diagnosis> {
    Ok(Told(Diagnosis { diagnosis: shared.doctor.latest() }))
}

/// Examines the deployment.
#[utoipa::path(post, path = "/api/examine", responses((status = 200, body = Diagnosis)))]
async fn examine(request: HttpRequest, guard: Data<Guard>, shared: Data<Shared>) -> Answer<Diagnosis> {
    Ok(Told(Diagnosis { diagnosis: Arc::clone(&shared.doctor).examine_for(&request, &guard).await? }))
}

/// Takes a resource back; holders may finish. Answers when it is over.
#[utoipa::path(post, path = "/api/revoke", request_body = RevokeBody, responses((status = 200, body = Outcome)), security(("token" = [])))]
async fn revoke(right: Change, shared: Data<Shared>, body: Json<RevokeBody>) -> Answer<Outcome> {
    change(right, &shared, body.into_inner()).await
}

/// Takes a resource away from all its holders at once.
#[utoipa::path(post, path = "/api/force-release", request_body = ForceBody, responses((status = 200, body = Outcome)), security(("token" = [])))]
async fn force_release(right: Change, shared: Data<Shared>, body: Json<ForceBody>) -> Answer<Outcome> {
    change(right, &shared, body.into_inner()).await
}

/// Pauses, resumes or runs a schedule.
#[utoipa::path(post, path = "/api/schedule", request_body = ScheduleBody, responses((status = 200, body = Outcome)), security(("token" = [])))]
async fn schedule(right: Change, shared: Data<Shared>, body: Json<ScheduleBody>) -> Answer<Outcome> {
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

/// This description.
#[utoipa::path(get, path = "/openapi.json", responses((status = 200, body = Object, description = "OpenAPI 3.1.")))]
async fn openapi() -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(description::text())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn each_route_is_described_and_each_description_is_a_route() {
        let described: Value = serde_json::from_str(description::text()).unwrap();
        let paths = described["paths"].as_object().unwrap();
        let described = paths.iter().flat_map(|(path, methods)| {
            methods.as_object().unwrap().keys().map(move |method| (path.as_str(), method.as_str()))
        });
        let mut described: Vec<_> = described.collect();
        let mut routes: Vec<_> = routes().into_iter().map(|(path, method, _)| (path, method)).collect();
        described.sort_unstable();
        routes.sort_unstable();
        assert_eq!(routes, described);
    }
}
