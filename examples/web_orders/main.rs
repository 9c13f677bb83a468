//! A web application that never takes the money for an order twice: one lock an order, and a ledger that remembers.
//!
//! ```console
//! cargo run -p leasehold-tests --example web_orders -- --listen 127.0.0.1:8080
//! ```
//!
//! and in another terminal, twice within three seconds, and once more later:
//!
//! ```console
//! curl -i -X POST http://127.0.0.1:8080/orders/42/pay
//! curl -i http://127.0.0.1:8080/locks
//! curl -i http://127.0.0.1:8080/health
//! ```
//!
//! The second payment is answered `423 Locked`, with `Retry-After`; the third with the receipt of the first. What was paid
//! is answered as paid, also when the store of the locks has gone away meanwhile. Where locks live stands in `config.toml`;
//! `LEASEHOLD_STORE_URL=redis://127.0.0.1:6379` overrides it. With `--ledger orders.sqlite` several of these processes serve one
//! shop. With `--per-worker` each worker of the server has a lock manager of its own.

#[path = "../common/mod.rs"]
mod common;
mod ledger;

use std::{error::Error, future::ready, path::PathBuf, time::Duration};

use actix::Addr;
use actix_web::{
    App, HttpServer, Result,
    error::ErrorServiceUnavailable,
    post,
    web::{self, Data, Json, Path},
};
use clap::Parser;
use leasehold::{
    Acquire, Fence, Inspect, List, LockManager, WithLock, WithLockError,
    web::{PerWorker, health, serve},
};

use crate::{
    common::Common,
    ledger::{Ledger, Receipt},
};

/// A web application that never takes the money for an order twice.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    common: Common,
    /// The address to listen at.
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: String,
    /// The SQLite file of the ledger; by default it is forgotten when the process ends.
    #[arg(long, default_value = ":memory:")]
    ledger: PathBuf,
    /// How long a payment takes.
    #[arg(long, default_value = "3s", value_parser = humantime::parse_duration)]
    payment: Duration,
    /// How long an order stays locked after its process died.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    ttl: Duration,
    /// How long payments may take to finish when the server is stopped.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    drain: Duration,
    /// Start a lock manager in each worker of the server, instead of one for all.
    #[arg(long)]
    per_worker: bool,
}

/// The lock managers of the server.
#[derive(Clone)]
enum Managers {
    One(Addr<LockManager>),
    PerWorker(PerWorker),
}

/// The state that all workers of the server share, beside the locks.
struct Shop {
    ledger: Ledger,
    payment: Duration,
    ttl: Duration,
}

impl Shop {
    /// Moves the money, unless it was moved before. The ledger has the last word, not the lock.
    async fn take_payment(&self, order: i64, fence: Fence) -> Result<Receipt, Box<dyn Error>> {
        if let Some(receipt) = self.ledger.enter(order, fence)? {
            return Ok(receipt);
        }
        tokio::time::sleep(self.payment).await;
        self.ledger.book(order, fence)
    }
}

#[post("/orders/{id}/pay")]
async fn pay(order: Path<i64>, shop: Data<Shop>, locks: Data<Addr<LockManager>>) -> Result<Json<Receipt>> {
    if let Some(receipt) = shop.ledger.receipt(*order).map_err(unknown)? {
        return Ok(Json(receipt));
    }
    let ask = Acquire::new(format!("orders/{order}")).purpose("takes a payment").ttl(shop.ttl);
    let take = async |fence| shop.take_payment(*order, fence).await;
    let done = locks.with_lock(ask, async |lease| take(lease.fence().unwrap_or(Fence::new(0))).await).await?;
    // What was done under the lock is done, whatever has become of its release.
    done.value.map(Json).map_err(unknown)
}

fn unknown(error: Box<dyn Error>) -> actix_web::Error {
    tracing::warn!(error, "a payment failed");
    ErrorServiceUnavailable("the outcome is unknown; ask again")
}

/// Lists the locked orders and their holders, one a line. Such a page is for operators: it tells more than the problem documents do.
async fn held(locks: Data<Addr<LockManager>>) -> Result<String> {
    let mut page = String::new();
    for resource in locks.send(List::new("orders/")).await.map_err(WithLockError::from)??.resources {
        let inspected =
            locks.send(Inspect::new(resource.as_bytes())).await.map_err(WithLockError::from)??;
        for holder in inspected.holders {
            let purpose = holder.metadata.get("purpose").map_or("", String::as_str);
            page += &format!("{resource}  {purpose}  for another {:?}\n", holder.remaining);
        }
    }
    Ok(page)
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    common::log();
    let args = Args::parse();
    let managers = if args.per_worker {
        let config = args.common.config()?;
        config.check()?;
        Managers::PerWorker(PerWorker::new(move || config.start_here()).drain(args.drain))
    } else {
        Managers::One(args.common.start()?)
    };
    let ledger = Ledger::open(&args.ledger)?;
    let shop = Data::new(Shop { ledger, payment: args.payment, ttl: args.ttl });
    let locks = managers.clone();
    let app = move || {
        let app = match &locks {
            Managers::One(locks) => App::new().app_data(Data::new(locks.clone())),
            Managers::PerWorker(locks) => {
                let locks = locks.clone();
                App::new().data_factory(move || ready(locks.here()))
            }
        };
        app.app_data(shop.clone())
            .service(pay)
            .route("/locks", web::get().to(held))
            .route("/health", web::get().to(health))
    };
    let server = HttpServer::new(app).workers(2).shutdown_timeout(args.drain.as_secs());
    let server = server.bind(&args.listen)?;
    for address in server.addrs() {
        println!("listening at http://{address}");
    }
    let drained = match managers {
        Managers::One(locks) => serve(server, locks).await?,
        Managers::PerWorker(locks) => locks.serve(server).await?,
    };
    println!("stopped; locks taken away: {}", drained.revoked);
    Ok(())
}
