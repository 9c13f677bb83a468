//! What it costs a quorum of five servers when two of them are down: killed, or stopped where they stand; and what it costs
//! beside a client that asks five servers by hand and takes the third answer.
//!
//! Measured in one process on the stores themselves, turn by turn, so that whatever else the machine does meets all of
//! them alike.

use std::{
    cell::RefCell,
    fmt::Write,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, future::join_all, stream::FuturesUnordered};
use hdrhistogram::Histogram;
use leasehold::{
    Mode, QuorumOptions, QuorumStore, RedisStore, ResourceName, StoreError, Token,
    store::{Acquired, Acquisition, Hold, QuorumNode, Released, Store},
};

use crate::{Failure, server::Server, workloads::TTL};

const SERVERS: usize = 5;
const DOWN: usize = 2;
const CALLERS: [usize; 2] = [1, 16];
/// How long each is measured before it is the next one's turn.
const SLICE: Duration = Duration::from_millis(100);

/// One thing that is measured.
struct Subject {
    name: &'static str,
    load: Load,
    /// The servers behind it.
    _servers: Vec<Server>,
    latencies: RefCell<Histogram<u64>>,
    turns: RefCell<u64>,
    failures: RefCell<u64>,
    measured: Duration,
}

/// What a turn is made on.
enum Load {
    /// One store.
    Store(Arc<dyn Store>),
    /// Five stores at the same time, by hand: the third answer is the one that counts, and the others are waited for in the
    /// background.
    ThirdOf(Vec<Arc<dyn QuorumNode>>),
}

/// What was found of one.
struct Found {
    name: &'static str,
    turns_a_second: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    longest: f64,
    failures: u64,
}

/// Measures for so long each, and answers a table for each number of callers.
pub(crate) fn measure(length: Duration) -> Result<String, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut text = String::new();
    for callers in CALLERS {
        let found = runtime.block_on(compare(callers, length))?;
        text += &table(callers, &found)?;
    }
    Ok(text)
}

/// What happens to a server.
type Fault = fn(&mut Server);

async fn compare(callers: usize, length: Duration) -> Result<Vec<Found>, Failure> {
    let mut subjects = Vec::new();
    let mut ones = Vec::new();
    for name in ["one 1", "one 2", "one 3", "one 4", "one 5"] {
        let server = Server::start()?;
        let beside = single(&server)?;
        // Connected by now, so that a late acquisition is not executed after its release.
        beside.incarnation().await?;
        ones.push(beside);
        subjects.push(Subject::new(name, Load::Store(single(&server)?), vec![server])?);
    }
    subjects.push(Subject::new("third of five by hand", Load::ThirdOf(ones), Vec::new())?);
    let faults: [(&str, Fault); 3] =
        [("five up", |_| ()), ("two killed", Server::kill), ("two stopped", Server::stop)];
    for (name, fault) in faults {
        let mut servers = (0..SERVERS).map(|_| Server::start()).collect::<Result<Vec<_>, _>>()?;
        let nodes = servers
            .iter()
            .map(|server| Ok((server.url(), single(server)?)))
            .collect::<Result<Vec<_>, Failure>>()?;
        let options = QuorumOptions { fresh_start: true, ..QuorumOptions::default() };
        let load = Load::Store(Arc::new(QuorumStore::new(nodes.clone(), options)?));
        // A first start needs all of them, and all have been met before two are lost.
        while !all_count(&nodes).await? {
            run(&load, callers, SLICE, |_| {}).await;
        }
        servers[..DOWN].iter_mut().for_each(fault);
        subjects.push(Subject::new(name, load, servers)?);
    }
    for subject in &subjects {
        run(&subject.load, callers, SLICE, |_| {}).await;
    }
    for _ in 0..length.as_millis() / SLICE.as_millis() {
        for subject in &mut subjects {
            subject.measured += subject.measure(callers).await;
        }
    }
    Ok(subjects.iter().map(Subject::found).collect())
}

/// Asks all nodes whether they have written down that they have recovered.
pub(crate) async fn all_count(nodes: &[(String, Arc<dyn QuorumNode>)]) -> Result<bool, Failure> {
    let mut all = true;
    for (_, node) in nodes {
        let report = node.report().await?;
        all &= report.incarnation.has_recovered(report.recovered.as_ref());
    }
    Ok(all)
}

fn single(server: &Server) -> Result<Arc<dyn QuorumNode>, Failure> {
    Ok(Arc::new(RedisStore::open(&server.url())?))
}

impl Subject {
    fn new(name: &'static str, load: Load, servers: Vec<Server>) -> Result<Self, Failure> {
        let latencies = RefCell::new(Histogram::new(3)?);
        let (turns, failures) = (RefCell::new(0), RefCell::new(0));
        Ok(Self { name, load, _servers: servers, latencies, turns, failures, measured: Duration::ZERO })
    }

