//! One process: its managers and callers, and the sums of its counters.

use std::{
    cell::{Cell, RefCell},
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
use leasehold_testing::history::History;
use rand::{SeedableRng, rngs::StdRng};
use tokio::time::sleep;

use super::{caller::Caller, marks::Marks, micros, plan::Plan, repeating::repeating, report::Report};

/// How often the thread of the callers is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// A look that comes so much later than the one before is a stall.
const STALL: u64 = 15_000;

/// Runs the callers of one process until its input is closed, and writes the report to `file`.
pub(super) fn run(plan: Plan, file: &Path, seed: u64) {
    actix::System::new().block_on(async {
        let plan = Rc::new(plan);
        let config = Config::from_toml(&plan.config).unwrap();
        let managers: Vec<_> = (0..plan.managers).map(|_| start(&config, plan.repeated)).collect();
        let (report, history) = (Rc::new(RefCell::new(Report::default())), Rc::new(History::new()));
        let (stop, marks) = (Rc::new(Cell::new(false)), Rc::new(Marks::beside(file)));
        let callers = (0..plan.callers).map(|caller| {
            let caller = Caller {
                plan: Rc::clone(&plan),
                keeps: caller < plan.keepers,
                locks: managers[caller % managers.len()].clone(),
                owner: format!("caller {caller} of process {seed}"),
                random: StdRng::seed_from_u64(seed * 1_000 + caller as u64),
                report: Rc::clone(&report),
                history: Rc::clone(&history),
                stop: Rc::clone(&stop),
                marks: Rc::clone(&marks),
            };
            actix_rt::spawn(caller.run())
        });
        let callers = callers.collect::<Vec<_>>();
        let witness = actix_rt::spawn(look_for_stalls(Rc::clone(&report)));
        let closed = watch_input();
        while !closed.load(Ordering::Relaxed) {
            sums_hold(&managers).await;
            sleep(Duration::from_millis(100)).await;
        }
        stop.set(true);
        for caller in callers {
            caller.await.unwrap();
        }
        sums_hold(&managers).await;
        witness.abort();
        let mut report = report.take();
        report.held = history.take();
        let told = report.lost().filter(|reason| *reason == LossReason::NotHeld).count() as u64;
        // Some are of callers that had gone before they saw the lease.
        report.found_lost = not_held(&managers).await.saturating_sub(told);
        // As the last line of a `main` should: what was cancelled a moment ago is released before the process ends.
        for manager in managers {
            manager.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
        }
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

async fn look_for_stalls(report: Rc<RefCell<Report>>) {
    loop {
        let before = micros();
        sleep(LOOK).await;
        let now = micros();
        if now - before > STALL {
            report.borrow_mut().stalls.push((before, now));
        }
    }
}

async fn sums_hold(managers: &[Addr<LockManager>]) {
    for manager in managers {
        sums_of_one_hold(&manager.send(Stats).await.unwrap());
    }
}

/// How many leases the store did not hold any more when it was asked to renew or to release them.
async fn not_held(managers: &[Addr<LockManager>]) -> u64 {
    let mut count = 0;
    for manager in managers {
        count += manager.send(Stats).await.unwrap().lost.get(&LossReason::NotHeld).copied().unwrap_or(0);
    }
    count
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
