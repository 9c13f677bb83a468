//! The API in JSON, with the handler of each route.

mod description;
mod handlers;

use actix_web::{
    Route,
    web::{ServiceConfig, get, post, resource},
};

use crate::events;

/// Returns the routes: each path, its method, and its handler.
fn routes() -> Vec<(&'static str, &'static str, Route)> {
    vec![
        ("/api/resources", "get", get().to(handlers::resources)),
        ("/api/resource", "get", get().to(handlers::one)),
        ("/api/managers", "get", get().to(handlers::managers)),
        ("/api/elections", "get", get().to(handlers::elections)),
        ("/api/schedules", "get", get().to(handlers::schedules)),
        ("/api/partitions", "get", get().to(handlers::partitions)),
        ("/api/tuning", "get", get().to(handlers::tuning)),
        ("/api/diagnosis", "get", get().to(handlers::diagnosis)),
        ("/api/examine", "post", post().to(handlers::examine)),
        ("/api/revoke", "post", post().to(handlers::revoke)),
        ("/api/force-release", "post", post().to(handlers::force_release)),
        ("/api/schedule", "post", post().to(handlers::schedule)),
        ("/events", "get", get().to(events::events)),
        ("/openapi.json", "get", get().to(description::openapi)),
    ]
}

/// Adds the routes of the API.
pub(crate) fn configure(config: &mut ServiceConfig) {
    for (path, _, route) in routes() {
        config.service(resource(path).route(route));
    }
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
