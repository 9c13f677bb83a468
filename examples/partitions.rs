//! Keys in shares: each has one actor in the whole fleet, which counts what it was sent.
//!
//! ```console
//! cargo run --example partitions
//! cargo run --example partitions -- --store redis://127.0.0.1:6379 --name host-1 --members 1 --for 1m
//! ```
//!
//! The first command needs no server: three members are in one process. The last one joins after a third of the time, and
//! leaves after two thirds. Start the second command in several terminals, each with a name of its own, and kill one of them.

mod common;

use std::{error::Error, time::Duration};

use actix::{Actor, Addr, Handler, Message};
use clap::Parser;
use leasehold::{
    Acquire, LockManager,
    election::{Candidacy, SingletonContext},
    partitions::{Partitions, Place},
};

/// Shares keys with other processes, and shows who has how many.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    common: common::Common,
    /// The time for which the program runs.
    #[arg(long = "for", default_value = "12s", value_parser = humantime::parse_duration)]
    runs_for: Duration,
    /// The beginning of the names of its members.
    #[arg(long, default_value = "host")]
    name: String,
    /// The number of its members.
    #[arg(long, default_value_t = 3)]
    members: u32,
    /// The number of partitions, on which all processes have to agree.
    #[arg(long, default_value_t = 64)]
    partitions: u32,
}

/// The actor of a partition. Its count is lost when the partition moves: what must not be is in a store.
#[derive(Default)]
struct Counter {
    count: u32,
}

impl Actor for Counter {
    type Context = SingletonContext<Self>;
}

/// Counts a key of its partition.
#[derive(Message)]
#[rtype(result = "u32")]
struct Count;

impl Handler<Count> for Counter {
    type Result = u32;

    fn handle(&mut self, _: Count, _: &mut Self::Context) -> u32 {
        self.count += 1;
        self.count
    }
}

fn join(locks: &Addr<LockManager>, args: &Args, number: u32) -> Result<Partitions<Counter>, Box<dyn Error>> {
    let ask = Candidacy::from(Acquire::new("counters").ttl(Duration::from_secs(3)));
    let name = format!("{}-{number}", args.name);
    println!("{name} joins");
    Ok(Partitions::start(locks, ask, args.partitions, name.as_str(), |_| Counter::default())?)
}

/// Sends a key to its actor, if that is in this process.
async fn count(counters: &Partitions<Counter>, key: &str) -> String {
    match counters.of(key).await {
        Ok(Place::Here(counter)) => match counter.send(Count).await {
            Ok(count) => format!("{key} was counted {count} times here"),
            Err(moved) => format!("{key} has just moved: {moved}"),
        },
        Ok(Place::There(member)) => format!("{key} is counted by {}", member.name),
        Ok(Place::Nobody) => format!("{key} is on its way"),
        Err(error) => format!("{key}: {error}"),
    }
}

/// Shows who has what, and lets one join and leave on the way.
async fn show(locks: &Addr<LockManager>, args: &Args) -> Result<(), Box<dyn Error>> {
    let alone = args.members == 1;
    let first = (1..args.members.max(2)).map(|number| join(locks, args, number));
    let mut members = first.collect::<Result<Vec<_>, _>>()?;
    let turns = u32::try_from(args.runs_for.as_secs())?.max(3);
    for turn in 1..=turns {
        tokio::time::sleep(args.runs_for / turns).await;
        let shares: Vec<_> = members.iter().map(|member| member.owned().len().to_string()).collect();
        println!("partitions: {}; {}", shares.join(", "), count(&members[0], "customer/7").await);
        if turn == turns / 3 && !alone {
            members.push(join(locks, args, args.members)?);
        }
        if turn == 2 * turns / 3 && !alone {
            println!("the last one leaves");
            members[members.len() - 1].drain().await;
        }
    }
    Ok(())
}

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    common::log();
    let args = Args::parse();
    let locks = args.common.start()?;
    tokio::select! {
        shown = show(&locks, &args) => shown?,
        stopped = common::asked_to_stop() => stopped?,
    }
    common::run_until_stopped(&locks, Duration::ZERO, Duration::from_secs(3)).await
}
