//! Overload: five times as many requests as the server can serve, and a server that stands still for two seconds.
//!
//! Nobody may lose a lease, wait long for a free lock, or take ever more memory, and all is quiet when the load ends. A lease
//! with a TTL of two seconds cannot outlive a server that does not answer for two seconds: those are judged before it stands
//! still and after it goes on, and leases of five seconds all the time.

mod load;

use std::{
    cell::Cell,
    fmt, fs,
    rc::Rc,
    time::{Duration, Instant},
};

use leasehold::{Acquire, Config, Lease, Shutdown, Stats};
use tokio::time::sleep;

use self::load::{KINDS, Kind, Load};
use crate::{Failure, server::Server};

/// The load, as a multiple of what the server can do.
const TIMES: f64 = 5.0;
/// The wait of each request.
const WAIT: Duration = Duration::from_millis(50);
const LEASES: usize = 20;
const SHORT: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_secs(5);
const STANDS_STILL: Duration = Duration::from_secs(2);
/// The time after a standstill in which nothing is judged but the long leases.
const AFTERWARDS: Duration = Duration::from_secs(1);
const PROBE_EVERY: Duration = Duration::from_millis(25);

/// The bounds.
const FREE_LOCK_WITHIN: Duration = Duration::from_millis(250);
/// The part of the load after which memory has to be flat, and the growth that is noise.
const FLAT_AFTER: u32 = 6;
const MOST_GROWTH_KB: u64 = 24 * 1_024;
/// The largest number of calls that the server sees in a quiet second: renewals alone.
const QUIET: u64 = 100;

/// The result of one kind.
struct Outcome {
    kind: Kind,
    capacity: f64,
    offered: f64,
    lost: (usize, usize),
    free_lock: Duration,
    slowest: Duration,
    failed: usize,
    error: Option<String>,
    memory_kb: (u64, u64),
    quiet: (usize, u64),
}

/// Puts each kind of load on a server for this long. If `only` has names, other kinds are left out. Returns a table, and true
/// if all bounds were kept.
pub(crate) fn measure(length: Duration, only: &[String]) -> Result<(String, bool), Failure> {
    let mut table = format!(
        "{:10}{:>12}{:>12}{:>11}{:>10}{:>14}{:>10}{:>8}{:>16}{:>10}{:>8}\n",
        "kind",
        "served/s",
        "asked/s",
        "lost 2 s",
        "lost 5 s",
        "free p99",
        "max",
        "failed",
        "memory MB",
        "pending",
        "calls"
    );
    let mut kept = true;
    let is_wanted =
        |kind: &Kind| only.is_empty() || only.iter().any(|name| kind.name().contains(name.as_str()));
    for kind in KINDS.into_iter().filter(is_wanted) {
        let outcome = actix_rt::System::new().block_on(overload(kind, length))?;
        eprintln!("{outcome}");
        if let Some(error) = &outcome.error {
            eprintln!("  the last failure: {error}");
        }
        table += &format!("{outcome}\n");
        kept &= outcome.is_kept();
    }
    Ok((table, kept))
}

impl Outcome {
    fn is_kept(&self) -> bool {
        let Self { lost, free_lock, failed, memory_kb: (early, late), quiet: (pending, calls), .. } = self;
        *lost == (0, 0)
            && *free_lock <= FREE_LOCK_WITHIN
            && *failed == 0
            && *late <= early + MOST_GROWTH_KB
            && *pending == 0
            && *calls <= QUIET
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, capacity, offered, lost, free_lock, slowest, failed, memory_kb, quiet, .. } = self;
        let memory = format!("{} -> {}", memory_kb.0 / 1_024, memory_kb.1 / 1_024);
        write!(
            f,
            "{:10}{capacity:>12.0}{offered:>12.0}{:>11}{:>10}{free_lock:>14.1?}{slowest:>10.1?}{failed:>8}{memory:>16}{:>10}{:>8}{}",
            kind.name(),
            lost.0,
            lost.1,
            quiet.0,
            quiet.1,
            if self.is_kept() { "" } else { "  MISSED" }
        )
    }
}

fn lost(leases: &[Lease]) -> usize {
    LEASES - leases.iter().filter(|lease| lease.is_valid()).count()
}

