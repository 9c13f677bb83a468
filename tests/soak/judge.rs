//! The judgement of what a ledger has collected: each promise, and what explains that one was not kept.

use std::{collections::BTreeMap, time::Duration};

use leasehold::ResourceName;
use leasehold_sim::linearizable;
use leasehold_testing::history::{self, Conflict, Held};

use super::{
    leading::TICK,
    ledger::{Ledger, REMEMBERED},
};
use crate::{
    load::{Loss, Report},
    outages::scenario::LONGEST_TTL,
};

/// The time after which all has been told that concerns a lease that has ended: processes may be frozen meanwhile.
const SETTLED: u64 = 30_000_000;
/// The time by which a loss may be told late without a stall that shows why. The witness of a process is a task on the thread
/// of its callers: it sees neither the thread of a lock manager, nor waits of less than 15 ms.
const UNSEEN: Duration = Duration::from_millis(100);
/// Of so many grants one may be lost and be told so much later.
const UNSEEN_ONE_OF: u64 = 1_000;
/// The number of leases of a window that are given to the external checker, whose time grows with the number of those held at once.
const JUDGED: usize = 1_200;
/// For how long a process must have had no turn in the TTL before a loss, so that this explains it: half of a renewal interval.
const NO_TURN: u64 = 500_000;
/// What is said of losses that nothing explains.
pub(super) const UNEXPLAINED: &str = "for no reason";
/// The time without a tick that no change of the runner explains: its TTL is shorter.
const NO_TICK: Duration = Duration::from_secs(4);

/// What ended long ago and is to be checked.
pub(super) struct Settled(pub(super) Report);

impl Settled {
    /// Returns true if a loss was told later than a thread may wait for a processor that no witness sees: that of a lock manager.
    fn is_late(&self, held: &Held) -> bool {
        let later = Held { valid_until: held.valid_until + UNSEEN, ..held.clone() };
        let alone = Report { held: vec![later], stalls: self.0.stalls.clone(), ..Report::default() };
        !alone.told_late().is_empty()
    }
}

impl Ledger {
    /// Checks what has ended so far, or if the end has come all of it; forgets what ended long ago.
    pub(super) fn check(&mut self, now: u64, is_end: bool) {
        let settled = if is_end { u64::MAX } else { now.saturating_sub(SETTLED) };
        let new: Vec<Settled> = self.processes.iter_mut().map(|process| process.settled(settled)).collect();
        let fresh = || new.iter().flat_map(|process| &process.0.held);
        let all = || self.processes.iter().flat_map(|process| &process.checked).chain(fresh());
        let mut wrong: Vec<String> =
            if self.is_quorum { history::fences_of_quorum(all()) } else { history::fences(all()) };
        self.totals.pairs += pairs(fresh(), all());
        let mut documented = Vec::new();
        for conflict in history::conflicts(all()) {
            match self.explained(&conflict) {
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
        let led =
            self.leaders.check(settled).into_iter().map(|(at, what)| (at, format!("singleton: {what}")));
        let mut led: Vec<_> = led.collect();
        for (partition, (owners, _)) in self.owners.iter_mut().enumerate() {
            led.extend(
                owners
                    .check(settled)
                    .into_iter()
                    .map(|(at, what)| (at, format!("partition {partition}: {what}"))),
            );
        }
        for (at, what) in led {
            match self.allowed.iter().find(|limit| limit.covers(at)) {
                None => wrong.push(what),
                Some(limit) => *self.totals.documented.entry(limit.why).or_default() += 1,
            }
        }
        wrong.extend(self.missing_ticks(settled));
        for process in &new {
            wrong
                .extend(process.0.losses.iter().filter_map(|loss| self.unexplained(loss, &process.0.stalls)));
        }
        if is_end {
            wrong.extend(self.at_the_end(now));
        }
        self.violations.extend(wrong);
        for (process, new) in self.processes.iter_mut().zip(new) {
            process.checked.extend(new.0.held);
        }
        self.forget_before(now.saturating_sub(REMEMBERED));
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
        let floor = self.floors.get(&held.resource)?;
        let is_wrong = held.fence < floor.fence || held.owner.is_none() && held.fence == floor.fence;
        (is_wrong && held.asked > floor.granted)
            .then(|| format!("{floor:?} was granted long before {held:?} was asked for"))
    }

    /// What a conflict is documented as.
    fn explained(&self, conflict: &Conflict) -> Option<&'static str> {
        let by_force = self.taken.iter().any(|taken| taken.explains(conflict, &self.spans));
        let limit = self.allowed.iter().find(|limit| limit.allows(conflict)).map(|limit| limit.why);
        by_force.then_some("taken by force").or(limit)
    }

    /// Counts a loss; says so if nothing explains it.
    fn unexplained(&mut self, loss: &Loss, stalls: &[(u64, u64)]) -> Option<String> {
        let ttl = LONGEST_TTL.as_micros() as u64;
        let stalled = |&(from, until): &(u64, u64)| {
            until.min(loss.at).saturating_sub(from.max(loss.at.saturating_sub(ttl)))
        };
        let why = if self.spans.explain(loss.at) {
            "in or after a fault"
        } else if stalls.iter().map(stalled).sum::<u64>() >= NO_TURN {
            "its process had no turn"
        } else {
            UNEXPLAINED
        };
        *self.totals.losses.entry(why).or_default() += 1;
        (why == UNEXPLAINED).then(|| format!("lost without a fault: {loss:?}"))
    }

    fn missing_ticks(&mut self, before: u64) -> Vec<String> {
        let mut wrong = Vec::new();
        for (from, until) in self.ticks.gaps(before) {
            let calm = self.spans.calm(from, until);
            self.totals.missing_ticks += (calm.as_millis() / TICK.as_millis()).saturating_sub(1) as u64;
            if calm >= NO_TICK {
                wrong
                    .push(format!("no tick from {from} to {until}, of which {calm:?} are outside of faults"));
            }
        }
        wrong
    }

    /// What only the whole run shows.
    fn at_the_end(&mut self, now: u64) -> Vec<String> {
        let time = (now.saturating_sub(self.began) / 1_000_000).max(1);
        let (asked, mut wrong) = self.spans.judge(self.totals.grants / time, self.granted.len());
        self.totals.progress = asked;
        let (unseen, most) = (self.totals.a_little_late, 1 + self.totals.grants / UNSEEN_ONE_OF);
        if unseen > most {
            wrong.push(format!(
                "{unseen} losses were told a little late, and no stall shows why: more than {most}"
            ));
        }
        wrong
    }
}

/// How many pairs of leases of one resource, at least one of them fresh, are compared with each other.
fn pairs<'a>(fresh: impl Iterator<Item = &'a Held>, all: impl Iterator<Item = &'a Held>) -> u64 {
    let mut counts: BTreeMap<&ResourceName, (u64, u64)> = BTreeMap::new();
    all.for_each(|held| counts.entry(&held.resource).or_default().1 += 1);
    fresh.for_each(|held| counts.entry(&held.resource).or_default().0 += 1);
    counts.into_values().map(|(fresh, all)| fresh * (all - fresh) + fresh * fresh.saturating_sub(1) / 2).sum()
}
