//! A web application that never takes the money for an order twice: one lock an order, and books that remember.
//!
//! ```console
//! cargo run --example web_orders -- --listen 127.0.0.1:8080
//! ```
//!
//! and in another terminal, twice within three seconds, and once more later:
//!
//! ```console
//! curl -i -X POST http://127.0.0.1:8080/orders/42/pay
//! curl -i http://127.0.0.1:8080/locks
//! ```
//!
//! The second payment is answered `423 Locked`, with `Retry-After`; the third with the receipt of the first. What was paid
//! is answered as paid, also when the store of the locks has gone away meanwhile. Where locks live stands in `config.toml`;
//! `LEASEHOLD_STORE_URL=redis://127.0.0.1:6379` overrides it.

#[path = "../common/mod.rs"]
mod common;
mod ledger;
mod problem;

use std::{error::Error, time::Duration};

use actix::Addr;
use actix_web::{
    App, HttpResponse, HttpServer, get, post,
    web::{Data, Path},
};
use clap::Parser;
use leasehold::{Acquire, Fence, Inspect, Lease, List, LockManager, Shutdown};
use serde_json::json;

use crate::{
    common::Common,
    ledger::{Ledger, Receipt, Stale},
    problem::Problem,
};

/// A web application that never takes the money for an order twice.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    common: Common,
    /// The address to listen at.
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: String,
    /// How long a payment takes.
    #[arg(long, default_value = "3s", value_parser = humantime::parse_duration)]
    payment: Duration,
    /// How long an order stays locked after its process died.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    ttl: Duration,
    /// How long payments may take to finish when the server is stopped.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    drain: Duration,
}

/// What all workers of the server share.
struct Shop {
    locks: Addr<LockManager>,
    ledger: Ledger,
    payment: Duration,
    ttl: Duration,
}

/// A receipt, and whether it is of an earlier payment.
struct Paid {
    receipt: Receipt,
    already: bool,
}

impl Shop {
    /// Moves the money, unless it was moved before. The books have the last word, not the lock.
    async fn take_payment(&self, order: u64, fence: u64) -> Result<Paid, Stale> {
        if let Some(receipt) = self.ledger.enter(order, fence)? {
            return Ok(Paid { receipt, already: true });
        }
        tokio::time::sleep(self.payment).await;
        Ok(Paid { receipt: self.ledger.book(order, fence)?, already: false })
    }
}

#[post("/orders/{id}/pay")]
async fn pay(order: Path<u64>, shop: Data<Shop>) -> Result<HttpResponse, Problem> {
    let order = *order;
    if let Some(receipt) = shop.ledger.receipt(order) {
        return Ok(answer(&Paid { receipt, already: true }));
    }
    let ask = Acquire::new(format!("orders/{order}")).purpose("takes a payment").ttl(shop.ttl);
    let lease = shop.locks.send(ask).await??;
    let fence = lease.fence().map_or(0, Fence::get);
    let paid = lease.run(shop.take_payment(order, fence)).await;
    release(lease).await;
    match paid {
        Ok(Ok(paid)) => Ok(answer(&paid)),
        Ok(Err(Stale)) => Err(Problem::Unknown("somebody else has taken over the order".to_owned())),
        Err(lost) => Err(Problem::Unknown(lost.to_string())),
    }
}

/// Gives the lease back. What was done under it is done: that the store does not answer changes nothing about it, and
/// the lease ends at the latest with its TTL.
async fn release(lease: Lease) {
    let resource = lease.resource().clone();
    if let Err(error) = lease.release().await {
        tracing::warn!(%resource, %error, "the lock is not released yet");
    }
}

fn answer(Paid { receipt, already }: &Paid) -> HttpResponse {
    HttpResponse::Ok().json(json!({
        "order": receipt.order,
        "paid": true,
        "already_paid": already,
        "receipt": receipt.number,
        "fence": receipt.fence,
    }))
}

/// Who holds what, one order a line.
#[get("/locks")]
async fn held(shop: Data<Shop>) -> Result<String, Problem> {
    let mut page = String::new();
    for resource in shop.locks.send(List::new("orders/")).await??.resources {
        for holder in shop.locks.send(Inspect::new(resource.as_bytes())).await??.holders {
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
    let locks = args.common.start()?;
    let shop = Shop { locks: locks.clone(), ledger: Ledger::default(), payment: args.payment, ttl: args.ttl };
    let shop = Data::new(shop);
    let app = move || App::new().app_data(shop.clone()).service(pay).service(held);
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
