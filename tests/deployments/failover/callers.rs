//! Sixteen callers that take and release locks while something happens to the servers.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    fmt,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use actix::Addr;
use leasehold::{Acquire, AcquireError, Lease, LockManager, ReadLock, RedisStore, Settings, Shutdown};
use leasehold_testing::waiting::eventually;
use tokio::{task::spawn_blocking, time::sleep};

pub(crate) const CALLERS: usize = 16;
pub(crate) const RESOURCES: usize = 4;
/// How long they work before what happens.
const BEFORE: Duration = Duration::from_secs(1);
/// How many grants there must be after it, and in what time.
const AFTER: usize = 100;
pub(crate) const TTL: Duration = Duration::from_secs(3);

pub(crate) fn name(resource: usize) -> String {
    format!("failover/{resource}")
}

/// One lease, as its holder believed in it.
struct Held {
    resource: usize,
    shared: bool,
    from: Instant,
    until: Instant,
}

/// What the callers saw.
#[derive(Default)]
pub(crate) struct Report {
    held: Vec<Held>,
    lost: usize,
    errors: BTreeMap<&'static str, usize>,
    /// How many were granted after what happened.
    after: usize,
}

impl Report {
    /// How many pairs of conflicting leases were valid at once.
    pub(crate) fn conflicts(&self) -> usize {
        let pairs = self.held.iter().enumerate().flat_map(|(at, one)| {
            let later = self.held[at + 1..].iter().take_while(|other| other.from < one.from + 2 * TTL);
            later.map(move |other| (one, other))
        });
        pairs
            .filter(|(one, other)| one.resource == other.resource && !(one.shared && other.shared))
            .filter(|(one, other)| one.from < other.until && other.from < one.until)
            .count()
    }

    /// The longest time in which nothing was granted.
    pub(crate) fn gap(&self) -> Duration {
        let pairs = self.held.windows(2).map(|two| two[1].from.saturating_duration_since(two[0].from));
        pairs.max().unwrap_or_default()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { held, lost, errors, after } = self;
        let (granted, gap, conflicts) = (held.len(), self.gap(), self.conflicts());
        write!(
            f,
            "{granted} granted, {after} of them afterwards; {gap:.1?} without a grant; {conflicts} conflicts; "
        )?;
        write!(f, "{lost} lost; errors {errors:?}")
    }
}

/// Lets them work on this store while something happens, and until there were a hundred grants after it.
pub(crate) async fn work_while<T: Send + 'static>(
    url: &str,
    happens: impl FnOnce() -> T + Send + 'static,
) -> (Report, T) {
    let managers: Vec<_> = (0..2).map(|_| manager(url)).collect();
    let report = Rc::new(RefCell::new(Report::default()));
    let stop = Rc::new(Cell::new(false));
    let call = |number: usize| {
        let locks = managers[number % managers.len()].clone();
        let caller = Caller { number, locks, report: Rc::clone(&report), stop: Rc::clone(&stop) };
        actix_rt::spawn(caller.work())
    };
    let callers: Vec<_> = (0..CALLERS).map(call).collect();
    sleep(BEFORE).await;
    let happened = spawn_blocking(happens).await.unwrap();
    let before = report.borrow().held.len();
    eventually("grants afterwards", async || report.borrow().held.len() >= before + AFTER).await;
    stop.set(true);
    for caller in callers {
        caller.await.unwrap();
    }
    for manager in managers {
        manager.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
    }
    let mut report = report.take();
    report.after = report.held.len() - before;
    report.held.sort_by_key(|held| held.from);
    (report, happened)
}

fn manager(url: &str) -> Addr<LockManager> {
    // A place that was given up on a master of which the next one has not heard is kept for this long.
    let mut settings = Settings::default();
    settings.wait.ticket_ttl = TTL;
    let store = Arc::new(RedisStore::open(url).unwrap());
    LockManager::builder(store).settings(settings).start().unwrap()
}

struct Caller {
    number: usize,
    locks: Addr<LockManager>,
    report: Rc<RefCell<Report>>,
    stop: Rc<Cell<bool>>,
}

impl Caller {
    /// Takes one resource after the other, for a moment each. Every fourth caller reads.
    async fn work(self) {
        let shared = self.number % 4 == 3;
        for turn in self.number.. {
            if self.stop.get() {
                return;
            }
            let resource = turn % RESOURCES;
            match self.ask(resource, shared).await {
                Ok(lease) => self.hold(lease, resource, shared).await,
                Err(error) => {
                    *self.report.borrow_mut().errors.entry(error.kind()).or_default() += 1;
                    sleep(Duration::from_millis(20)).await;
                }
            }
        }
    }

    async fn ask(&self, resource: usize, shared: bool) -> Result<Lease, AcquireError> {
        let (name, wait) = (name(resource), Duration::from_secs(1));
        if shared {
            self.locks.send(ReadLock::new(name).ttl(TTL).wait(wait)).await.unwrap()
        } else {
            self.locks.send(Acquire::new(name).ttl(TTL).wait(wait)).await.unwrap()
        }
    }

    async fn hold(&self, lease: Lease, resource: usize, shared: bool) {
        let from = Instant::now();
        // What it is told of a loss is the same as what it asks below.
        let _ = lease.run(sleep(Duration::from_millis(3))).await;
        let valid = lease.is_valid();
        let until = if valid { Instant::now() } else { from };
        let mut report = self.report.borrow_mut();
        report.lost += usize::from(!valid);
        report.held.push(Held { resource, shared, from, until });
    }
}
