//! The cost of one turn (an uncontended acquire and release) in allocations and in changes of thread.
//!
//! A program of its own, because counting allocations costs time. Figures are of this process, its threads together: the
//! caller, the manager's arbiter, and the connection. They depend on the code and hardly on the machine, except for changes
//! of thread, which two idle processors save.

#[allow(dead_code, reason = "the benchmark has more use for a server")]
#[path = "../server.rs"]
mod server;

use std::{alloc::System, error::Error, fs, sync::Arc, time::Duration};

use leasehold::{Acquire, LockManager, RedisStore};
use redis::{Client, Script, aio::MultiplexedConnection};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use self::server::Server;

/// Whatever stops a measurement.
type Failure = Box<dyn Error + Send + Sync>;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const WARM_UP: u32 = 2_000;
const TURNS: u32 = 20_000;
const TTL: Duration = Duration::from_secs(30);

const RELEASE: &str = "\
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0";

#[actix::main]
async fn main() -> Result<(), Failure> {
    let server = Server::start()?;
    println!("| What | Allocations a turn | Bytes a turn | Changes of thread a turn |");
    println!("|---|---:|---:|---:|");
    let store = || Ok::<_, Failure>(LockManager::builder(Arc::new(RedisStore::open(&server.url())?)));
    let managers = [("leasehold", store()?.start()?), ("leasehold, `start_here`", store()?.start_here()?)];
    for (name, locks) in managers {
        measure(name, async || {
            let lease = locks.send(Acquire::new("turn").ttl(TTL)).await??;
            lease.release().await?;
            Ok(())
        })
        .await?;
    }
    let connection = Client::open(server.url())?.get_multiplexed_async_connection().await?;
    let release = Script::new(RELEASE);
    measure("raw redis-rs", async || raw(connection.clone(), &release).await).await
}

async fn raw(mut connection: MultiplexedConnection, release: &Script) -> Result<(), Failure> {
    let token = format!("{:032x}", rand::random::<u128>());
    let mut set = redis::cmd("SET");
    set.arg("raw").arg(&token).arg("NX").arg("PX").arg(TTL.as_millis() as u64);
    let done: Option<String> = set.query_async(&mut connection).await?;
    done.ok_or("somebody holds it")?;
    let released: u32 = release.key("raw").arg(token).invoke_async(&mut connection).await?;
    if released == 1 { Ok(()) } else { Err("it was not held".into()) }
}

async fn measure(name: &str, turn: impl AsyncFn() -> Result<(), Failure>) -> Result<(), Failure> {
    for _ in 0..WARM_UP {
        turn().await?;
    }
    let (region, changes) = (Region::new(ALLOCATOR), changes_of_thread()?);
    for _ in 0..TURNS {
        turn().await?;
    }
    let (spent, changes) = (region.change(), changes_of_thread()?.saturating_sub(changes));
    let each = |count: f64| count / f64::from(TURNS);
    println!(
        "| {name} | {:.1} | {:.0} | {:.1} |",
        each((spent.allocations + spent.reallocations) as f64),
        each(spent.bytes_allocated as f64),
        each(changes as f64),
    );
    Ok(())
}

/// The number of times that a thread of this process gave its processor up, because it had nothing to do.
fn changes_of_thread() -> Result<u64, Failure> {
    let mut changes = 0;
    for thread in fs::read_dir("/proc/self/task")? {
        let status = fs::read_to_string(thread?.path().join("status"))?;
        let told = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        changes += told.ok_or("the system does not count changes of thread")?.trim().parse::<u64>()?;
    }
    Ok(changes)
}
