//! The pages: HTML without any script in it, which works without the one script too.
//!
//! All pages are files of one folder, and link to each other by relative links. So they need not know below which path the
//! console is mounted, nor what a proxy takes away of it.

mod doctor;
mod forms;
mod frame;
mod lists;
mod login;
mod partitions;
mod parts;
mod resource;
mod resources;
mod timeline;

use std::sync::Arc;

use actix_web::{
    HttpRequest, HttpResponse, ResponseError,
    http::{StatusCode, header::LOCATION},
    web::{Data, Query, ServiceConfig, get, post, resource as at},
};

use self::frame::{Frame, Place};
use super::{
    changes::{ForceBody, RevokeBody, ScheduleBody},
    failure::Failure,
    guard::Guard,
    read::{self, Also, Filter, Named},
    shared::Shared,
};

/// The pages for which somebody is led to the login: all in one folder, so that a relative link leads there.
const PAGES: &[&str] = &[
    "/",
    "/resource",
    "/managers",
    "/elections",
    "/schedules",
    "/partitions",
    "/tuning",
    "/doctor",
    "/revoke",
    "/schedule",
];

/// Adds the routes of the pages.
pub(crate) fn configure(config: &mut ServiceConfig) {
    for (path, route) in [
        ("", get().to(to_folder)),
        ("/", get().to(contended)),
        ("/resource", get().to(one)),
        ("/managers", get().to(managers)),
        ("/elections", get().to(elections)),
        ("/schedules", get().to(schedules)),
        ("/partitions", get().to(shares)),
        ("/tuning", get().to(tuning)),
        ("/revoke", post().to(forms::change::<RevokeBody>)),
        ("/force-release", post().to(forms::change::<ForceBody>)),
        ("/schedule", post().to(forms::change::<ScheduleBody>)),
        ("/logout", post().to(login::logout)),
        ("/console.css", get().to(async || file("text/css; charset=utf-8", include_str!("console.css")))),
        (
            "/console.js",
            get().to(async || file("text/javascript; charset=utf-8", include_str!("console.js"))),
        ),
        ("/icon.svg", get().to(async || file("image/svg+xml", include_str!("icon.svg")))),
    ] {
        config.service(at(path).route(route));
    }
    config.service(at("/login").route(get().to(login::page)).route(post().to(login::login)));
    config.service(at("/doctor").route(get().to(diagnosis)).route(post().to(examine)));
}

/// Returns true for what everybody may read who may not read anything else.
pub(crate) fn is_open(request: &HttpRequest) -> bool {
    // The path below the scope of the console.
    let path = request.match_info().unprocessed();
    ["", "/login", "/console.css", "/console.js", "/icon.svg"].contains(&path)
}

/// Returns the answer to a request that was not let in: a page is led to the login.
pub(crate) fn refused(request: &HttpRequest, failure: Failure) -> HttpResponse {
    let path = request.match_info().unprocessed();
    if failure.status == StatusCode::UNAUTHORIZED && PAGES.contains(&path) && request.method().is_safe() {
        return HttpResponse::SeeOther().insert_header((LOCATION, "login")).finish();
    }
    failure.error_response()
}

/// Leads to the folder that has the pages: relative links of a path without a slash in its end would lead beside it.
async fn to_folder(request: HttpRequest) -> HttpResponse {
    let last = request.path().rsplit('/').next().unwrap_or_default();
    HttpResponse::SeeOther().insert_header((LOCATION, format!("{last}/"))).finish()
}

fn file(content_type: &'static str, text: &'static str) -> HttpResponse {
    HttpResponse::Ok().content_type(content_type).body(text)
}

async fn contended(frame: Frame, shared: Data<Shared>, filter: Query<Filter>) -> HttpResponse {
    let page = read::page(&shared, &filter).await;
    frame.show(Place::Resources, "Resources", page.map(|page| resources::body(&page, &filter)))
}

async fn one(frame: Frame, shared: Data<Shared>, asked: Query<Named>) -> HttpResponse {
    let answer = read::resource(&shared, &asked.name).await;
    let title = answer.as_ref().map_or("Resource", |answer| answer.view.resource.as_str()).to_owned();
    let body = answer.map(|answer| resource::body(&answer, frame.may_change()));
    frame.show(Place::Resources, &title, body)
}

async fn managers(frame: Frame, shared: Data<Shared>) -> HttpResponse {
    let view = read::managers(&shared).await;
    frame.show(Place::Managers, "Managers", view.map(|view| lists::managers(&view)))
}

async fn elections(frame: Frame, shared: Data<Shared>, also: Query<Also>) -> HttpResponse {
    let views = read::elections(&shared, &also).await;
    frame.show(Place::Elections, "Elections", views.map(|views| lists::elections(&views, &also)))
}

async fn schedules(frame: Frame, shared: Data<Shared>, also: Query<Also>) -> HttpResponse {
    let views = read::schedules(&shared, &also).await;
    let body = views.map(|views| lists::schedules(&views, &also, frame.may_change()));
    frame.show(Place::Schedules, "Schedules", body)
}

async fn shares(frame: Frame, shared: Data<Shared>, also: Query<Also>) -> HttpResponse {
    let view = read::partitions(&shared, &also).await;
    frame.show(Place::Partitions, "Partitions", view.map(|view| partitions::body(&view, &also)))
}

async fn tuning(frame: Frame, shared: Data<Shared>) -> HttpResponse {
    let view = read::tuning(&shared).await;
    frame.show(Place::Tuning, "Tuning", view.map(|view| lists::tuning(&view)))
}

async fn diagnosis(frame: Frame, shared: Data<Shared>) -> HttpResponse {
    let body = doctor::body(shared.doctor.is_there(), shared.doctor.latest().as_ref());
    frame.show(Place::Doctor, "Doctor", Ok(body))
}

async fn examine(
    frame: Frame,
    request: HttpRequest,
    guard: Data<Guard>,
    shared: Data<Shared>,
) -> HttpResponse {
    match Arc::clone(&shared.doctor).examine_for(&request, &guard).await {
        Ok(_) => forms::see("doctor"),
        Err(failure) => frame.show(Place::Doctor, "Doctor", Err(failure)),
    }
}
