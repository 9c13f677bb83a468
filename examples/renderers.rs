//! Workers in many processes, each with a number of its own: that of its GPU, for instance.
//!
//! ```console
//! cargo run --example renderers
//! cargo run --example renderers -- --store redis://127.0.0.1:6379 --workers 3
//! leasehold capacity gpus 6 --store redis://127.0.0.1:6379
//! ```
//!
//! The first command needs no server: six workers are in one process, and share four GPUs. Start the second one in several
//! terminals: their workers share the four. The last one gives them two more, without a restart.

mod common;

use std::{error::Error, time::Duration};

use actix::Addr;
use clap::Parser;
use leasehold::{Acquire, LockManager};

/// Renders frames on GPUs that many processes share.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    common: common::Common,
    /// The time for which the program runs.
    #[arg(long = "for", default_value = "10s", value_parser = humantime::parse_duration)]
    runs_for: Duration,
    /// The number of workers of this process.
    #[arg(long, default_value_t = 6)]
    workers: u32,
    /// The time that a frame takes.
    #[arg(long, default_value = "500ms", value_parser = humantime::parse_duration)]
    frame: Duration,
}

/// Renders one frame after the other, each on the GPU of the lowest number that is free in the whole fleet.
async fn render(locks: Addr<LockManager>, worker: u32, frame: Duration) -> Result<(), Box<dyn Error>> {
    let ask = Acquire::new("gpus").permits(1, 4).wait(Duration::from_secs(60));
    loop {
        let lease = locks.send(ask.clone()).await??;
        let gpu = lease.slot().ok_or("this store has no numbers: use one server, Sentinel or Cluster")?;
        println!("worker {worker} renders on GPU {gpu} (pid {})", std::process::id());
        lease.run(tokio::time::sleep(frame)).await?; // the frame
        lease.release().await?;
    }
}

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    common::log();
    let args = Args::parse();
    let locks = args.common.start()?;
    for worker in 1..=args.workers {
        let work = render(locks.clone(), worker, args.frame);
        actix::spawn(async move { work.await.unwrap_or_else(|error| eprintln!("worker {worker}: {error}")) });
    }
    common::run_until_stopped(&locks, args.runs_for, args.frame).await
}
