//! The end of a lock: when the response has been sent, and what becomes of a body whose lock is lost.

use std::{cell::RefCell, rc::Rc};

use actix_web::{
    App, Error, HttpResponse,
    body::{MessageBody, to_bytes},
    test::{TestRequest, call_service, init_service},
    web::{self, Bytes, get},
};
use futures_util::{StreamExt, stream};
use leasehold::web::{Locked, Locks};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::{Instant, sleep},
};

use super::site::{Item, Site, TTL};
use support::virtual_time::{in_virtual_time, secs};

/// The chunks of the body to come, which the test sends.
type Chunks = Rc<RefCell<Option<UnboundedReceiver<&'static str>>>>;

async fn streamed(_lock: Locked<Item>, chunks: web::ThinData<Chunks>) -> HttpResponse {
    let chunks = chunks.borrow_mut().take().unwrap();
    let body = stream::unfold(chunks, async |mut chunks| Some((chunks.recv().await?, chunks)));
    HttpResponse::Ok().streaming(body.map(|chunk| Ok::<_, Error>(Bytes::from(chunk))).boxed_local())
}

async fn whole(_lock: Locked<Item>) -> &'static str {
    "all of it"
}

macro_rules! app {
    ($site:expr, $chunks:expr) => {
        init_service(
            App::new()
                .app_data($site.data())
                .app_data(web::ThinData($chunks))
                .wrap(Locks::new())
                .route("/streamed/{id}", get().to(streamed))
                .route("/whole/{id}", get().to(whole)),
        )
        .await
    };
}

fn chunks() -> (UnboundedSender<&'static str>, Chunks) {
    let (sender, receiver) = unbounded_channel();
    (sender, Rc::new(RefCell::new(Some(receiver))))
}

fn request(path: &str) -> actix_http::Request {
    TestRequest::get().uri(path).to_request()
}

#[test]
fn a_lock_is_held_until_the_body_has_been_sent() {
    in_virtual_time(|| async {
        let (site, (sender, chunks)) = (Site::new(), chunks());
        let app = app!(site, chunks);
        let response = call_service(&app, request("/streamed/1")).await;
        assert!(!site.is_free("1").await, "the handler has returned, and its body is still to come");
        sender.send("one, ").unwrap();
        sender.send("two").unwrap();
        drop(sender);
        assert_eq!(actix_web::test::read_body(response).await, "one, two");
        assert!(site.is_free("1").await);
    });
}

#[test]
fn a_whole_body_is_sent_under_the_lock_too() {
    in_virtual_time(|| async {
        let (site, (_sender, chunks)) = (Site::new(), chunks());
        let app = app!(site, chunks);
        let response = call_service(&app, request("/whole/1")).await;
        assert!(!site.is_free("1").await);
        assert_eq!(response.response().body().size(), actix_web::body::BodySize::Sized(9));
        assert_eq!(actix_web::test::read_body(response).await, "all of it");
        assert!(site.is_free("1").await);
    });
}

#[test]
fn a_response_that_nobody_reads_releases_the_lock() {
    in_virtual_time(|| async {
        let (site, (_sender, chunks)) = (Site::new(), chunks());
        let app = app!(site, chunks);
        drop(call_service(&app, request("/streamed/1")).await);
        assert!(site.is_free("1").await);
    });
}

#[test]
fn a_body_that_is_still_being_made_is_cut_off_when_the_lock_is_lost() {
    in_virtual_time(|| async {
        let (site, (sender, chunks)) = (Site::new(), chunks());
        let (app, start) = (app!(site, chunks), Instant::now());
        let response = call_service(&app, request("/streamed/1")).await;
        sender.send("one, ").unwrap();
        // In a task of its own, which runs only when it is woken.
        let error = actix_rt::spawn(to_bytes(response.into_body())).await.unwrap().unwrap_err();
        let error: Box<dyn std::error::Error> = error.into();
        assert!(error.to_string().contains("the lease of items/1 was lost"), "{error}");
        assert!(start.elapsed() < TTL && sender.is_closed());
    });
}

#[test]
fn a_body_that_was_complete_is_sent_when_the_lock_is_lost() {
    in_virtual_time(|| async {
        let (site, (_sender, chunks)) = (Site::new(), chunks());
        let app = app!(site, chunks);
        let response = call_service(&app, request("/whole/1")).await;
        sleep(TTL + secs(1)).await;
        assert!(site.is_free("1").await, "it is lost");
        assert_eq!(actix_web::test::read_body(response).await, "all of it");
    });
}
