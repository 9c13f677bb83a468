//! The description of the API: OpenAPI 3.1, derived from the handlers and from the types of their bodies.

use std::sync::LazyLock;

use actix_web::HttpResponse;
use utoipa::{
    Modify, OpenApi,
    openapi::{
        Content, PathItem, Ref, RefOr, Response, ResponseBuilder, Schema,
        path::Operation,
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

use super::handlers;
use crate::failure::Problem;

const ABOUT: &str = "Paths are relative to where the console is mounted. Durations are numbers of seconds, and those that end in \
    `_seconds_ago` are counted back from the answer; what is not known is null. Names are printable ASCII, with %XX for every other \
    byte. What holders and waiters tell of themselves is not checked.";

#[derive(OpenApi)]
#[openapi(
    info(title = "The console of leasehold", version = "1", description = ABOUT),
    servers((url = ".")),
    security((), ("token" = [])),
    paths(
        handlers::resources, handlers::one, handlers::managers, handlers::elections, handlers::schedules, handlers::partitions,
        handlers::tuning,
        handlers::diagnosis, handlers::examine, handlers::revoke, handlers::force_release, handlers::schedule,
        crate::events::events, openapi
    ),
    components(schemas(Problem)),
    modifiers(&House)
)]
struct Api;

/// Returns the description, as JSON.
pub(super) fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        // It has no maps with other keys than texts, and no numbers that JSON has not.
        Api::openapi().to_json().unwrap_or_default()
    });
    &TEXT
}

/// This description.
#[utoipa::path(get, path = "/openapi.json", responses((status = 200, body = Object, description = "OpenAPI 3.1.")))]
pub(super) async fn openapi() -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(text())
}

/// The properties that all routes and all bodies have.
struct House;

impl Modify for House {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        api.paths.paths.values_mut().flat_map(operations).for_each(|operation| {
            operation.responses.responses.entry("default".to_owned()).or_insert_with(|| problem().into());
            operation.tags = None;
        });
        let Some(components) = &mut api.components else { return };
        const ASKED: [&str; 3] = ["Revoke", "ForceRelease", "ScheduleChange"];
        let answers = components.schemas.iter_mut().filter(|(name, _)| !ASKED.contains(&name.as_str()));
        answers.for_each(|(_, schema)| require_all(schema));
        let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer);
        let token =
            token.description(Some("Where reading needs the token, for all; else for changes alone."));
        components.add_security_scheme("token", SecurityScheme::Http(token.build()));
    }
}

fn operations(path: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    path.get.iter_mut().chain(&mut path.post)
}

fn problem() -> Response {
    let content = Content::new(Some(Ref::from_schema_name("Problem")));
    ResponseBuilder::new()
        .description("A problem document.")
        .content("application/problem+json", content)
        .build()
}

/// Says that every field of an answer is there: what is not known is `null`.
fn require_all(schema: &mut RefOr<Schema>) {
    match schema {
        RefOr::T(Schema::Object(object)) => object.required = object.properties.keys().cloned().collect(),
        RefOr::T(Schema::AllOf(parts)) => parts.items.iter_mut().for_each(require_all),
        _ => {}
    }
}
