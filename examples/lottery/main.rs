//! A lottery that is drawn exactly once, however many instances start it.
//!
//! In one process, with locks in its memory:
//!
//! ```console
//! cargo run --example lottery
//! ```
//!
//! As eight processes that share a Redis server:
//!
//! ```console
//! cargo run --example lottery -- --store redis://127.0.0.1:6379 --instances 8 --out winners.txt
//! ```
//!
//! With `--think 5s` there is time to `kill -9` the process that was elected: another one draws within one TTL, with a
//! larger fence. The same with `kill -STOP`; whoever wakes up later is turned away. If the server goes away, the instances
//! wait for it, each up to `--give-up-after`. The program fails if nothing was drawn.

#[path = "../common/mod.rs"]
mod common;
mod instance;
mod results;

use std::{
    env,
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::Parser;
use futures_util::future::{join_all, try_join_all};
use leasehold::{LockManager, MemoryStore, Settings};
use tokio::process::{Child, Command};

use crate::{common::Common, instance::Instance, results::Results};

/// A lottery that is drawn exactly once.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    common: Common,
    /// How many instances compete.
    #[arg(long, default_value_t = 4)]
    instances: u32,
    #[command(flatten)]
    draw: Draw,
    /// The file of winners, one a line. Without it they are only printed.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Be this one instance: what the processes are started with.
    #[arg(long, hide = true, requires = "out")]
    instance: Option<u32>,
}

/// The draw itself.
#[derive(Clone, Debug, clap::Args)]
struct Draw {
    /// How many take part, with the numbers from 1.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    entrants: u32,
    /// How many of them win.
    #[arg(long, default_value_t = 10)]
    winners: u32,
    /// How long the draw takes.
    #[arg(long, default_value = "500ms", value_parser = humantime::parse_duration)]
    think: Duration,
    /// How soon another instance takes over from one that died.
    #[arg(long, default_value = "2s", value_parser = humantime::parse_duration)]
    ttl: Duration,
    /// How long an instance goes on asking a store that does not answer.
    #[arg(long, default_value = "30s", value_parser = humantime::parse_duration)]
    give_up_after: Duration,
}

impl Draw {
    async fn winners(&self) -> Vec<u32> {
        tokio::time::sleep(self.think).await;
        let (entrants, winners) = (self.entrants as usize, self.winners.min(self.entrants) as usize);
        let drawn = rand::seq::index::sample(&mut rand::rng(), entrants, winners);
        drawn.into_iter().map(|index| index as u32 + 1).collect()
    }
}

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    common::log();
    let args = Args::parse();
    if let (Some(number), Some(out)) = (args.instance, &args.out) {
        let locks = args.common.start()?;
        return Instance(number).run(locks, &args.draw, &Results::new(out)).await;
    }
    let scratch = tempfile::tempdir()?;
    let out = args.out.clone().unwrap_or_else(|| scratch.path().join("winners"));
    let config = args.common.config()?;
    if config.store.url.is_memory() {
        compete_in_this_process(&args, config.settings(), &Results::new(&out)).await?;
    } else {
        compete_as_processes(&args, &out).await?;
    }
    let winners = match fs::read_to_string(&out) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err("nothing was drawn".into()),
        winners => winners?,
    };
    println!("the winners: {}", winners.lines().collect::<Vec<_>>().join(", "));
    Ok(())
}

/// Every instance has a lock manager of its own, as if it were a process of its own. They share one store in memory.
async fn compete_in_this_process(
    args: &Args,
    settings: Settings,
    results: &Results,
) -> Result<(), Box<dyn Error>> {
    println!(
        "the locks are in the memory of this process; --store redis://127.0.0.1:6379 has processes compete"
    );
    let store = Arc::new(MemoryStore::default());
    let instances = (1..=args.instances).map(async |number| {
        let locks = LockManager::builder(store.clone()).settings(settings.clone()).start()?;
        Instance(number).run(locks, &args.draw, results).await
    });
    try_join_all(instances).await?;
    Ok(())
}

/// Every instance is this program once more.
async fn compete_as_processes(args: &Args, out: &Path) -> Result<(), Box<dyn Error>> {
    let mut children = Vec::new();
    for number in 1..=args.instances {
        let mut command = Command::new(env::current_exe()?);
        command.args(env::args_os().skip(1)).arg("--instance").arg(number.to_string()).kill_on_drop(true);
        if args.out.is_none() {
            command.arg("--out").arg(out);
        }
        let child = command.spawn()?;
        println!("instance {number} starts, pid {}", child.id().unwrap_or_default());
        children.push(child);
    }
    let pids: Vec<String> = children.iter().filter_map(Child::id).map(|pid| pid.to_string()).collect();
    let all_end = join_all(children.iter_mut().map(Child::wait));
    tokio::pin!(all_end);
    let ends = tokio::select! {
        ends = &mut all_end => ends,
        stopped = common::asked_to_stop() => {
            stopped?;
            // Ctrl-C reaches them all; a signal to this process alone has to be passed on.
            Command::new("kill").arg("-TERM").args(&pids).status().await?;
            all_end.await
        }
    };
    for (number, end) in (1..).zip(ends) {
        let end: std::process::ExitStatus = end?;
        if !end.success() {
            println!("instance {number} ended early: {end}");
        }
    }
    Ok(())
}
