//! The guard of a service that others write to under a lock.

use std::sync::Arc;

use actix_web::{
    App, Error,
    dev::ServiceRequest,
    error::ErrorNotFound,
    http::Method,
    test::{TestRequest, call_service, init_service, read_body},
    web::{self, ReqData},
};
use leasehold::{
    Fence,
    fenced::HEADER,
    web::{FenceGuard, LargestFences},
};

use super::site::told;

async fn save(fence: ReqData<Fence>) -> String {
    format!("saved with {}", fence.into_inner())
}

async fn read() -> &'static str {
    "read"
}

/// The order that a path names. Nothing is changed by a `GET`.
fn order(request: &ServiceRequest) -> Result<Option<String>, Error> {
    if request.method() == Method::GET {
        return Ok(None);
    }
    let id: u64 = request.match_info().query("id").parse().map_err(ErrorNotFound)?;
    Ok(Some(format!("orders/{id}")))
}

macro_rules! app {
    ($fences:expr) => {
        init_service(
            App::new().service(
                web::scope("/shops/{shop}/orders/{id}")
                    .wrap(FenceGuard::new($fences, order))
                    .route("", web::put().to(save))
                    .route("", web::get().to(read)),
            ),
        )
        .await
    };
}

fn put(id: u64, fence: &str) -> actix_http::Request {
    TestRequest::put().uri(&format!("/shops/3/orders/{id}")).insert_header((HEADER, fence)).to_request()
}

#[actix::test]
async fn a_request_with_an_older_fence_is_refused_and_its_handler_does_not_run() {
    let app = app!(Arc::default());
    for fence in ["9", "9", "11"] {
        let answer = read_body(call_service(&app, put(7, fence)).await).await;
        assert_eq!(answer, format!("saved with {fence}"));
    }
    let refused = told(call_service(&app, put(7, "10")).await).await;
    assert_eq!(refused, (412, "stale_fence".to_owned(), None));
    let other = call_service(&app, put(8, "1")).await;
    assert_eq!(other.status(), 200, "fences of different resources are not compared");
}

#[actix::test]
async fn workers_share_what_they_have_seen() {
    let fences = Arc::<LargestFences>::default();
    let (one, other) = (app!(Arc::clone(&fences)), app!(fences));
    assert_eq!(call_service(&one, put(7, "9")).await.status(), 200);
    assert_eq!(call_service(&other, put(7, "8")).await.status(), 412);
}

#[actix::test]
async fn a_request_without_a_fence_is_refused_where_one_is_needed() {
    let app = app!(Arc::default());
    let none = TestRequest::put().uri("/shops/3/orders/7").to_request();
    assert_eq!(told(call_service(&app, none).await).await, (428, "fence_required".to_owned(), None));
    for wrong in ["", "-1", "ten", "\u{fc}"] {
        let answer = told(call_service(&app, put(7, wrong)).await).await;
        assert_eq!(answer, (400, "invalid".to_owned(), None), "{wrong}");
    }
    let two = TestRequest::put().uri("/shops/3/orders/7");
    let two = two.append_header((HEADER, "7")).append_header((HEADER, "8")).to_request();
    assert_eq!(told(call_service(&app, two).await).await.0, 400);
    let unnamed = TestRequest::put().uri("/shops/3/orders/seven").insert_header((HEADER, "7")).to_request();
    assert_eq!(call_service(&app, unnamed).await.status(), 404);
    let read = TestRequest::get().uri("/shops/3/orders/7").to_request();
    assert_eq!(call_service(&app, read).await.status(), 200);
}

#[actix::test]
async fn resources_for_which_there_is_no_memory_are_refused() {
    let app = app!(Arc::new(LargestFences::with_limit(1)));
    assert_eq!(call_service(&app, put(7, "9")).await.status(), 200);
    assert_eq!(told(call_service(&app, put(8, "9")).await).await.0, 503);
    assert_eq!(call_service(&app, put(7, "10")).await.status(), 200);
}
