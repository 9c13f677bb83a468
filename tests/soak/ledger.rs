//! What the processes of one topology have said: checked window by window, counted, and forgotten.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use leasehold::{Fence, LossReason, ResourceName, env::Moment};
use leasehold_sim::linearizable;
use leasehold_testing::history::{self, Held};

use super::{
    leading::{Leaders, Ticks},
    limits::Allowed,
    revoked::Taken,
    totals::{Second, Totals},
    worker::Said,
};
use crate::load::{Report, micros_of};

/// The time after which all has been told that concerns a lease that has ended: processes may be frozen meanwhile.
const SETTLED: u64 = 30_000_000;
/// How long the end of a lease is remembered: longer than that by more than anybody holds one.
const REMEMBERED: u64 = 90_000_000;
/// For how long the thread of a lock manager may wait for a processor on a busy machine. The stalls of a process are those of its callers.
const UNSEEN: Duration = Duration::from_millis(100);
/// How many leases of a window are given to the external checker, whose time grows with the number of those held at once.
const JUDGED: usize = 1_200;

/// What is kept of one process.
#[derive(Debug, Default)]
struct Kept {
    /// What it held, and was not checked yet.
    new: Vec<Held>,
    /// What was checked, and may hang together with what comes.
    checked: Vec<Held>,
    /// When it had no turn.
    stalls: Vec<(u64, u64)>,
}

impl Kept {
    /// Takes out what ended before a moment and was not checked yet.
    fn settled(&mut self, before: u64) -> Settled {
        let ended = |held: &Held| micros_of(held.stopped) < before;
        let (held, new) = std::mem::take(&mut self.new).into_iter().partition(ended);
        self.new = new;
        Settled(Report { held, stalls: self.stalls.clone(), ..Report::default() })
    }
}

/// What ended long ago and is to be checked.
struct Settled(Report);

impl Settled {
    /// Returns true if a loss was told later than a thread may wait for a processor that no witness sees: that of a lock manager.
    fn is_late(&self, held: &Held) -> bool {
        let later = Held { valid_until: held.valid_until + UNSEEN, ..held.clone() };
        let alone = Report { held: vec![later], stalls: self.0.stalls.clone(), ..Report::default() };
        !alone.told_late().is_empty()
    }
}

