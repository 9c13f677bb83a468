//! A long-running worker, one in the whole fleet, that ends when its lease is lost, and is started again however it ended.
//!
//! ```console
//! cargo run --example worker -- --for 15s
//! ```
//!
//! After its fifth report this worker hangs (`--hang-after`), as a worker in an endless loop would. It promised to report
//! in once a second (`heartbeat`), so its lease is renewed no more, and another one can take over. After its tenth report
//! it panics (`--panic-after`). `actix::Supervisor` does not start an actor again that has panicked; here whoever started
//! the worker hears of its end by a link, and starts another one.
//!
//! With a Redis server, start it in two terminals and kill the one that works:
//!
//! ```console
//! cargo run --example worker -- --store redis://127.0.0.1:6379 --hang-after 1000 --panic-after 1000 --for 10m
//! ```

mod common;

use std::{cell::Cell, convert::Infallible, error::Error, process, rc::Rc, time::Duration};

use actix::{Actor, ActorContext, ActorFutureExt, Addr, AsyncContext, Context, WrapFuture};
use clap::Parser;
use leasehold::{Acquire, Fence, Lease, LockManager, Shutdown};
use tokio::sync::oneshot;

use crate::common::Common;

const TTL: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(30);

/// The pause before a worker is started again; doubled with each one in a row that has written nothing.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A worker that runs only while it holds its lease.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    common: Common,
    /// How long the program runs.
    #[arg(long = "for", default_value = "15s", value_parser = humantime::parse_duration)]
    runs_for: Duration,
    #[command(flatten)]
    habits: Habits,
}

/// How a worker behaves.
#[derive(Clone, Debug, clap::Args)]
struct Habits {
    /// How often the worker does a piece of work.
    #[arg(long, default_value = "500ms", value_parser = humantime::parse_duration)]
    every: Duration,
    /// How old its last report may be before it counts as hanging.
    #[arg(long, default_value = "1s", value_parser = humantime::parse_duration)]
    heartbeat: Duration,
    /// After how many pieces of work it hangs, once.
    #[arg(long, default_value_t = 5)]
    hang_after: u32,
    /// After how many pieces of work it panics, once.
    #[arg(long, default_value_t = 10)]
    panic_after: u32,
}

/// What survives a worker: it lies outside of it.
#[derive(Debug, Default)]
struct Work {
    written: Cell<u32>,
    has_hung: Cell<bool>,
    has_panicked: Cell<bool>,
}

/// Works while it holds its lease, and ends when it does not.
struct Worker {
    locks: Addr<LockManager>,
    habits: Habits,
    work: Rc<Work>,
    link: Option<Link>,
    lease: Option<Lease>,
    hangs: bool,
}

/// The worker's end of a link to whoever started it. It is dropped with the worker, however that ends, which tells the
/// other end; and if the other end is dropped, the worker is no longer wanted.
type Link = oneshot::Sender<Infallible>;

/// Starts a worker, and another one whenever it has ended, until this is dropped.
async fn keep_working(locks: &Addr<LockManager>, habits: &Habits) -> Infallible {
    let work = Rc::new(Work::default());
    let mut pause = PAUSE;
    loop {
        let (link, end) = oneshot::channel();
        let written = work.written.get();
        let (locks, habits, work) = (locks.clone(), habits.clone(), Rc::clone(&work));
        Worker { locks, habits, work: Rc::clone(&work), link: Some(link), lease: None, hangs: false }.start();
        match end.await {
            Ok(never) => return never,
            Err(_) => println!("the worker has ended; another one starts in {pause:?}"),
        }
        tokio::time::sleep(pause).await;
        pause = if work.written.get() > written { PAUSE } else { LONGEST_PAUSE.min(pause * 2) };
    }
}

impl Actor for Worker {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        if let Some(mut link) = self.link.take() {
            let unwanted = async move { link.closed().await };
            ctx.spawn(unwanted.into_actor(self).map(|(), _, ctx| {
                println!("the worker is done");
                ctx.stop();
            }));
        }
        println!("the worker asks for its lease");
        let ask = Acquire::new("reports/nightly").purpose("writes reports").ttl(TTL).wait(PATIENCE);
        let ask = ask.heartbeat(self.habits.heartbeat).bound_to(&ctx.address());
        ctx.spawn(self.locks.send(ask).into_actor(self).map(|answer, worker, ctx| match answer {
            Ok(Ok(lease)) => worker.work(lease, ctx),
            Ok(Err(error)) => give_up(&error, ctx),
            Err(error) => give_up(&error, ctx),
        }));
    }
}

fn give_up(error: &dyn Error, ctx: &mut Context<Worker>) {
    println!("the worker has no lease: {error}");
    ctx.stop();
}

impl Worker {
    /// Works until the lease is lost: an actor that stops loses its timers, so nothing goes on after that.
    fn work(&mut self, lease: Lease, ctx: &mut Context<Self>) {
        let fence = lease.fence().map_or(0, Fence::get);
        println!("the worker works (pid {}, fence {fence})", process::id());
        ctx.run_interval(self.habits.every, Self::write_a_report);
        ctx.spawn(lease.lost().into_actor(self).map(|reason, _, ctx| {
            println!("the worker stops: its lease is lost, {reason}");
            ctx.stop();
        }));
        self.lease = Some(lease);
    }

    fn write_a_report(&mut self, _: &mut Context<Self>) {
        let (work, written) = (&self.work, self.work.written.get());
        if written == self.habits.hang_after && !work.has_hung.replace(true) {
            println!("the worker hangs");
            self.hangs = true;
        }
        let Some(lease) = self.lease.as_ref().filter(|_| !self.hangs) else {
            return;
        };
        if written == self.habits.panic_after && !work.has_panicked.replace(true) {
            panic!("the worker panics, as it was told to");
        }
        work.written.set(written + 1);
        println!("the worker has written report {}", written + 1);
        lease.heartbeat();
    }
}

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    common::log();
    let args = Args::parse();
    let locks = args.common.start()?;
    tokio::select! {
        never = keep_working(&locks, &args.habits) => match never {},
        () = tokio::time::sleep(args.runs_for) => {}
        stopped = common::asked_to_stop() => stopped?,
    }
    let drained = locks.send(Shutdown { drain: TTL }).await?;
    println!("released: {}, taken away: {}", drained.finished, drained.revoked);
    Ok(())
}