async fn overload(kind: Kind, length: Duration) -> Result<Outcome, Failure> {
    let mut server = Server::start()?;
    let config = format!("[store]\nurl = \"{}\"\n", server.url());
    let load = Load {
        locks: Config::from_toml(&config)?.start()?,
        kind,
        on: Rc::new(Cell::new(true)),
        ended: Rc::default(),
    };
    let _held = load.locks.send(Acquire::new("held").ttl(Duration::from_secs(600))).await??;
    // As many as the server serves.
    let first = load.start(256, Duration::ZERO)?;
    let capacity = load.ended_a_second((length / 10).min(Duration::from_secs(2))).await;
    load.on.set(false);
    first.stop().await;
    sleep(Duration::from_millis(500)).await;

    let load = Load { on: Rc::new(Cell::new(true)), ..load };
    let (long, short) = (load.keep("long", LONG).await?, load.keep("short", SHORT).await?);
    let callers = if kind.waits() { (TIMES * capacity * WAIT.as_secs_f64()) as usize } else { 0 };
    let started = load.start(callers.max(kind.fewest()), WAIT)?;
    let probes = Probes::start(&load);
    let (ended, began) = (load.ended.get(), Instant::now());
    sleep(length / FLAT_AFTER).await;
    let early = memory_kb()?;
    sleep(length / 2 - length / FLAT_AFTER).await;

    let mut lost_short = lost(&short);
    probes.judged.set(false);
    server.stop();
    sleep(STANDS_STILL).await;
    server.go_on();
    drop(short);
    sleep(AFTERWARDS).await;
    probes.judged.set(true);
    let short = load.keep("short again", SHORT).await?;

    sleep((length / 2).saturating_sub(STANDS_STILL + AFTERWARDS)).await;
    let offered = (load.ended.get() - ended) as f64 / began.elapsed().as_secs_f64();
    let late = memory_kb()?;
    load.on.set(false);
    started.stop().await;
    sleep(Duration::from_secs(1)).await;
    let calls = server.calls()?;
    let pending = load.locks.send(Stats).await?.pending;
    sleep(Duration::from_secs(1)).await;
    let calls = server.calls()? - calls;
    lost_short += lost(&short);
    let outcome = Outcome {
        kind,
        capacity,
        offered,
        lost: (lost_short, lost(&long)),
        free_lock: probes.at(0.99),
        slowest: probes.at(1.0),
        failed: probes.failed.get(),
        error: probes.error.take(),
        memory_kb: (early, late),
        quiet: (usize::try_from(pending)?, calls),
    };
    load.locks.send(Shutdown { drain: Duration::ZERO }).await?;
    Ok(outcome)
}

/// Requests for locks that are free, and how long each took.
struct Probes {
    judged: Rc<Cell<bool>>,
    failed: Rc<Cell<usize>>,
    /// The last failure.
    error: Rc<Cell<Option<String>>>,
    took: Rc<std::cell::RefCell<Vec<Duration>>>,
}

impl Probes {
    fn start(load: &Load) -> Self {
        let probes = Self {
            judged: Rc::new(Cell::new(true)),
            failed: Rc::default(),
            error: Rc::default(),
            took: Rc::default(),
        };
        let (judged, failed, took) =
            (Rc::clone(&probes.judged), Rc::clone(&probes.failed), Rc::clone(&probes.took));
        let (locks, on, error) = (load.locks.clone(), Rc::clone(&load.on), Rc::clone(&probes.error));
        actix_rt::spawn(async move {
            for number in 0.. {
                if !on.get() {
                    return;
                }
                let (asked, was_judged) = (Instant::now(), judged.get());
                let granted = locks.send(Acquire::new(format!("free/{number}")).wait(LONG)).await;
                if was_judged && judged.get() {
                    took.borrow_mut().push(asked.elapsed());
                    if let Ok(Err(reason)) = &granted {
                        failed.set(failed.get() + 1);
                        error.set(Some(reason.to_string()));
                    }
                }
                drop(granted);
                sleep(PROBE_EVERY).await;
            }
        });
        probes
    }

    /// Returns the time within which this part of the requests was granted.
    fn at(&self, part: f64) -> Duration {
        let mut took = self.took.borrow().clone();
        took.sort_unstable();
        let last = took.len().saturating_sub(1);
        took.get((last as f64 * part).round() as usize).copied().unwrap_or(Duration::MAX)
    }
}

/// Returns the memory of this process that is in use.
fn memory_kb() -> Result<u64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number =
        line.and_then(|line| line.split_whitespace().next()).ok_or("no memory in /proc/self/status")?;
    Ok(number.parse()?)
}
