//! What a stage waits for: grants after a fault, and an end that leaves nothing.

use std::{
    thread,
    time::{Duration, Instant},
};

use leasehold_testing::waiting::{PATIENCE, until};

use super::{
    fault::Ground,
    revoked,
    stage::{LOOK, PROCESSES, Stage, locked},
};
use crate::{
    load::{micros, name},
    outages::scenario::{FIRST_KEPT, RESOURCES},
};

/// The time within which all must be granted again after a fault: longer than a machine that compiles beside it is busy.
const AGAIN: Duration = PATIENCE;

/// The names of all resources that are locked.
pub(super) fn resources() -> impl Iterator<Item = String> {
    (0..RESOURCES).map(name).chain((0..revoked::RESOURCES).map(revoked::name))
}

impl Stage {
    pub(super) fn lost(&self) -> u64 {
        locked(&self.ledger).totals.lost()
    }

    pub(super) fn violation(&self, what: String) {
        locked(&self.ledger).violations.insert(what);
    }

    /// Waits until every resource was granted after a moment, the schedule has run so often, and the singleton and every partition
    /// worked.
    pub(super) fn wait_for_grants(&self, since: u64, runs: usize, is_quorum: bool) {
        let start = Instant::now();
        loop {
            let mut ledger = locked(&self.ledger);
            let is_granted =
                |name: &String| ledger.granted.get(name.as_bytes()).is_some_and(|last| *last > since);
            let waits: Vec<_> = resources().filter(|name| !is_granted(name)).collect();
            let (ticks, works) = (is_quorum || ledger.has_run(runs, since), ledger.last_led > since);
            let unowned = ledger.unowned(since);
            // Leases that are kept for seconds are told only when they end.
            let all_served = ticks
                && works
                && waits.iter().all(|waits| (FIRST_KEPT..RESOURCES).any(|kept| *waits == name(kept)));
            if all_served {
                ledger.spans.end(micros());
            }
            drop(ledger);
            // A member that has lost its leases joins again after a pause, which explains no loss of others.
            if all_served && waits.is_empty() && unowned.is_empty() {
                return;
            }
            if start.elapsed() > AGAIN {
                let what = format!(
                    "resources {waits:?}, partitions {unowned:?}, schedule: {ticks}, singleton: {works}"
                );
                self.violation(format!("not granted again within {AGAIN:?} from {since}: {what}"));
                return;
            }
            self.are_well();
            thread::sleep(LOOK);
        }
    }

    /// Notes processes that have ended.
    pub(super) fn are_well(&self) {
        for (number, client) in locked(&self.clients).iter_mut().enumerate() {
            if let Some(status) = client.process.ended().filter(|_| client.input.is_some()) {
                client.input = None;
                self.violation(format!("process {number} of callers has failed: {status}"));
            }
        }
    }

    /// Tells the processes to end, checks all that they said, and that nothing is left in the servers.
    pub(super) fn end(&self, ground: &Ground) {
        *locked(&self.now) = "ends";
        self.are_well();
        let mut living = 0;
        for client in &mut *locked(&self.clients) {
            living += usize::from(client.input.take().is_some());
        }
        for number in 0..PROCESSES {
            // Not locked meanwhile: somebody counts their files.
            until("a process of callers ends", || locked(&self.clients)[number].process.ended().is_some());
        }
        until("the last lines are read", || locked(&self.ledger).ended >= living);
        // At once: each lease that was never given back ends by itself in a TTL, and a clock was set back long ago.
        // The ticket of a waiter that gave up ends by itself too, and may be there for its TTL.
        let mut left = ground.topology.keys_left();
        left.retain(|(key, time)| key.ends_with('}') || *time == -1);
        if !left.is_empty() {
            self.violation(format!("keys are left over: {left:?}"));
        }
        locked(&self.ledger).check(micros(), true);
    }
}
