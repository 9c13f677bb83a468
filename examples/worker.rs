//! A long-running worker, one in the whole fleet, that is started again when it hangs or panics.
//!
//! ```console
//! cargo run --example worker -- --for 15s
//! ```
//!
//! It hangs over its fifth report and panics over its tenth: another one takes over. Kill one of two with `--store redis://…`.

mod common;

use std::{cell::Cell, error::Error, future::pending, process, rc::Rc, time::Duration};

use actix::{Actor, AsyncContext, WrapFuture};
use clap::Parser;
use leasehold::election::{Singleton, SingletonContext};

/// A worker that runs only while it leads.
#[derive(Clone, Debug, Parser)]
struct Args {
    #[command(flatten)]
    common: common::Common,
    /// How long the program runs.
    #[arg(long = "for", default_value = "15s", value_parser = humantime::parse_duration)]
    runs_for: Duration,
    /// How often the worker does a piece of work.
    #[arg(long, default_value = "500ms", value_parser = humantime::parse_duration)]
    every: Duration,
    /// How old its last report may be before it counts as hanging.
    #[arg(long, default_value = "1s", value_parser = humantime::parse_duration)]
    heartbeat: Duration,
    /// The report over which it hangs.
    #[arg(long, default_value_t = 5)]
    hang_at: u32,
    /// The report over which it panics.
    #[arg(long, default_value_t = 10)]
    panic_at: u32,
}

/// One life of the worker. The number of the report that it has begun last survives it: it lies outside.
struct Worker {
    args: Args,
    begun: Rc<Cell<u32>>,
}

impl Actor for Worker {
    type Context = SingletonContext<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let fence = ctx.lease().fence().map_or(0, |fence| fence.get());
        println!("the worker works (pid {}, fence {fence})", process::id());
        ctx.run_interval(self.args.every, |worker, ctx| {
            worker.write_a_report(ctx);
            ctx.lease().heartbeat();
        });
    }
}

impl Worker {
    fn write_a_report(&mut self, ctx: &mut SingletonContext<Self>) {
        let report = self.begun.replace(self.begun.get() + 1) + 1;
        assert_ne!(report, self.args.panic_at, "the worker panics, as it was told to");
        if report == self.args.hang_at {
            return ctx.wait(pending().into_actor(self));
        }
        println!("the worker has written report {report}");
        let told = ctx.lease().describe([("report", report.to_string())]);
        told.unwrap_or_else(|error| eprintln!("its progress is not shown: {error}"));
    }
}

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    common::log();
    let args = Args::parse();
    let (locks, runs_for, ttl) = (args.common.start()?, args.runs_for, Duration::from_secs(2));
    let ask = leasehold::Acquire::new("reports/nightly").ttl(ttl).heartbeat(args.heartbeat);
    let begun = Rc::default();
    Singleton::start(&locks, ask, move || Worker { args: args.clone(), begun: Rc::clone(&begun) })?;
    common::run_until_stopped(&locks, runs_for, ttl).await
}
