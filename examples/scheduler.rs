//! A scheduler that ticks in one process of many, and goes on in another one however that process ends.
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

use actix::{Actor, AsyncContext};
use clap::Parser;
use leasehold::{
    Acquire, Fence,
    election::{Singleton, SingletonContext},
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
    /// The pause between two ticks.
    #[arg(long, default_value = "200ms", value_parser = humantime::parse_duration)]
    every: Duration,
    /// How soon another one goes on after one that died.
    #[arg(long, default_value = "2s", value_parser = humantime::parse_duration)]
    ttl: Duration,
}

struct Scheduler {
    every: Duration,
}

impl Actor for Scheduler {
    type Context = SingletonContext<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let fence = ctx.lease().fence().map_or(0, Fence::get);
        println!("elected (pid {}, fence {fence})", process::id());
        ctx.run_interval(self.every, move |_, _| println!("tick (pid {}, fence {fence})", process::id()));
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        println!("not elected any more (pid {})", process::id());
    }
}

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    common::log();
    let args = Args::parse();
    let locks = args.common.start()?;
    let ask = Acquire::new("scheduler").purpose("ticks").ttl(args.ttl);
    Singleton::start(&locks, ask, move || Scheduler { every: args.every })?;
    common::run_until_stopped(&locks, args.runs_for, args.ttl).await
}
