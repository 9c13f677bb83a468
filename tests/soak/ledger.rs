//! What the processes of one topology have said: checked window by window, counted, and forgotten.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use leasehold::{LossReason, ResourceName, env::Moment};
use leasehold_testing::history::Held;

use super::{
    failures,
    judge::Settled,
    leading::{Leaders, PARTITIONS, Ticks},
    limits::Allowed,
    revoked::Taken,
    spans::Spans,
    totals::{Second, Totals},
    worker::Said,
};
use crate::load::{Loss, Report, micros_of};

/// How long the end of a lease is remembered: longer than that by more than anybody holds one.
pub(super) const REMEMBERED: u64 = 90_000_000;

/// What is kept of one process.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// What it held, and was not checked yet.
    new: Vec<Held>,
    /// What was checked, and may hang together with what comes.
    pub(super) checked: Vec<Held>,
    /// What it lost, and was not judged yet.
    pub(super) losses: Vec<Loss>,
    /// When it had no turn.
    pub(super) stalls: Vec<(u64, u64)>,
}

impl Kept {
    /// Takes out what ended before a moment and was not checked yet.
    pub(super) fn settled(&mut self, before: u64) -> Settled {
        let ended = |held: &Held| micros_of(held.stopped) < before;
        let (held, new) = std::mem::take(&mut self.new).into_iter().partition(ended);
        self.new = new;
        let (losses, rest) = std::mem::take(&mut self.losses).into_iter().partition(|loss| loss.at < before);
        self.losses = rest;
        Settled(Report { held, losses, stalls: self.stalls.clone(), ..Report::default() })
    }
}

/// The ledger of one topology.
pub(super) struct Ledger {
    pub(super) is_quorum: bool,
    pub(super) began: u64,
    pub(super) processes: Vec<Kept>,
    pub(super) allowed: Vec<Allowed>,
    /// What was taken back, and not long ago.
    pub(super) taken: Vec<Taken>,
    /// The times of all faults.
    pub(super) spans: Spans,
    /// The lease with the largest fence of all that are forgotten.
    pub(super) floors: BTreeMap<ResourceName, Held>,
    /// The moment of the last grant of each resource.
    pub(super) granted: BTreeMap<Vec<u8>, u64>,
    /// The moments of the last run of the schedule and of the one before it.
    last_runs: [u64; 2],
    pub(super) last_led: u64,
    pub(super) ticks: Ticks,
    pub(super) leaders: Leaders,
    /// The owners of each partition, and the moment at which it worked last.
    pub(super) owners: Vec<(Leaders, u64)>,
    pub(super) totals: Totals,
    pub(super) seconds: Vec<Second>,
    pub(super) violations: BTreeSet<String>,
    /// How many processes have said their last line.
    pub(super) ended: usize,
}

impl Ledger {
    pub(super) fn new(is_quorum: bool, processes: usize, began: u64) -> Self {
        Self {
            is_quorum,
            began,
            processes: (0..processes).map(|_| Kept::default()).collect(),
            allowed: Vec::new(),
            taken: Vec::new(),
            spans: Spans::default(),
            floors: BTreeMap::new(),
            granted: BTreeMap::new(),
            last_runs: [0; 2],
            last_led: 0,
            ticks: Ticks::default(),
            leaders: Leaders::default(),
            owners: (0..PARTITIONS).map(|_| Default::default()).collect(),
            totals: Totals::default(),
            seconds: Vec::new(),
            violations: BTreeSet::new(),
            ended: 0,
        }
    }

    /// Returns true if the schedule ran so often, once or twice, after a moment.
    pub(super) fn has_run(&self, times: usize, since: u64) -> bool {
        self.last_runs[times - 1] > since
    }

    /// Returns the partitions that have not worked after a moment.
    pub(super) fn unowned(&self, since: u64) -> Vec<usize> {
        (0..self.owners.len()).filter(|partition| self.owners[*partition].1 <= since).collect()
    }

    /// Adds what a process said.
    pub(super) fn add(&mut self, process: usize, said: Said) {
        self.ended += usize::from(said.is_last);
        self.totals.add(&said.report);
        for held in &said.report.held {
            self.count(held);
        }
        said.report.stalls.iter().for_each(|stall| self.spans.stalled(*stall));
        let kinds = said.report.errors.keys().filter(|kind| failures::reason(kind).is_none());
        self.violations.extend(kinds.map(|kind| format!("a request failed as no fault explains: {kind}")));
        self.violations.extend(said.report.unanswered);
        for run in said.runs {
            let [last, before] = self.last_runs;
            self.last_runs = [last.max(run.at), before.max(last.min(run.at))];
            self.violations.extend(self.ticks.add(run));
        }
        self.last_led = said.led.iter().map(|led| led.at).fold(self.last_led, u64::max);
        self.leaders.add(&said.led);
        for (partition, led) in said.owned {
            let (owners, last) = &mut self.owners[partition as usize];
            owners.add(&[led]);
            *last = led.at.max(*last);
        }
        self.totals.revoked.0 += said.taken.iter().map(|taken| taken.finished as u64).sum::<u64>();
        self.totals.revoked.1 += said.taken.iter().map(|taken| taken.taken as u64).sum::<u64>();
        self.taken.extend(said.taken);
        let process = &mut self.processes[process];
        process.new.extend(said.report.held);
        process.losses.extend(said.report.losses);
        process.stalls.extend(said.report.stalls);
    }

    fn count(&mut self, held: &Held) {
        self.totals.count(held);
        self.spans.granted(held);
        let granted = micros_of(held.granted);
        self.second(granted).grants += 1;
        if held.lost.is_some_and(|reason| reason != LossReason::Forced) {
            self.second(micros_of(held.stopped)).losses += 1;
        }
        let last = self.granted.entry(held.resource.as_bytes().to_vec()).or_default();
        *last = granted.max(*last);
    }

    fn second(&mut self, at: u64) -> &mut Second {
        let second = (at.saturating_sub(self.began) / 1_000_000) as usize;
        let seconds = self.seconds.len().max(second + 1);
        self.seconds.resize(seconds, Second::default());
        &mut self.seconds[second]
    }

    /// Forgets what ended before a moment, but for the largest fences.
    pub(super) fn forget_before(&mut self, before: u64) {
        let moment = Moment::since_origin(Duration::from_micros(before));
        for process in &mut self.processes {
            for held in process.checked.iter().filter(|held| held.stopped < moment) {
                let floor = self.floors.entry(held.resource.clone()).or_insert_with(|| held.clone());
                if (held.fence, held.granted) > (floor.fence, floor.granted) {
                    floor.clone_from(held);
                }
            }
            process.checked.retain(|held| held.stopped >= moment);
            process.stalls.retain(|(_, until)| *until >= before);
        }
        self.allowed.retain(|limit| limit.last() >= before);
        self.taken.retain(|taken| self.spans.end_of(taken.until) >= before);
    }

    /// How many leases are remembered.
    pub(super) fn remembered(&self) -> usize {
        self.processes.iter().map(|process| process.new.len() + process.checked.len()).sum()
    }
}