/// The ledger of one topology.
pub(super) struct Ledger {
    is_quorum: bool,
    began: u64,
    processes: Vec<Kept>,
    pub(super) allowed: Vec<Allowed>,
    /// The largest fence of what is forgotten, and when it was granted.
    floors: BTreeMap<ResourceName, (Fence, Moment)>,
    /// The moment of the last grant of each resource.
    pub(super) granted: BTreeMap<Vec<u8>, u64>,
    pub(super) last_run: u64,
    pub(super) last_led: u64,
    pub(super) ticks: Ticks,
    pub(super) leaders: Leaders,
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
            floors: BTreeMap::new(),
            granted: BTreeMap::new(),
            last_run: 0,
            last_led: 0,
            ticks: Ticks::default(),
            leaders: Leaders::default(),
            totals: Totals::default(),
            seconds: Vec::new(),
            violations: BTreeSet::new(),
            ended: 0,
        }
    }

    /// Adds what a process said.
    pub(super) fn add(&mut self, process: usize, said: Said) {
        self.ended += usize::from(said.is_last);
        self.totals.add(&said.report);
        for held in &said.report.held {
            self.count(held);
        }
        for run in said.runs {
            self.last_run = self.last_run.max(run.at);
            self.violations.extend(self.ticks.add(run));
        }
        self.last_led = said.led.iter().map(|led| led.at).fold(self.last_led, u64::max);
        self.leaders.add(&said.led);
        for taken in said.taken {
            self.take_back(taken);
        }
        self.processes[process].new.extend(said.report.held);
        self.processes[process].stalls.extend(said.report.stalls);
    }

    fn count(&mut self, held: &Held) {
        self.totals.count(held);
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

    fn take_back(&mut self, taken: Taken) {
        self.totals.revoked.0 += taken.finished as u64;
        self.totals.revoked.1 += taken.taken as u64;
        let Taken { resource, from, until, .. } = taken;
        self.allowed.push(Allowed { from, until, why: "taken by force", resource: Some(resource) });
    }

    /// Checks what has ended so far, or if the end has come all of it; forgets what ended long ago.
    pub(super) fn check(&mut self, now: u64, is_end: bool) {
        let settled = if is_end { u64::MAX } else { now.saturating_sub(SETTLED) };
        let new: Vec<Settled> = self.processes.iter_mut().map(|process| process.settled(settled)).collect();
        let fresh = || new.iter().flat_map(|process| &process.0.held);
        let all = || self.processes.iter().flat_map(|process| &process.checked).chain(fresh());
        let mut wrong: Vec<String> =
            if self.is_quorum { history::fences_of_quorum(all()) } else { history::fences(all()) };
        let mut documented = Vec::new();
        for conflict in history::conflicts(all()) {
            match self.allowed.iter().find(|limit| limit.allows(&conflict)).map(|limit| limit.why) {
                None => wrong.push(conflict.what),
                Some(why) => documented.push((why, conflict.what)),
            }
        }
        // What was found before is found again without all that it hangs together with, such as the hold that was entered.
        let is_new = |what: &String| fresh().any(|held| what.contains(&format!("{held:?}")));
        wrong.retain(is_new);
        documented.retain(|(_, what)| is_new(what));
        wrong.extend(fresh().filter_map(|held| self.below_the_floor(held)));
        for process in &new {
            let (late, a_little) =
                process.0.told_late().into_iter().partition::<Vec<_>, _>(|late| process.is_late(late));
            wrong.extend(late.into_iter().map(|late| format!("a loss was told too late: {late:?}")));
            self.totals.a_little_late += a_little.len() as u64;
        }
        // On fences in disorder the external checker tries all orders, and does not come to an end.
        if wrong.is_empty() {
            match linearizable::judge(self.for_others(fresh())) {
                Ok(accepted) => self.totals.accepted += accepted as u64,
                Err(refused) => wrong.push(refused),
            }
        }
        for (why, _) in documented {
            *self.totals.documented.entry(why).or_default() += 1;
        }
        for (at, what) in self.leaders.check(settled) {
            match self.allowed.iter().find(|limit| limit.resource.is_none() && limit.covers(at)) {
                None => wrong.push(what),
                Some(limit) => *self.totals.documented.entry(limit.why).or_default() += 1,
            }
        }
        self.violations.extend(wrong);
        for (process, new) in self.processes.iter_mut().zip(new) {
            process.checked.extend(new.0.held);
        }
        self.forget(now.saturating_sub(REMEMBERED));
    }

    /// Those of these leases that no limit of the documentation concerns, of as many resources as an external checker has time for.
    fn for_others<'a>(&self, fresh: impl Iterator<Item = &'a Held>) -> Vec<&'a Held> {
        let whole = |held: &&Held| !self.allowed.iter().any(|limit| limit.touches(held));
        let mut resources: BTreeMap<&ResourceName, Vec<&Held>> = BTreeMap::new();
        for held in fresh.filter(whole) {
            if held.resource.as_bytes().starts_with(b"load/") {
                resources.entry(&held.resource).or_default().push(held);
            }
        }
        let mut resources: Vec<_> = resources.into_values().collect();
        if !resources.is_empty() {
            // Each window begins with another one.
            let first = self.totals.accepted as usize % resources.len();
            resources.rotate_left(first);
        }
        let mut fresh = Vec::new();
        for mut held in resources {
            held.sort_by_key(|held| held.fence);
            held.truncate(JUDGED - fresh.len());
            fresh.extend(held);
        }
        fresh
    }

    fn below_the_floor(&self, held: &Held) -> Option<String> {
        let (floor, granted) = *self.floors.get(&held.resource)?;
        let is_wrong = held.fence < Some(floor) || held.owner.is_none() && held.fence == Some(floor);
        (is_wrong && held.asked > granted).then(|| format!("{floor:?} was granted long before {held:?}"))
    }

    fn forget(&mut self, before: u64) {
        let moment = Moment::since_origin(Duration::from_micros(before));
        for process in &mut self.processes {
            for held in process.checked.iter().filter(|held| held.stopped < moment) {
                if let Some(fence) = held.fence {
                    let floor = self.floors.entry(held.resource.clone()).or_insert((fence, held.granted));
                    *floor = (*floor).max((fence, held.granted));
                }
            }
            process.checked.retain(|held| held.stopped >= moment);
            process.stalls.retain(|(_, until)| *until >= before);
        }
        self.allowed.retain(|limit| limit.last() >= before);
    }

    /// How many leases are remembered.
    pub(super) fn remembered(&self) -> usize {
        self.processes.iter().map(|process| process.new.len() + process.checked.len()).sum()
    }
}
