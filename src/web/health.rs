//! The health check of an application that needs locks.

use actix::Addr;
use actix_web::{HttpResponse, web::Data};

use super::errors::AsProblem;
use crate::{
    manager::LockManager,
    request::{AcquireError, Ready},
    with_lock::WithLockError,
};

/// Answers whether the locks can be had: 200 if the manager is [`Ready`], else 503 with a problem document.
///
/// It is a handler: `route("/health", get().to(health))`, with `app_data(Data::new(locks))`. It is a readiness check: a
/// server that is not ready should get no requests, and need not be restarted.
pub async fn health(locks: Data<Addr<LockManager>>) -> HttpResponse {
    match ready(&locks).await {
        Ok(()) => HttpResponse::Ok().content_type("text/plain; charset=utf-8").body("ready\n"),
        Err(error) => {
            tracing::debug!(%error, "not ready");
            error.problem().of_health().response(&error)
        }
    }
}

async fn ready(locks: &Addr<LockManager>) -> Result<(), WithLockError> {
    let ready: Result<(), AcquireError> = locks.send(Ready).await?;
    Ok(ready?)
}
