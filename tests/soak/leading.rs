//! The schedule, the singleton and the partitions of a process, and what they write down.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use actix::{Actor, Addr, AsyncContext};
use leasehold::{
    Acquire, LockManager,
    election::{Singleton, SingletonContext},
    partitions::{Member, Partitions},
    schedule::{Schedule, Scheduler, Tick},
};
use serde::{Deserialize, Serialize};

use super::worker::Notes;
use crate::load::micros;

/// The name of the schedule.
pub(super) const SCHEDULE: &str = "soak/schedule";
/// The name of the singleton.
pub(super) const SINGLETON: &str = "soak/singleton";
/// The name of the partitions, and how many there are.
const FLEET: &str = "soak/fleet";
pub(super) const PARTITIONS: u32 = 6;

const TTL: Duration = Duration::from_secs(3);
/// The time from one tick to the next.
pub(super) const TICK: Duration = Duration::from_millis(500);

/// A tick of the schedule that a process ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) number: u64,
    /// Its time by the plan, in microseconds since 1970.
    pub(super) scheduled_for: u64,
    pub(super) fence: u64,
    /// When it ran, in microseconds since the host was started.
    pub(super) at: u64,
}

/// A piece of work that the singleton or the actor of a partition did, at a moment in microseconds since the host was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Led {
    pub(super) at: u64,
    /// The end of the validity of its lease.
    pub(super) until: u64,
    pub(super) fence: u64,
    /// The process.
    pub(super) by: u32,
}

struct Ticker {
    notes: Notes,
    /// The number of its partition, unless it is the singleton.
    partition: Option<u32>,
}

impl Actor for Ticker {
    type Context = SingletonContext<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let fence = ctx.lease().fence().unwrap().get();
        ctx.run_interval(TICK / 2, move |this, ctx| {
            // Before the question, whose answer may wait for a turn on a processor.
            let at = micros();
            let until = at + ctx.lease().remaining().as_micros() as u64;
            let led = Led { at, until, fence, by: std::process::id() };
            let mut notes = this.notes.lock().unwrap();
            match this.partition {
                None => notes.led.push(led),
                Some(partition) => notes.owned.push((partition, led)),
            }
        });
    }
}

/// Starts all of them, the schedule only if the store has schedules.
pub(super) fn start(
    locks: &Addr<LockManager>,
    notes: &Notes,
    number: usize,
    schedules: bool,
) -> Option<Scheduler> {
    let ticker = |partition| {
        let notes = Arc::clone(notes);
        move || Ticker { notes: Arc::clone(&notes), partition }
    };
    Singleton::start(locks, Acquire::new(SINGLETON).ttl(TTL), ticker(None)).unwrap();
    let (member, noted) = (Member::new(format!("process-{number}")), Arc::clone(notes));
    let of = move |partition| Ticker { notes: Arc::clone(&noted), partition: Some(partition) };
    // It goes on when its handle is dropped.
    drop(Partitions::start(locks, Acquire::new(FLEET).ttl(TTL), PARTITIONS, member, of).unwrap());
    let noted = Arc::clone(notes);
    let run = move |tick: Tick| {
        let noted = Arc::clone(&noted);
        async move {
            let scheduled_for = tick.scheduled_for.duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
            let (number, fence) = (tick.number, tick.fence.unwrap().get());
            noted.lock().unwrap().runs.push(Run { number, scheduled_for, fence, at: micros() });
        }
    };
    schedules.then(|| Schedule::every(TICK).named(SCHEDULE).ttl(TTL).start(locks, run).unwrap())
}

/// The check of ticks as they come.
#[derive(Debug, Default)]
pub(super) struct Ticks {
    /// The last ones, in order of number.
    last: VecDeque<Run>,
    /// When those ran of which the gaps were not looked at.
    waiting: Vec<u64>,
    pub(super) runs: u64,
    pub(super) runners: u64,
}

impl Ticks {
    /// How many are remembered: more than a process that was frozen can be late.
    const REMEMBERED: usize = 2_000;

    /// Adds a tick; returns what is wrong with it.
    pub(super) fn add(&mut self, run: Run) -> Option<String> {
        self.runs += 1;
        self.waiting.push(run.at);
        let place = self.last.partition_point(|other| other.number < run.number);
        let before = place.checked_sub(1).and_then(|place| self.last.get(place).copied());
        let after = self.last.get(place).copied();
        self.runners += u64::from(after.is_none() && before.is_none_or(|before| before.fence != run.fence));
        self.last.insert(place, run);
        let is_full = self.last.len() > Self::REMEMBERED;
        if is_full {
            self.last.pop_front();
        }
        let follows = |one: Run, next: Run| {
            one.number < next.number && one.scheduled_for < next.scheduled_for && one.fence <= next.fence
        };
        let too_old = is_full && place == 0;
        let wrong = too_old
            || before.is_some_and(|before| !follows(before, run))
            || after.is_some_and(|after| !follows(run, after));
        wrong.then(|| format!("a tick ran twice or out of order: {before:?}, {run:?}, {after:?}"))
    }

    /// The times before a moment in which no tick ran for longer than the plan says, from when until when.
    pub(super) fn gaps(&mut self, before: u64) -> Vec<(u64, u64)> {
        self.waiting.sort_unstable();
        let settled = self.waiting.partition_point(|at| *at < before);
        let gaps = self.waiting[..settled].windows(2).map(|two| (two[0], two[1]));
        let gaps = gaps.filter(|(one, next)| next - one >= 2 * TICK.as_micros() as u64).collect();
        // The last one begins the next gap.
        self.waiting.drain(..settled.saturating_sub(1));
        gaps
    }
}

/// The check of what the singletons, or the actors of one partition, of all processes did.
#[derive(Debug, Default)]
pub(super) struct Leaders {
    waiting: Vec<Led>,
    last: Option<Led>,
    pub(super) terms: u64,
}

impl Leaders {
    pub(super) fn add(&mut self, led: &[Led]) {
        self.waiting.extend(led);
    }

    /// Checks what was done before a moment, after which all of it has been told. Returns what is wrong, with its moment.
    pub(super) fn check(&mut self, before: u64) -> Vec<(u64, String)> {
        self.waiting.sort_unstable();
        let rest = self.waiting.split_off(self.waiting.partition_point(|led| led.at < before));
        let mut found = Vec::new();
        for led in std::mem::replace(&mut self.waiting, rest) {
            if led.at >= led.until {
                found.push((led.at, format!("one worked without a valid lease: {led:?}")));
            }
            let last = self.last.filter(|last| last.fence > led.fence);
            let beside = self.last.filter(|last| last.fence == led.fence && last.by != led.by).or(last);
            found.extend(beside.map(|last| (led.at, format!("two at once: {last:?}, {led:?}"))));
            self.terms += u64::from(self.last.is_none_or(|last| last.fence < led.fence));
            self.last = last.or(Some(led));
        }
        found
    }
}
