//! The health check of an application that needs locks.

use actix::Addr;
use actix_web::{HttpResponse, web::Data};

use super::errors::AsProblem;
use crate::{
    manager::{LockManager, with_lock::WithLockError},
    request::{Ready, queries::IsLocal},
};

/// The answer of a manager whose store is in memory.
const ALONE: &str = "ready\nlocks are in the memory of this process, and exclude nobody outside of it\n";

/// Answers whether the locks can be had: 200 if the manager is [`Ready`], else 503 with a problem document.
///
/// It is a handler: `route("/health", get().to(health))`, with `app_data(Data::new(locks))`. It is a readiness check: a
/// server that is not ready should get no requests, and need not be restarted. A second line says so if the locks are in
/// the memory of this process, and exclude nobody else.
pub async fn health(locks: Data<Addr<LockManager>>) -> HttpResponse {
    match ready(&locks).await {
        Ok(is_local) => {
            let body = if is_local { ALONE } else { "ready\n" };
            HttpResponse::Ok().content_type("text/plain; charset=utf-8").body(body)
        }
        Err(error) => {
            tracing::debug!(%error, "not ready");
            error.problem().of_health().response(&error)
        }
    }
}

/// Returns true if the locks are those of this process alone.
async fn ready(locks: &Addr<LockManager>) -> Result<bool, WithLockError> {
    locks.send(Ready).await??;
    Ok(locks.send(IsLocal).await?)
}
