//! A job that one process begins and another one ends, under one lock that goes with it as a ticket.
//!
//! ```console
//! cargo run --example hand_over
//! cargo run --example hand_over -- --store redis://127.0.0.1:6379 begin > job
//! cargo run --example hand_over -- --store redis://127.0.0.1:6379 end < job
//! ```
//!
//! The first command needs no server: both parts are in one process. Start the second and the third within half a minute, and look
//! meanwhile with `leasehold show reports/7`: the lock is held, also while no process runs. The job has the token of the lock, so
//! keep it as secret as a password.

mod common;

use std::{error::Error, io, time::Duration};

use actix::Addr;
use clap::Parser;
use leasehold::{Acquire, Adopt, LeaseTicket, LockManager, Shutdown};

/// Begins a job under a lock, ends it under the same lock, or both.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    common: common::Common,
    /// `begin` prints the job, and `end` reads it from the standard input [default: both]
    part: Option<String>,
}

/// A request: acquires the lock, and returns the job with its ticket.
async fn begin(locks: &Addr<LockManager>) -> Result<String, Box<dyn Error>> {
    let lease = locks.send(Acquire::new("reports/7")).await??;
    eprintln!("begun, with fence {:?}", lease.fence());
    Ok(serde_json::to_string(&lease.into_ticket().await?)?)
}

/// A worker: goes on under the lock of the job, for as long as it takes, and releases it.
async fn end(locks: &Addr<LockManager>, job: &str) -> Result<(), Box<dyn Error>> {
    let ticket: LeaseTicket = serde_json::from_str(job)?;
    let lease = locks.send(Adopt(ticket)).await??;
    lease.run(tokio::time::sleep(Duration::from_secs(1))).await?;
    println!("ended, with fence {:?}", lease.fence());
    lease.release().await?;
    Ok(())
}

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    common::log();
    let args = Args::parse();
    let locks = args.common.start()?;
    match args.part.as_deref() {
        Some("begin") => println!("{}", begin(&locks).await?),
        Some("end") => end(&locks, &io::read_to_string(io::stdin())?).await?,
        _ => end(&locks, &begin(&locks).await?).await?,
    }
    locks.send(Shutdown { drain: Duration::ZERO }).await?;
    Ok(())
}