    async fn measure(&self, callers: usize) -> Duration {
        let started = Instant::now();
        run(&self.load, callers, SLICE, |latency| match latency {
            Some(latency) => {
                *self.turns.borrow_mut() += 1;
                // It grows with what it is given, so nothing is out of its range.
                let _ = self.latencies.borrow_mut().record(latency.as_nanos() as u64);
            }
            None => *self.failures.borrow_mut() += 1,
        })
        .await;
        started.elapsed()
    }

    fn found(&self) -> Found {
        let latencies = self.latencies.borrow();
        let micros = |nanos: u64| nanos as f64 / 1e3;
        Found {
            name: self.name,
            turns_a_second: *self.turns.borrow() as f64 / self.measured.as_secs_f64(),
            p50: micros(latencies.value_at_quantile(0.5)),
            p90: micros(latencies.value_at_quantile(0.9)),
            p99: micros(latencies.value_at_quantile(0.99)),
            longest: micros(latencies.max()),
            failures: *self.failures.borrow(),
        }
    }
}

/// Callers that acquire and release, each a resource of its own; each turn is told, with how long it took if it was one.
async fn run(load: &Load, callers: usize, length: Duration, told: impl Fn(Option<Duration>)) {
    let end = Instant::now() + length;
    let told = &told;
    join_all((0..callers).map(|caller| async move {
        while Instant::now() < end {
            let started = Instant::now();
            let done = turn(load, caller).await;
            told(done.then(|| started.elapsed()));
        }
    }))
    .await;
}

async fn turn(load: &Load, caller: usize) -> bool {
    let whose = if matches!(load, Load::ThirdOf(_)) { "by hand" } else { "store" };
    let Ok(resource) = ResourceName::new(format!("bench/quorum/{whose}/{caller}")) else {
        return false;
    };
    let asked = Acquisition {
        hold: Hold { resource, token: Token::from_bits(rand::random()), owner: None },
        mode: Mode::Exclusive,
        reentrant: false,
        ttl: TTL,
        lock_delay: Duration::ZERO,
        metadata: Arc::default(),
        ticket: None,
    };
    match load {
        Load::Store(store) => {
            let granted = is_granted(store.acquire(&asked).await);
            is_freed(store.release(&asked.hold, Duration::ZERO).await) && granted
        }
        Load::ThirdOf(stores) => {
            let asked = Arc::new(asked);
            let granted = third(stores, |store| {
                let asked = Arc::clone(&asked);
                async move { is_granted(store.acquire(&asked).await) }
            });
            let granted = granted.await;
            let freed = third(stores, |store| {
                let asked = Arc::clone(&asked);
                async move { is_freed(store.release(&asked.hold, Duration::ZERO).await) }
            });
            freed.await && granted
        }
    }
}

fn is_granted(answer: Result<Acquired, StoreError>) -> bool {
    matches!(answer, Ok(Acquired::Granted(_)))
}

fn is_freed(answer: Result<Released, StoreError>) -> bool {
    matches!(answer, Ok(Released::Freed))
}

/// Asks all of them, and waits until three have done it.
async fn third<Done>(stores: &[Arc<dyn QuorumNode>], ask: impl Fn(Arc<dyn QuorumNode>) -> Done) -> bool
where
    Done: Future<Output = bool> + Send + 'static,
{
    let mut calls: FuturesUnordered<_> = stores.iter().map(|store| ask(Arc::clone(store))).collect();
    let mut done = 0;
    while done < SERVERS - DOWN {
        match calls.next().await {
            Some(yes) => done += usize::from(yes),
            None => return false,
        }
    }
    tokio::spawn(async move { while calls.next().await.is_some() {} });
    true
}

fn table(callers: usize, found: &[Found]) -> Result<String, Failure> {
    let (ones, rest) = found.split_at(SERVERS);
    let one = ones.iter().map(|one| one.p50).sum::<f64>() / SERVERS as f64;
    let (by_hand, up) = (&rest[0], &rest[1]);
    let mut text = format!(
        "### quorum/{callers}: acquire and release on five servers, {callers} callers\n\n\
         | | turns/s | p50 µs | p90 µs | p99 µs | longest ms | p50, p90 × five up | p50, p90 × third of five by hand | \
         p50 × one | failures |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
    );
    for Found { name, turns_a_second, p50, p90, p99, longest, failures } in found {
        let longest = longest / 1e3;
        write!(text, "| {name} | {turns_a_second:.0} | {p50:.0} | {p90:.0} | {p99:.0} | {longest:.1} ")?;
        for base in [up, by_hand] {
            write!(text, "| {:.2}, {:.2} ", p50 / base.p50, p90 / base.p90)?;
        }
        writeln!(text, "| {:.2} | {failures} |", p50 / one)?;
    }
    text.push('\n');
    Ok(text)
}
