//! A scheduler of which each tick runs at most once in a fleet, in one process of many, however that process ends.
//!
//! ```console
//! cargo run --example scheduler -- --for 5s
//! ```
//!
//! With a Redis server, start it in several terminals. Stop the one that ticks with Ctrl-C or SIGTERM, and the next one
//! goes on at once, without a tick that is left out. After a `kill -9` or `kill -STOP` it goes on within one TTL:
//!
//! ```console
//! cargo run --example scheduler -- --store redis://127.0.0.1:6379
//! ```

mod common;

use std::{error::Error, process, time::Duration};

use clap::Parser;
use leasehold::{
    Fence,
    schedule::{Misfire, Schedule, Tick},
};

use crate::common::Common;

/// A scheduler of which one ticks.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    common: Common,
    /// How long the program runs.
    #[arg(long = "for", default_value = "10m", value_parser = humantime::parse_duration)]
    runs_for: Duration,
    /// The time between two ticks.
    #[arg(long, default_value = "200ms", value_parser = humantime::parse_duration)]
    every: Duration,
    /// How soon another one goes on after one that died.
    #[arg(long, default_value = "2s", value_parser = humantime::parse_duration)]
    ttl: Duration,
}

async fn work(tick: Tick) {
    let fence = tick.fence.map_or(0, Fence::get);
    println!("tick (pid {}, fence {fence}) number {}", process::id(), tick.number);
}

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    common::log();
    let args = Args::parse();
    let locks = args.common.start()?;
    Schedule::every(args.every).named("ticks").ttl(args.ttl).misfire(Misfire::Once).start(&locks, work)?;
    common::run_until_stopped(&locks, args.runs_for, args.ttl).await
}
