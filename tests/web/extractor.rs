//! The lock of a handler: held while it runs, and it runs only while the lock is held.

use std::{future::pending, rc::Rc};

use actix_web::{
    App, HttpResponse,
    test::{TestRequest, call_service, init_service, try_call_service},
    web::{self, get},
};
use leasehold::{
    Acquire, Revoke,
    web::{Locked, Locks},
};
use tokio::time::{Instant, sleep, timeout};

use super::site::{Item, Seen, Site, TTL, Watched, told};
use support::virtual_time::{in_virtual_time, millis, secs};

async fn work(lock: Locked<Item>, site: web::ThinData<Rc<Seen>>) -> HttpResponse {
    let _watched = Watched::begin(&site);
    sleep(secs(1)).await;
    HttpResponse::Ok().body(format!("{} {}", lock.mode(), lock.fence().is_some()))
}

async fn never(_lock: Locked<Item>, site: web::ThinData<Rc<Seen>>) -> HttpResponse {
    let _watched = Watched::begin(&site);
    pending().await
}

/// An application with a handler that works for a second, and one that never ends.
macro_rules! app {
    ($site:expr) => {
        init_service(
            App::new()
                .app_data($site.data())
                .app_data(web::ThinData(Rc::clone(&$site.seen)))
                .wrap(Locks::new())
                .route("/items/{id}", get().to(work))
                .route("/never/{id}", get().to(never))
                .route("/nothing", get().to(work)),
        )
        .await
    };
}

fn request(path: &str) -> actix_http::Request {
    TestRequest::get().uri(path).to_request()
}

#[test]
fn a_handler_runs_while_its_lock_is_held() {
    in_virtual_time(|| async {
        let site = Site::new();
        let app = app!(site);
        let held = async {
            sleep(millis(500)).await;
            assert!(site.seen.running.get() && !site.is_free("1").await && site.is_free("2").await);
        };
        let (response, ()) = tokio::join!(call_service(&app, request("/items/1")), held);
        assert_eq!(actix_web::test::read_body(response).await, "exclusive true");
        assert!(site.is_free("1").await);
    });
}

#[test]
fn readers_of_one_name_run_side_by_side() {
    in_virtual_time(|| async {
        let site = Site::new();
        let (app, start) = (app!(site), Instant::now());
        let read = || call_service(&app, request("/items/1?read"));
        let (one, other) = tokio::join!(read(), read());
        assert_eq!(actix_web::test::read_body(one).await, "shared true");
        assert_eq!(other.status(), 200);
        assert!(start.elapsed() < secs(2));
    });
}

#[test]
fn a_handler_without_its_lock_does_not_run() {
    in_virtual_time(|| async {
        let site = Site::new();
        let app = app!(site);
        let lease = site.others.send(Acquire::new("items/1").ttl(TTL)).await.unwrap().unwrap();
        let (status, kind, after) = told(call_service(&app, request("/items/1")).await).await;
        assert_eq!((status, kind.as_str()), (423, "held"));
        assert!((1..=10).contains(&after.unwrap()), "{after:?}");
        assert!(!site.seen.running.get());
        drop(lease);
    });
}

#[test]
fn a_lost_lock_stops_the_handler_and_the_outcome_is_unknown() {
    in_virtual_time(|| async {
        let site = Site::new();
        let (app, start) = (app!(site), Instant::now());
        // In a task of its own, which runs only when it is woken.
        let asked = async move { try_call_service(&app, request("/never/1")).await.map(|_| ()) };
        let error = actix_rt::spawn(asked).await.unwrap().unwrap_err();
        assert!(start.elapsed() < TTL, "before anybody else could have it");
        assert!(site.seen.dropped.get(), "the handler is not running any more");
        assert_eq!(error.error_response().status(), 503);
        assert!(error.to_string().starts_with("the lease of items/1 was lost: "), "{error}");
        assert!(site.is_free("1").await, "what is left of it was released");
    });
}

#[test]
fn a_lock_that_is_taken_away_stops_the_handler_at_once() {
    in_virtual_time(|| async {
        let site = Site::new();
        let app = app!(site);
        let taken = async {
            sleep(secs(1)).await;
            assert_eq!(site.others.send(Revoke::at_once("items/1")).await.unwrap().unwrap().taken, 1);
        };
        let stopped = try_call_service(&app, request("/never/1?read"));
        let (stopped, ()) = tokio::join!(timeout(millis(1_001), stopped), taken);
        assert!(stopped.expect("at once").is_err() && site.seen.dropped.get());
    });
}

#[test]
fn a_request_that_is_dropped_stops_the_handler_and_releases_the_lock() {
    in_virtual_time(|| async {
        let site = Site::new();
        let app = app!(site);
        assert!(timeout(secs(1), call_service(&app, request("/never/1"))).await.is_err());
        assert!(site.seen.dropped.get() && site.is_free("1").await);
    });
}

#[test]
fn a_name_that_cannot_be_locked_is_the_mistake_of_the_client() {
    in_virtual_time(|| async {
        let site = Site::new();
        let app = app!(site);
        assert_eq!(call_service(&app, request("/nothing")).await.status(), 400, "as the key says");
        let (status, kind, _) = told(call_service(&app, request("/items/long")).await).await;
        assert_eq!((status, kind.as_str()), (400, "invalid"));
        assert!(!site.seen.running.get());
    });
}

#[test]
fn a_handler_outside_of_the_middleware_gets_no_lock() {
    in_virtual_time(|| async {
        let site = Site::new();
        let app = App::new().app_data(site.data()).app_data(web::ThinData(Rc::clone(&site.seen)));
        let app = init_service(app.route("/items/{id}", get().to(work))).await;
        assert_eq!(call_service(&app, request("/items/1")).await.status(), 500);
        assert!(!site.seen.running.get() && site.is_free("1").await);
    });
}

#[test]
fn a_middleware_without_a_manager_serves_nothing() {
    in_virtual_time(|| async {
        let site = Site::new();
        let app = App::new().app_data(web::ThinData(Rc::clone(&site.seen))).wrap(Locks::new());
        let app = init_service(app.route("/items/{id}", get().to(work))).await;
        assert_eq!(call_service(&app, request("/items/1")).await.status(), 500);
        assert!(!site.seen.running.get());
    });
}
