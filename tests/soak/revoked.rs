//! Holders of resources that are taken back, and who takes them back.
//!
//! Whoever loses a lock by force is told by a message, which may arrive after the next one holds it (`docs/limits.md`). So these
//! resources are for that alone, and what was taken is written down.

use std::{cell::Cell, rc::Rc, sync::Arc, time::Duration};

use actix::Addr;
use leasehold::{Acquire, LockManager, Revoke};
use leasehold_testing::history::{Conflict, History};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde::{Deserialize, Serialize};
use tokio::{task::JoinHandle, time::sleep};

use super::{
    spans::Spans,
    worker::{Notes, Task},
};
use crate::load::{Work, micros, micros_of};

/// How many resources are taken back.
pub(super) const RESOURCES: usize = 2;
const TTL: Duration = Duration::from_secs(3);

/// A lock that was taken back, from the end of the grace until the answer, in microseconds since the host was started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Taken {
    pub(super) resource: String,
    pub(super) from: u64,
    pub(super) until: u64,
    /// How many holders gave it back.
    pub(super) finished: usize,
    /// How many lost it.
    pub(super) taken: usize,
    /// True without an answer: then it may be carried out as long as a fault keeps the servers from it.
    pub(super) failed: bool,
}

impl Taken {
    /// Returns true if a holder that was not told yet explains a conflict: the lease was taken before the next one was granted, and
    /// nothing renews it after that, so it was over a TTL later.
    pub(super) fn explains(&self, conflict: &Conflict, spans: &Spans) -> bool {
        let until = if self.failed { spans.end_of(self.until) } else { self.until };
        let last = until.saturating_add(TTL.as_micros() as u64);
        conflict.what.contains(&format!("ResourceName({})", self.resource))
            && (self.taken > 0 || self.failed)
            && self.from <= micros_of(conflict.from)
            && micros_of(conflict.until) <= last
    }
}

/// The name of a resource that is taken back.
pub(super) fn name(number: usize) -> String {
    format!("revoked/{number}")
}

/// Starts a holder of each resource, and if the task says so who takes them back.
pub(super) fn start(work: &Work, notes: &Notes, task: &Task) -> Vec<JoinHandle<()>> {
    let locks = &work.managers[0];
    let random = |number: usize| StdRng::seed_from_u64((task.number * 10 + number) as u64);
    let holder = |number| Holder {
        resource: name(number),
        locks: locks.clone(),
        random: random(number),
        history: Rc::clone(&work.history),
        stop: Rc::clone(&work.stop),
    };
    let mut tasks: Vec<_> = (0..RESOURCES).map(|number| actix_rt::spawn(holder(number).run())).collect();
    if task.revokes {
        let revoker = revoke(locks.clone(), Arc::clone(notes), Rc::clone(&work.stop), random(RESOURCES));
        tasks.push(actix_rt::spawn(revoker));
    }
    tasks
}

struct Holder {
    resource: String,
    locks: Addr<LockManager>,
    random: StdRng,
    history: Rc<History>,
    stop: Rc<Cell<bool>>,
}

impl Holder {
    async fn run(mut self) {
        while !self.stop.get() {
            sleep(Duration::from_millis(self.random.random_range(0..300))).await;
            let asked = self.history.now();
            let request = Acquire::new(&self.resource).ttl(TTL).wait(Duration::from_secs(1));
            let Ok(lease) = self.locks.send(request).await.unwrap() else { continue };
            let held = self.history.granted(&lease, asked, TTL);
            let (time, obeys) =
                (Duration::from_millis(self.random.random_range(0..4_000)), self.random.random_bool(0.5));
            let done = async {
                tokio::select! {
                    () = sleep(time) => {}
                    _ = lease.revoke_requested(), if obeys => {}
                }
            };
            self.history.watch(&lease, held, done).await;
            drop(lease.release().await);
        }
    }
}

async fn revoke(locks: Addr<LockManager>, notes: Notes, stop: Rc<Cell<bool>>, mut random: StdRng) {
    while !stop.get() {
        sleep(Duration::from_millis(random.random_range(500..3_000))).await;
        let resource = name(random.random_range(0..RESOURCES));
        let grace = [0, 300, 1_500][random.random_range(0..3)];
        let from = micros() + grace * 1_000;
        let revoke = Revoke::new(&resource).reason("the soak").grace(Duration::from_millis(grace));
        let answer = locks.send(revoke).await.unwrap();
        let (finished, taken) = answer.as_ref().map_or((0, 0), |it| (it.finished, it.taken));
        let until = micros();
        let taken = Taken { resource, from, until, finished, taken, failed: answer.is_err() };
        notes.lock().unwrap().taken.push(taken);
    }
}
