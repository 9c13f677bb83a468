//! Locks in an actix-web application: errors as responses, a lock for a handler or a scope, health, and shutdown.
//!
//! ```
//! use std::time::Duration;
//!
//! use actix::Addr;
//! use actix_web::{App, Error, HttpRequest, HttpServer, error::ErrorBadRequest, web::{Data, get, post}};
//! use leasehold::{
//!     Acquire, LockManager,
//!     web::{LockKey, Locked, Locks, health, serve},
//! };
//!
//! /// One lock an order.
//! struct Order;
//!
//! impl LockKey for Order {
//!     fn lock(request: &HttpRequest) -> Result<Acquire, Error> {
//!         let id: u64 = request.match_info().load().map_err(ErrorBadRequest)?;
//!         Ok(Acquire::new(format!("orders/{id}")).wait(Duration::from_secs(2)))
//!     }
//! }
//!
//! /// Runs while the lock of the order is held, until the response has been sent.
//! async fn pay(lock: Locked<Order>) -> String {
//!     format!("paid, with fence {:?}", lock.fence())
//! }
//!
//! # #[allow(dead_code)]
//! async fn run(locks: Addr<LockManager>) -> std::io::Result<()> {
//!     let data = Data::new(locks.clone());
//!     let app = move || {
//!         App::new()
//!             .app_data(data.clone())
//!             .wrap(Locks::new())
//!             .route("/orders/{id}/pay", post().to(pay))
//!             .route("/health", get().to(health))
//!     };
//!     serve(HttpServer::new(app).bind("127.0.0.1:8080")?, locks).await?;
//!     Ok(())
//! }
//! ```
//!
//! # Errors as responses
//! Every error of a lock is an [`actix_web::ResponseError`], so that `?` works in a handler. The body is a problem document
//! ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457), `application/problem+json`). Its text is fixed for each kind: it
//! tells no token, no host, no address and nothing that a holder said about itself.
//!
//! | Error | Status | `kind` | `Retry-After` |
//! |---|---|---|---|
//! | the lock is held | 423 | `held` | the [expected wait](crate::AcquireError::Held::expected_wait), else when the holder would end; 1 to 60 s |
//! | the queue is full, the manager is busy | 429 | `busy` | 1 s |
//! | the store does not serve, or its answer is unknown | 503 | `unavailable` | 1 s |
//! | the manager shuts down, or is gone | 503 | `shutting_down` | 1 s |
//! | a fenced write failed: its outcome is unknown | 503 | `outcome_unknown` | none |
//! | the lease was lost on the way: the outcome is unknown | 503 | `outcome_unknown` | none |
//! | a lock that is [not held](crate::NotHeldError::NotHere) around the code that asks | 500 | `internal` | none |
//! | a token that holds nothing | 409 | `not_holder` | none |
//! | a fence that is stale: nothing was done | 412 | `stale_fence` | none |
//! | an invalid name of a resource, owner or token, an invalid fence | 400 | `invalid` | none |
//! | another invalid value, or a store that can never grant this | 500 | `internal` | none |
//!
//! Names, owners, tokens and [fences](crate::fenced::parse_header) are often made of what the client sent, so a wrong one is the
//! client's mistake. All other values are the program's. A response with 500 is logged with its error. An outcome that is unknown
//! has no `Retry-After`, because only the application knows whether it can be repeated.

mod errors;
mod holdings;
mod middleware;
mod per_worker;
mod problem;
mod serve;
#[cfg(test)]
mod tests;

pub use self::{
    errors::AsProblem,
    middleware::{LockKey, Locked, Locks},
    per_worker::PerWorker,
    problem::Problem,
    serve::{health, serve},
};
