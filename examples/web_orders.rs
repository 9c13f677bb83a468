//! A web application that never takes the money for an order twice: one lock an order.
//!
//! ```console
//! cargo run --example web_orders -- --listen 127.0.0.1:8080
//! ```
//!
//! and in another terminal, twice within three seconds:
//!
//! ```console
//! curl -i -X POST http://127.0.0.1:8080/orders/42/pay
//! curl -i http://127.0.0.1:8080/locks
//! ```
//!
//! The second payment is answered `423 Locked`, with `Retry-After`. Where locks live stands in `config.toml`;
//! `LEASEHOLD_STORE_URL=redis://127.0.0.1:6379` overrides it.

mod common;

use std::{error::Error, fmt, path::PathBuf, time::Duration};

use actix::{Addr, MailboxError};
use actix_web::{
    App, HttpResponse, HttpServer, ResponseError, get,
    http::{StatusCode, header::RETRY_AFTER},
    post,
    web::{Data, Path},
};
use clap::Parser;
use leasehold::{
    Acquire, AcquireError, Inspect, InspectError, LeaseLost, List, LockManager, ReleaseError, Shutdown,
    config::Config,
};
use serde_json::json;

/// A web application that never takes the money for an order twice.
#[derive(Debug, Parser)]
struct Args {
    /// The address to listen at.
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: String,
    /// The configuration of the locks.
    #[arg(long, default_value = "config.toml")]
    config: PathBuf,
    /// How long a payment takes.
    #[arg(long, default_value = "3s", value_parser = humantime::parse_duration)]
    payment: Duration,
    /// How long payments may take to finish when the server is stopped.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    drain: Duration,
}

/// How long an order stays locked after its process died.
const TTL: Duration = Duration::from_secs(10);

/// How long a payment takes.
struct Payment(Duration);

#[post("/orders/{id}/pay")]
async fn pay(
    id: Path<u64>,
    locks: Data<Addr<LockManager>>,
    payment: Data<Payment>,
) -> Result<HttpResponse, Problem> {
    let ask = Acquire::new(format!("orders/{id}")).purpose("takes a payment").ttl(TTL);
    let lease = locks.send(ask).await??;
    let fence = lease.fence().map(|fence| fence.get());
    // What books the payment should refuse a fence that is smaller than one it has seen.
    lease.run(tokio::time::sleep(payment.0)).await?;
    lease.release().await?;
    Ok(HttpResponse::Ok().json(json!({ "order": *id, "paid": true, "fence": fence })))
}

/// Who holds what, one order a line.
#[get("/locks")]
async fn held(locks: Data<Addr<LockManager>>) -> Result<String, Problem> {
    let mut page = String::new();
    for resource in locks.send(List::new("orders/")).await??.resources {
        for holder in locks.send(Inspect::new(resource.as_bytes())).await??.holders {
            let purpose = holder.metadata.get("purpose").map_or("", String::as_str);
            page += &format!("{resource}  {purpose}  for another {:?}\n", holder.remaining);
        }
    }
    Ok(page)
}

/// Why a request was not served.
#[derive(Debug)]
enum Problem {
    /// Somebody else works on the order.
    Held { by: String, retry_after: u64 },
    /// There is no certain answer at the moment.
    Unavailable(String),
    /// The order may be half paid: it lost its lock on the way.
    Lost(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held { by, .. } => write!(f, "the order is locked by somebody who {by}"),
            Self::Unavailable(why) | Self::Lost(why) => f.write_str(why),
        }
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Held { .. } => StatusCode::LOCKED,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Lost(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        if let Self::Held { retry_after, .. } = self {
            response.insert_header((RETRY_AFTER, *retry_after));
        }
        response.json(json!({ "error": self.to_string() }))
    }
}

impl From<AcquireError> for Problem {
    fn from(error: AcquireError) -> Self {
        match error {
            AcquireError::Held { by, remaining, .. } => {
                let by = by.metadata.get("purpose").cloned().unwrap_or_else(|| by.token.to_string());
                // It may be free earlier; by then the holder has renewed, or is gone.
                Self::Held { by, retry_after: remaining.as_secs() + 1 }
            }
            other => Self::Unavailable(other.to_string()),
        }
    }
}

impl From<InspectError> for Problem {
    fn from(error: InspectError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<MailboxError> for Problem {
    fn from(_: MailboxError) -> Self {
        Self::Unavailable("the server is being stopped".to_owned())
    }
}

impl From<LeaseLost> for Problem {
    fn from(lost: LeaseLost) -> Self {
        Self::Lost(lost.to_string())
    }
}

impl From<ReleaseError> for Problem {
    fn from(error: ReleaseError) -> Self {
        Self::Lost(error.to_string())
    }
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    common::log();
    let args = Args::parse();
    let locks = Config::from_file(&args.config)?.start()?;
    let (shared, payment) = (Data::new(locks.clone()), Data::new(Payment(args.payment)));
    let app =
        move || App::new().app_data(shared.clone()).app_data(payment.clone()).service(pay).service(held);
    // With signals handled by the server, actix would stop the lock manager together with it, leases and all.
    let server = HttpServer::new(app).workers(2).disable_signals().shutdown_timeout(args.drain.as_secs());
    let server = server.bind(&args.listen)?;
    for address in server.addrs() {
        println!("listening at http://{address}");
    }
    let server = server.run();
    let handle = server.handle();
    let stop = async {
        common::asked_to_stop().await?;
        // Requests that are being served are answered first.
        handle.stop(true).await;
        Ok(())
    };
    tokio::try_join!(server, stop)?;
    let drained = locks.send(Shutdown { drain: Duration::ZERO }).await?;
    println!("stopped; locks taken away: {}", drained.revoked);
    Ok(())
}
