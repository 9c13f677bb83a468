//! What it costs a quorum of five servers when two of them are down: killed, or stopped where they stand.
//!
//! Measured in one process on the stores themselves, turn by turn, so that whatever else the machine does meets all of
//! them alike.

use std::{
    cell::RefCell,
    fmt::Write,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use hdrhistogram::Histogram;
use leasehold::{
    ResourceName,
    protocol::{Mode, Token},
    store::{Acquired, Acquisition, Hold, QuorumOptions, QuorumStore, RedisStore, Released, Store},
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
    store: Arc<dyn Store>,
    /// The servers behind it.
    _servers: Vec<Server>,
    latencies: RefCell<Histogram<u64>>,
    turns: RefCell<u64>,
    failures: RefCell<u64>,
    measured: Duration,
}

/// What was found of one.
struct Found {
    name: &'static str,
    turns_a_second: f64,
    p50: f64,
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

async fn compare(callers: usize, length: Duration) -> Result<Vec<Found>, Failure> {
    let mut subjects = Vec::new();
    for number in 0..SERVERS {
        const NAMES: [&str; SERVERS] = ["one 1", "one 2", "one 3", "one 4", "one 5"];
        let server = Server::start()?;
        subjects.push(Subject::new(NAMES[number], single(&server)?, vec![server])?);
    }
    let faults: [(&str, fn(&mut Server) -> Result<(), Failure>); 3] =
        [("five up", |_| Ok(())), ("two killed", Server::kill), ("two stopped", Server::stop)];
    for (name, fault) in faults {
        let mut servers = (0..SERVERS).map(|_| Server::start()).collect::<Result<Vec<_>, _>>()?;
        let nodes = servers
            .iter()
            .map(|server| Ok((server.url(), single(server)?)))
            .collect::<Result<Vec<_>, Failure>>()?;
        let options = QuorumOptions { fresh_start: true, ..QuorumOptions::default() };
        let store = Arc::new(QuorumStore::new(nodes, options)?);
        // All of them have been met before two are lost.
        run(&*store, callers, SLICE, |_| {}).await;
        servers[..DOWN].iter_mut().try_for_each(fault)?;
        subjects.push(Subject::new(name, store, servers)?);
    }
    for subject in &subjects {
        run(&*subject.store, callers, SLICE, |_| {}).await;
    }
    for _ in 0..length.as_millis() / SLICE.as_millis() {
        for subject in &mut subjects {
            subject.measured += subject.measure(callers).await;
        }
    }
    Ok(subjects.iter().map(Subject::found).collect())
}

fn single(server: &Server) -> Result<Arc<dyn Store>, Failure> {
    Ok(Arc::new(RedisStore::open(&server.url())?))
}

impl Subject {
    fn new(name: &'static str, store: Arc<dyn Store>, servers: Vec<Server>) -> Result<Self, Failure> {
        let latencies = RefCell::new(Histogram::new(3)?);
        let (turns, failures) = (RefCell::new(0), RefCell::new(0));
        Ok(Self { name, store, _servers: servers, latencies, turns, failures, measured: Duration::ZERO })
    }

    async fn measure(&self, callers: usize) -> Duration {
        let started = Instant::now();
        run(&*self.store, callers, SLICE, |latency| match latency {
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
            p99: micros(latencies.value_at_quantile(0.99)),
            longest: micros(latencies.max()),
            failures: *self.failures.borrow(),
        }
    }
}

/// Callers that acquire and release, each a resource of its own; each turn is told, with how long it took if it was one.
async fn run(store: &dyn Store, callers: usize, length: Duration, told: impl Fn(Option<Duration>)) {
    let end = Instant::now() + length;
    let told = &told;
    join_all((0..callers).map(|caller| async move {
        while Instant::now() < end {
            let started = Instant::now();
            let done = turn(store, caller).await;
            told(done.then(|| started.elapsed()));
        }
    }))
    .await;
}

async fn turn(store: &dyn Store, caller: usize) -> bool {
    let Ok(resource) = ResourceName::new(format!("bench/quorum/{caller}")) else {
        return false;
    };
    let asked = Acquisition {
        hold: Hold { resource, token: Token::from_bits(rand::random()), owner: None },
        mode: Mode::Exclusive,
        reentrant: false,
        ttl: TTL,
        lock_delay: Duration::ZERO,
        metadata: Arc::default(),
        place: None,
    };
    let granted = matches!(store.acquire(&asked).await, Ok(Acquired::Granted(_)));
    let released = matches!(store.release(&asked.hold, Duration::ZERO).await, Ok(Released::Freed));
    granted && released
}

fn table(callers: usize, found: &[Found]) -> Result<String, Failure> {
    let (ones, quorums) = found.split_at(SERVERS);
    let mut fastest: Vec<f64> = ones.iter().map(|one| one.p50).collect();
    fastest.sort_by(f64::total_cmp);
    let slowest = fastest[SERVERS / 2];
    let up = quorums[0].p50;
    let mut text = format!(
        "### quorum/{callers}: acquire and release on five servers, {callers} callers\n\n\
         | | turns/s | p50 µs | p99 µs | longest ms | × five up | × slowest of the fastest three | failures |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n"
    );
    for Found { name, turns_a_second, p50, p99, longest, failures } in found {
        let (to_up, to_slowest, longest) = (p50 / up, p50 / slowest, longest / 1e3);
        writeln!(
            text,
            "| {name} | {turns_a_second:.0} | {p50:.0} | {p99:.0} | {longest:.1} | {to_up:.2} | {to_slowest:.2} | {failures} |"
        )?;
    }
    text.push('\n');
    Ok(text)
}
