//! One process: its managers and callers, and the sums of its counters.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    io::Read,
    path::Path,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use actix::Addr;
use leasehold::{Config, LockManager, LossReason, Shutdown, Statistics, Stats};
use leasehold_testing::history::{History, lines::Transcript};
use rand::{SeedableRng, rngs::StdRng};
use tokio::{task::JoinHandle, time::sleep};

use super::{caller::Caller, marks::Marks, micros, plan::Plan, repeating::repeating, report::Report};

/// How often the thread of the callers is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// A look that comes so much later than the one before is a stall.
const STALL: u64 = 15_000;

/// The managers and callers of one process, and what they write down.
pub(crate) struct Work {
    plan: Rc<Plan>,
    seed: u64,
    pub(crate) managers: Vec<Addr<LockManager>>,
    pub(crate) report: Rc<RefCell<Report>>,
    pub(crate) history: Rc<History>,
    /// The requests that got no lease, if histories are kept.
    without: Rc<RefCell<Transcript>>,
    pub(crate) stop: Rc<Cell<bool>>,
    marks: Rc<Marks>,
    callers: Vec<JoinHandle<()>>,
}

impl Work {
    /// Starts the managers and the callers. Their marks stand beside `file`.
    pub(crate) fn start(plan: Plan, file: &Path, seed: u64) -> Self {
        let config = Config::from_toml(&plan.config).unwrap();
        let managers = (0..plan.managers).map(|_| start(&config, plan.repeated)).collect();
        let (report, history) = (Rc::new(RefCell::new(Report::default())), Rc::new(History::new()));
        let (stop, marks) = (Rc::new(Cell::new(false)), Rc::new(Marks::beside(file)));
        let plan = Rc::new(plan);
        let without = Rc::default();
        let mut work =
            Self { plan, seed, managers, report, history, without, stop, marks, callers: Vec::new() };
        for number in 0..work.plan.callers {
            let (plan, stop) = (Rc::clone(&work.plan), Rc::clone(&work.stop));
            let caller = work.caller(number, number < plan.keepers, plan, stop);
            work.callers.push(actix_rt::spawn(caller.run()));
        }
        work
    }

    /// Makes one more caller, which does what `plan` says until `stop` is true.
    pub(crate) fn caller(&self, number: usize, keeps: bool, plan: Rc<Plan>, stop: Rc<Cell<bool>>) -> Caller {
        Caller {
            plan,
            keeps,
            locks: self.managers[number % self.managers.len()].clone(),
            owner: format!("caller {number} of process {}", self.seed),
            random: StdRng::seed_from_u64(self.seed * 1_000 + number as u64),
            report: Rc::clone(&self.report),
            history: Rc::clone(&self.history),
            without: Rc::clone(&self.without),
            stop,
            marks: Rc::clone(&self.marks),
            unconfirmed: BTreeMap::new(),
        }
    }

    /// Checks that the counters of the managers have the sums that they promise.
    pub(crate) async fn sums_hold(&self) {
        for manager in &self.managers {
            sums_of_one_hold(&manager.send(Stats).await.unwrap());
        }
    }

    /// Tells the callers to end, and waits for them.
    pub(crate) async fn finish(&mut self) {
        self.stop.set(true);
        for caller in self.callers.drain(..) {
            caller.await.unwrap();
        }
        self.sums_hold().await;
    }

    /// Returns the number of leases that the store did not hold any more when it was asked to renew or to release them, without those of which their
    /// holders were told. Some are of callers that had gone before they saw the lease.
    pub(crate) async fn found_lost(&self, told: u64) -> u64 {
        let mut count = 0;
        for manager in &self.managers {
            count += manager.send(Stats).await.unwrap().lost.get(&LossReason::NotHeld).copied().unwrap_or(0);
        }
        count.saturating_sub(told)
    }

    /// Shuts the managers down, as the last line of a `main` should: what was cancelled a moment ago is released before the process
    /// ends.
    pub(crate) async fn shut_down(self) {
        for manager in self.managers {
            manager.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
        }
    }
}

/// Runs the callers of one process until its input is closed, and writes the report to `file`.
pub(super) fn run(plan: Plan, file: &Path, seed: u64) {
    actix::System::new().block_on(async {
        let mut work = Work::start(plan, file, seed);
        let witness = actix_rt::spawn(look_for_stalls(Rc::clone(&work.report)));
        let closed = watch_input();
        while !closed.load(Ordering::Relaxed) {
            work.sums_hold().await;
            sleep(Duration::from_millis(100)).await;
        }
        work.finish().await;
        witness.abort();
        let mut report = work.report.take();
        report.held = work.history.take();
        report.without = work.without.take().to_lines();
        report.found_lost = work.found_lost(report.told_not_held()).await;
        work.shut_down().await;
        report.write(file);
    });
}

fn start(config: &Config, repeated: bool) -> Addr<LockManager> {
    if !repeated {
        return config.start().unwrap();
    }
    LockManager::builder(repeating(config)).settings(config.settings()).start().unwrap()
}

/// Becomes true when whoever started this process closes its input, or dies.
fn watch_input() -> Arc<AtomicBool> {
    let closed = Arc::new(AtomicBool::new(false));
    let close = Arc::clone(&closed);
    thread::spawn(move || {
        // An input that cannot be read is as good as closed.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        close.store(true, Ordering::Relaxed);
    });
    closed
}

/// Writes down when the thread of the callers got no turn.
pub(crate) async fn look_for_stalls(report: Rc<RefCell<Report>>) {
    loop {
        let before = micros();
        sleep(LOOK).await;
        let now = micros();
        if now - before > STALL {
            report.borrow_mut().stalls.push((before, now));
        }
    }
}

/// The sums that the counters promise to obey.
fn sums_of_one_hold(stats: &Statistics) {
    let failed: u64 = stats.failed.values().sum();
    let answered = stats.granted + stats.refused + stats.timed_out + stats.cancelled + failed;
    assert_eq!(stats.requests, answered + stats.pending, "{stats:?}");
    let over = stats.released + stats.releases_unconfirmed + stats.lost.values().sum::<u64>();
    assert_eq!(stats.granted, over + stats.held, "{stats:?}");
    assert_eq!(stats.retries.count, stats.granted, "{stats:?}");
    assert_eq!(stats.held_for.count, over, "{stats:?}");
}
