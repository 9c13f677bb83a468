//! The guard of a service that others write to under a lock.

use std::sync::Arc;

use actix_web::{
    App,
    dev::ServiceRequest,
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

/// The order that a path names; nothing is changed by `/orders/list`.
fn order(request: &ServiceRequest) -> Option<String> {
    request.match_info().get("id").filter(|id| *id != "list").map(|id| format!("orders/{id}"))
}

macro_rules! app {
    ($fences:expr) => {
        init_service(
            App::new().service(
                web::scope("/orders/{id}")
                    .wrap(FenceGuard::new($fences, order))
                    .route("", web::put().to(save))
                    .route("", web::get().to(read)),
            ),
        )
        .await
    };
}

fn put(id: u64, fence: &str) -> actix_http::Request {
    TestRequest::put().uri(&format!("/orders/{id}")).insert_header((HEADER, fence)).to_request()
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
    let none = TestRequest::put().uri("/orders/7").to_request();
    assert_eq!(told(call_service(&app, none).await).await, (428, "fence_required".to_owned(), None));
    for wrong in ["", "-1", "ten", "\u{fc}"] {
        let answer = told(call_service(&app, put(7, wrong)).await).await;
        assert_eq!(answer, (400, "invalid".to_owned(), None), "{wrong}");
    }
    let list = TestRequest::get().uri("/orders/list").to_request();
    assert_eq!(call_service(&app, list).await.status(), 200);
}
