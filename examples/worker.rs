//! A long-running worker, one in the whole fleet, that stops when its lease is lost and starts again.
//!
//! ```console
//! cargo run --example worker -- --for 10s
//! ```
//!
//! After its fifth report this worker hangs (`--hang-after`), as a worker in an endless loop would. It promised to report
//! in once a second (`heartbeat`), so its lease is renewed no more, and another one can take over.
//!
//! With a Redis server, start it in two terminals and kill the one that works:
//!
//! ```console
//! cargo run --example worker -- --store redis://127.0.0.1:6379 --hang-after 1000 --for 10m
//! ```

mod common;

use std::{error::Error, process, rc::Rc, time::Duration};

use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, AsyncContext, Context, Handler, Message, Supervised,
    Supervisor, WrapFuture,
};
use clap::Parser;
use leasehold::{Acquire, Fence, Lease, LockManager, Shutdown};

use crate::common::Common;

const TTL: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(30);

/// A worker that runs only while it holds its lease.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    common: Common,
    /// How long the program runs.
    #[arg(long = "for", default_value = "10s", value_parser = humantime::parse_duration)]
    runs_for: Duration,
    /// How often the worker does a piece of work.
    #[arg(long, default_value = "500ms", value_parser = humantime::parse_duration)]
    every: Duration,
    /// How old its last report may be before it counts as hanging.
    #[arg(long, default_value = "1s", value_parser = humantime::parse_duration)]
    heartbeat: Duration,
    /// After how many pieces of work it hangs, once.
    #[arg(long, default_value_t = 5)]
    hang_after: u32,
}

/// Works while it holds its lease, and stops when it does not; the supervisor starts it again.
struct Worker {
    locks: Addr<LockManager>,
    every: Duration,
    heartbeat: Duration,
    hang_after: Option<u32>,
    hangs: bool,
    written: u32,
    lease: Option<Rc<Lease>>,
}

impl Actor for Worker {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        println!("the worker asks for its lease");
        let ask = Acquire::new("reports/nightly").purpose("writes reports").ttl(TTL).wait(PATIENCE);
        let ask = ask.heartbeat(self.heartbeat).bound_to(&ctx.address());
        ctx.spawn(self.locks.send(ask).into_actor(self).map(|answer, worker, ctx| match answer {
            Ok(Ok(lease)) => worker.work(lease, ctx),
            Ok(Err(error)) => worker.try_again(&error, ctx),
            Err(error) => worker.try_again(&error, ctx),
        }));
    }
}

impl Supervised for Worker {
    fn restarting(&mut self, _: &mut Self::Context) {
        // Dropping a lease gives it back.
        self.lease = None;
        self.hangs = false;
    }
}

impl Worker {
    fn try_again(&self, error: &dyn Error, ctx: &mut Context<Self>) {
        println!("the worker has no lease: {error}");
        ctx.run_later(self.every, |_, ctx| ctx.stop());
    }

    /// Works until the lease is lost: an actor that stops loses its timers, so nothing goes on after that.
    fn work(&mut self, lease: Lease, ctx: &mut Context<Self>) {
        let fence = lease.fence().map_or(0, Fence::get);
        println!("the worker works (pid {}, fence {fence})", process::id());
        let lease = Rc::new(lease);
        self.lease = Some(Rc::clone(&lease));
        ctx.run_interval(self.every, Self::write_a_report);
        let lost = async move { lease.lost().await };
        ctx.spawn(lost.into_actor(self).map(|reason, _, ctx| {
            println!("the worker stops: its lease is lost, {reason}");
            ctx.stop();
        }));
    }

    fn write_a_report(&mut self, _: &mut Context<Self>) {
        if self.hang_after.take_if(|after| *after == self.written).is_some() {
            println!("the worker hangs");
            self.hangs = true;
        }
        let Some(lease) = self.lease.as_ref().filter(|_| !self.hangs) else {
            return;
        };
        self.written += 1;
        println!("the worker has written report {}", self.written);
        lease.heartbeat();
    }
}

/// Asks the worker to end for good.
#[derive(Message)]
#[rtype(result = "()")]
struct Finish;

impl Handler<Finish> for Worker {
    type Result = ();

    fn handle(&mut self, _: Finish, ctx: &mut Self::Context) {
        println!("the worker is done");
        // Nobody has its address any more, so the supervisor lets it go.
        ctx.stop();
    }
}

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    common::log();
    let args = Args::parse();
    let locks = args.common.start()?;
    let worker = Worker {
        locks: locks.clone(),
        every: args.every,
        heartbeat: args.heartbeat,
        hang_after: Some(args.hang_after),
        hangs: false,
        written: 0,
        lease: None,
    };
    let worker = Supervisor::start(|_| worker);
    tokio::select! {
        () = tokio::time::sleep(args.runs_for) => {}
        stopped = common::asked_to_stop() => stopped?,
    }
    worker.do_send(Finish);
    drop(worker);
    let drained = locks.send(Shutdown { drain: TTL }).await?;
    println!("given back: {}, taken away: {}", drained.finished, drained.revoked);
    Ok(())
}
