//! The shop of `web_orders` in axum: plain tokio, and the locks in a thread that has an actix system of its own.
//!
//! ```console
//! cargo run -p leasehold-tests --example axum_orders -- --listen 127.0.0.1:8080
//! curl -i -X POST http://127.0.0.1:8080/orders/42/pay
//! ```
//!
//! A payment waits until the one before it is done, and then gets its receipt. Where locks live stands in `config.toml`;
//! `--store redis://127.0.0.1:6379` overrides it. With `--ledger orders.sqlite` several of these processes serve one shop.

#[path = "../common/mod.rs"]
mod common;
#[path = "../web_orders/ledger.rs"]
mod ledger;

use std::{error::Error, path::PathBuf, sync::Arc, time::Duration};

use actix::Addr;
use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::post,
};
use clap::Parser;
use leasehold::{Acquire, Fence, LockManager, WithLock, start_anywhere};
use tokio::net::TcpListener;

use crate::{
    common::Common,
    ledger::{Ledger, Receipt},
};

/// A web application of axum that never takes the money for an order twice.
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
    /// The time that a payment takes.
    #[arg(long, default_value = "1s", value_parser = humantime::parse_duration)]
    payment: Duration,
    /// The time that a payment waits for another one of the same order.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    wait: Duration,
    /// The time that payments have to finish when the server is stopped.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    drain: Duration,
}

/// The state that all handlers share. The address of the lock manager works in every thread of tokio.
#[derive(Clone)]
struct Shop {
    locks: Addr<LockManager>,
    ledger: Arc<Ledger>,
    payment: Duration,
    wait: Duration,
}

impl Shop {
    /// Moves the money, unless it was moved before. The ledger has the last word, not the lock.
    async fn take_payment(&self, order: i64, fence: Fence) -> Result<Receipt, Unknown> {
        if let Some(receipt) = self.ledger.enter(order, fence).map_err(unknown)? {
            return Ok(receipt);
        }
        tokio::time::sleep(self.payment).await;
        self.ledger.book(order, fence).map_err(unknown)
    }
}

async fn pay(State(shop): State<Shop>, Path(order): Path<i64>) -> Result<Json<Receipt>, Unknown> {
    if let Some(receipt) = shop.ledger.receipt(order).map_err(unknown)? {
        return Ok(Json(receipt));
    }
    let ask = Acquire::new(format!("orders/{order}")).purpose("takes a payment").wait(shop.wait);
    let take = async |fence| shop.take_payment(order, fence).await;
    let done = shop.locks.with_lock(ask, async |lease| take(lease.fence().unwrap_or(Fence::new(0))).await);
    // What was done under the lock is done, whatever has become of its release.
    done.await.map_err(unknown)?.value.map(Json)
}

/// The answer if the outcome is unknown, or nothing was done: ask again.
type Unknown = (StatusCode, String);

fn unknown(error: impl Into<Box<dyn Error>>) -> Unknown {
    (StatusCode::SERVICE_UNAVAILABLE, error.into().to_string())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    common::log();
    let Args { common, listen, ledger, payment, wait, drain } = Args::parse();
    let config = common.config()?;
    let manager = start_anywhere(move || config.start_here())?.drain(drain);
    let shop = Shop { locks: manager.locks(), ledger: Arc::new(Ledger::open(&ledger)?), payment, wait };
    let app = Router::new().route("/orders/{id}/pay", post(pay)).with_state(shop);
    let listener = TcpListener::bind(listen).await?;
    println!("listening at http://{}", listener.local_addr()?);
    let stopped = async { common::asked_to_stop().await.expect("signals can be heard") };
    axum::serve(listener, app).with_graceful_shutdown(stopped).await?;
    println!("stopped; locks taken away: {}", manager.shutdown().await?.revoked);
    Ok(())
}
