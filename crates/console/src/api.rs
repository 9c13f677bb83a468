//! The API in JSON. `openapi.json` describes it; a test compares the two.

use std::sync::Arc;

use actix_web::{
    HttpRequest, HttpResponse, Route,
    web::{Data, Json, Query, ServiceConfig, get, post, resource},
};
use leasehold::InvalidValue;
use serde::Serialize;
use serde_json::json;

use super::{
    changes::{self, ForceBody, RevokeBody, ScheduleBody, Wanted},
    examine::Doctor,
    failure::Failure,
    guard::{Change, Guard},
    read::{self, Also, Filter, Named},
    shared::Shared,
};

/// The description of the API.
pub(crate) const OPENAPI: &str = include_str!("openapi.json");

/// An answer in JSON, or a problem document.
type Answer = Result<HttpResponse, Failure>;

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
        ("/api/revoke", "post", post().to(change::<RevokeBody>)),
        ("/api/force-release", "post", post().to(change::<ForceBody>)),
        ("/api/schedule", "post", post().to(change::<ScheduleBody>)),
        ("/events", "get", get().to(super::events::events)),
        ("/openapi.json", "get", get().to(openapi)),
    ]
}

/// Adds the routes of the API.
pub(crate) fn configure(config: &mut ServiceConfig) {
    for (path, _, route) in routes() {
        config.service(resource(path).route(route));
    }
}

fn told(value: impl Serialize) -> Answer {
    Ok(HttpResponse::Ok().json(value))
}

async fn resources(shared: Data<Shared>, filter: Query<Filter>) -> Answer {
    told(read::page(&shared, &filter).await?)
}

async fn one(shared: Data<Shared>, asked: Query<Named>) -> Answer {
    told(read::resource(&shared, &asked.name).await?)
}

async fn managers(shared: Data<Shared>) -> Answer {
    told(read::managers(&shared).await?)
}

async fn elections(shared: Data<Shared>, also: Query<Also>) -> Answer {
    told(json!({ "elections": read::elections(&shared, &also).await? }))
}

async fn schedules(shared: Data<Shared>, also: Query<Also>) -> Answer {
    told(read::schedules(&shared, &also).await?)
}

async fn tuning(shared: Data<Shared>) -> Answer {
    told(read::tuning(&shared).await?)
}

async fn diagnosis(shared: Data<Shared>) -> Answer {
    told(json!({ "diagnosis": shared.doctor.latest() }))
}

async fn examine(request: HttpRequest, guard: Data<Guard>, shared: Data<Shared>) -> Answer {
    told(json!({ "diagnosis": Doctor::examine_for(shared, &request, &guard).await? }))
}

/// Makes a change, and answers when it is over.
async fn change<Body>(right: Change, shared: Data<Shared>, body: Json<Body>) -> Answer
where
    Wanted: TryFrom<Body, Error = InvalidValue>,
{
    let wanted = Wanted::try_from(body.into_inner())?;
    let done = changes::begin(Arc::clone(&shared), right, wanted).await;
    let outcome = done.map_err(|_| Failure::gone())??;
    told(json!({ "outcome": outcome }))
}

async fn openapi() -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(OPENAPI)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn each_route_is_described_and_each_description_is_a_route() {
        let described: Value = serde_json::from_str(OPENAPI).unwrap();
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
