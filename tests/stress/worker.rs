//! One process: its callers take, hold, lose, drop and release leases, and write down what they held.

use std::{
    cell::RefCell,
    path::Path,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use actix::Addr;
use leasehold::{
    Acquire, AcquireError, Lease, LockManager, Moment, ReadLock, RedisStore, Request, Statistics, Stats,
    WriteLock,
    world::{Clock, SystemClock},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::time::{sleep, timeout};

use super::{
    CALLERS, LONGEST_TTL, TIME,
    history::{Held, Report, Taken},
};

pub(crate) const RESOURCES: usize = 20;
pub(crate) const PERMITS: u32 = 5;

/// Runs the callers of one process, and writes the report to `file`.
pub(crate) fn run(url: &str, file: &Path, seed: u64) {
    actix::System::new().block_on(async {
        let store = RedisStore::open(url).unwrap();
        let locks = LockManager::builder(Arc::new(store)).start().unwrap();
        let report = Rc::new(RefCell::new(Report::default()));
        let until = Instant::now() + TIME;
        let callers = (0..CALLERS).map(|caller| {
            let dice = StdRng::seed_from_u64(seed * 1_000 + caller as u64);
            let owner = format!("caller {caller} of process {seed}");
            let caller = Caller { locks: locks.clone(), owner, dice, report: Rc::clone(&report) };
            actix_rt::spawn(caller.run(until))
        });
        let callers = callers.collect::<Vec<_>>();
        while Instant::now() < until {
            sums_hold(&locks.send(Stats).await.unwrap());
            sleep(Duration::from_millis(100)).await;
        }
        for caller in callers {
            caller.await.unwrap();
        }
        let report = report.take();
        sums_hold(&locks.send(Stats).await.unwrap());
        report.write(file);
    });
}

/// The sums that the counters promise to obey.
fn sums_hold(stats: &Statistics) {
    let failed: u64 = stats.failed.values().sum();
    let answered = stats.granted + stats.refused + stats.timed_out + stats.cancelled + failed;
    assert_eq!(stats.requests, answered + stats.pending, "{stats:?}");
    let over = stats.released + stats.lost.values().sum::<u64>();
    assert_eq!(stats.granted, over + stats.held, "{stats:?}");
    assert_eq!(stats.retries.count, stats.granted, "{stats:?}");
    assert_eq!(stats.held_for.count, over, "{stats:?}");
}

struct Caller {
    locks: Addr<LockManager>,
    owner: String,
    dice: StdRng,
    report: Rc<RefCell<Report>>,
}

impl Caller {
    async fn run(mut self, until: Instant) {
        while Instant::now() < until {
            let resource = self.dice.random_range(0..RESOURCES);
            // What is mixed on one resource must have one capacity, so each resource has its kind of lock.
            match resource % 4 {
                0 => self.hold(resource, Taken::Everything, Acquire::new(name(resource))).await,
                1 if self.dice.random_bool(0.8) => {
                    self.hold(resource, Taken::Shared, ReadLock::new(name(resource))).await;
                }
                1 => self.hold(resource, Taken::Everything, WriteLock::new(name(resource))).await,
                2 => {
                    let count = self.dice.random_range(1..=3);
                    let asked = Acquire::new(name(resource)).permits(count, PERMITS);
                    self.hold(resource, Taken::Permits(count), asked).await;
                }
                _ => self.re_enter(resource).await,
            }
            sleep(Duration::from_millis(self.dice.random_range(0..20))).await;
        }
    }

    /// Takes a lease, holds it in one of several ways, and gives it up in one of several ways.
    async fn hold<Kind: 'static>(&mut self, resource: usize, taken: Taken, asked: Request<Kind>) {
        let Some((lease, held)) = self.acquire(resource, taken, asked).await else { return };
        let time = match self.dice.random_range(0..100) {
            0 => LONGEST_TTL * 2,
            1..10 => Duration::from_millis(200),
            _ => Duration::from_millis(self.dice.random_range(0..10)),
        };
        self.work(lease, held, time).await;
    }

    /// Takes a lease, and the same again while it has it.
    async fn re_enter(&mut self, resource: usize) {
        let owner = self.owner.clone();
        let asked = || Acquire::new(name(resource)).owner(owner.clone());
        let Some((outer, outer_held)) = self.acquire(resource, Taken::Everything, asked()).await else {
            return;
        };
        if let Some((inner, inner_held)) = self.acquire(resource, Taken::Everything, asked()).await {
            // If the outer one was lost meanwhile, this is a grant of its own.
            if inner_held.re_entered {
                assert_eq!(inner_held.fence, outer_held.fence);
            }
            self.work(inner, inner_held, Duration::from_millis(3)).await;
        }
        self.work(outer, outer_held, Duration::from_millis(3)).await;
    }

    async fn acquire<Kind: 'static>(
        &mut self,
        resource: usize,
        taken: Taken,
        asked: Request<Kind>,
    ) -> Option<(Lease, Held)> {
        let asked = asked
            .ttl(Duration::from_millis(self.dice.random_range(1_000..=LONGEST_TTL.as_millis() as u64)))
            .wait(Duration::from_millis(self.dice.random_range(0..2_000)));
        let asked = if self.dice.random_bool(0.1) { asked.no_renew() } else { asked };
        let patience = match self.dice.random_bool(0.1) {
            true => Duration::from_millis(self.dice.random_range(0..100)),
            false => Duration::from_secs(60),
        };
        let asked_at = micros();
        let Ok(answer) = timeout(patience, self.locks.send(asked)).await else {
            self.report.borrow_mut().cancelled += 1;
            return None;
        };
        let lease = match answer.unwrap() {
            Ok(lease) => lease,
            Err(AcquireError::Held { .. }) => {
                self.report.borrow_mut().refused += 1;
                return None;
            }
            Err(error) => {
                *self.report.borrow_mut().errors.entry(error.kind().to_owned()).or_default() += 1;
                return None;
            }
        };
        let granted = micros();
        let held = Held {
            resource,
            taken,
            owner: (resource % 4 == 3).then(|| self.owner.clone()),
            re_entered: lease.holds() > 1,
            fence: lease.fence().unwrap().get(),
            asked: asked_at,
            granted,
            ended: granted,
        };
        Some((lease, held))
    }

    /// Holds a lease for `time` or until it is lost, then drops or releases it.
    async fn work(&mut self, lease: Lease, mut held: Held, time: Duration) {
        let start = Instant::now();
        let mut believed_until = micros();
        while lease.is_valid() && start.elapsed() < time {
            believed_until = micros() + lease.remaining().as_micros() as u64;
            // A loss shows at the head of the loop.
            let _ = lease.run(sleep(Duration::from_millis(5).min(time))).await;
        }
        let valid = lease.is_valid();
        // Taken after the question: a lease that was valid then may be believed in until now, but no longer than it
        // was said to hold when it was lost.
        held.ended = if valid { micros() } else { micros().min(believed_until) };
        self.report.borrow_mut().lost += u64::from(!valid);
        self.report.borrow_mut().held.push(held);
        if self.dice.random_bool(0.5) {
            drop(lease);
        } else {
            // Lost, or released: both are in the statistics that are checked at the end.
            drop(lease.release().await);
        }
    }
}

fn name(resource: usize) -> String {
    format!("stress/{resource}")
}

fn micros() -> u64 {
    Moment::since_origin(Duration::ZERO).elapsed(SystemClock.now()).as_micros() as u64
}
