//! The lock of a scope: taken by the middleware before a request is served.

use std::{future::pending, rc::Rc};

use actix_web::{
    App, HttpResponse,
    dev::ServiceRequest,
    http::Method,
    test::{TestRequest, call_service, init_service, try_call_service},
    web,
};
use leasehold::{
    Acquire,
    web::{Locked, Locks},
};
use tokio::time::{Instant, sleep};

use super::site::{Item, Seen, Site, TTL, Watched, told};
use support::virtual_time::{in_virtual_time, millis, secs};

/// The lock of the item that the path of the scope names; nothing is locked for `free`.
fn item(request: &ServiceRequest) -> Option<Acquire> {
    let id = request.match_info().get("scope").filter(|id| *id != "free")?;
    Some(Acquire::new(format!("items/{id}")).ttl(TTL).no_renew().wait(secs(2)))
}

async fn work(site: web::ThinData<Rc<Seen>>) -> HttpResponse {
    let _watched = Watched::begin(&site);
    sleep(secs(1)).await;
    HttpResponse::Ok().body("done")
}

async fn never(site: web::ThinData<Rc<Seen>>) -> HttpResponse {
    let _watched = Watched::begin(&site);
    pending().await
}

async fn two_locks(lock: Locked<Item>, site: web::ThinData<Rc<Seen>>) -> HttpResponse {
    let _watched = Watched::begin(&site);
    sleep(secs(1)).await;
    HttpResponse::Ok().body(lock.resource().to_string())
}

macro_rules! app {
    ($site:expr, $locks:expr) => {
        init_service(
            App::new().app_data($site.data()).app_data(web::ThinData(Rc::clone(&$site.seen))).service(
                web::scope("/scope/{scope}")
                    .wrap($locks)
                    .route("/work", web::route().to(work))
                    .route("/never", web::route().to(never))
                    .service(web::resource("/more/{id}").to(two_locks)),
            ),
        )
        .await
    };
}

fn post(path: &str) -> actix_http::Request {
    TestRequest::post().uri(path).to_request()
}

#[test]
fn requests_of_one_name_are_served_one_after_the_other() {
    in_virtual_time(|| async {
        let site = Site::new();
        let (app, start) = (app!(site, Locks::new().lock(item)), Instant::now());
        // Each reads its response to the end: only then the next one is served.
        let serve = async |path: &str| {
            let body = actix_web::test::read_body(call_service(&app, post(path)).await).await;
            assert_eq!(body, "done");
            start.elapsed()
        };
        let (one, other, free) =
            tokio::join!(serve("/scope/1/work"), serve("/scope/1/work"), serve("/scope/free/work"));
        assert!(one < millis(1_500) && free < millis(1_500), "{one:?}, {free:?}");
        assert!(other >= secs(2), "{other:?}");
        assert!(site.is_free("1").await);
    });
}

#[test]
fn a_request_whose_lock_is_held_for_too_long_is_refused_after_its_wait() {
    in_virtual_time(|| async {
        let site = Site::new();
        let app = app!(site, Locks::new().lock(item));
        let lease = site.others.send(Acquire::new("items/1")).await.unwrap().unwrap();
        let start = Instant::now();
        let (status, kind, after) = told(call_service(&app, post("/scope/1/work")).await).await;
        assert_eq!((status, kind.as_str()), (423, "held"));
        assert!(after.is_some() && start.elapsed() >= secs(2) && !site.seen.running.get());
        drop(lease);
    });
}

#[test]
fn other_methods_take_no_lock() {
    in_virtual_time(|| async {
        let site = Site::new();
        let app = app!(site, Locks::new().methods([Method::POST, Method::PUT]).lock(item));
        let lease = site.others.send(Acquire::new("items/1")).await.unwrap().unwrap();
        let get = TestRequest::get().uri("/scope/1/work").to_request();
        assert_eq!(call_service(&app, get).await.status(), 200);
        assert_eq!(call_service(&app, post("/scope/1/work")).await.status(), 423);
        drop(lease);
    });
}

#[test]
fn a_lost_lock_of_a_scope_stops_the_handler() {
    in_virtual_time(|| async {
        let site = Site::new();
        let (app, start) = (app!(site, Locks::new().lock(item)), Instant::now());
        let asked = async move { try_call_service(&app, post("/scope/1/never")).await.map(|_| ()) };
        let error = actix_rt::spawn(asked).await.unwrap().unwrap_err();
        assert!(start.elapsed() < TTL && site.seen.dropped.get());
        assert_eq!(error.error_response().status(), 503);
        assert!(site.is_free("1").await);
    });
}

#[test]
fn a_handler_can_have_a_lock_of_its_own_beside_that_of_its_scope() {
    in_virtual_time(|| async {
        let site = Site::new();
        let app = app!(site, Locks::new().lock(item));
        let held = async {
            sleep(millis(500)).await;
            assert!(!site.is_free("1").await && !site.is_free("2").await);
        };
        let (response, ()) = tokio::join!(call_service(&app, post("/scope/1/more/2")), held);
        assert_eq!(actix_web::test::read_body(response).await, "items/2");
        assert!(site.is_free("1").await && site.is_free("2").await);
    });
}
