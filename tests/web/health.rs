//! The health check of an application that needs locks.

use actix_web::{
    App,
    test::{TestRequest, call_service, init_service, read_body},
    web::get,
};
use leasehold::{Shutdown, web::health};

use super::site::{Site, told};
use support::virtual_time::{in_virtual_time, secs};

#[test]
fn an_application_is_ready_while_its_store_answers() {
    in_virtual_time(|| async {
        let site = Site::new();
        let app = App::new().app_data(site.data()).route("/health", get().to(health));
        let app = init_service(app).await;
        let check = || call_service(&app, TestRequest::get().uri("/health").to_request());

        site.world.store.fail_next(1);
        assert_eq!(told(check().await).await, (503, "unavailable".to_owned(), Some(1)));
        let ready = check().await;
        assert_eq!(ready.status(), 200);
        let alone = "ready\nlocks are in the memory of this process, and exclude nobody outside of it\n";
        assert_eq!(read_body(ready).await, alone);
        site.locks.send(Shutdown { drain: secs(0) }).await.unwrap();
        assert_eq!(told(check().await).await, (503, "shutting_down".to_owned(), Some(1)));
    });
}
