//! A schedule: its plan, its options, and the start.

use std::{cell::RefCell, fmt, rc::Rc, sync::Arc, time::Duration};

use actix::Addr;
use futures_util::FutureExt;

use super::{
    Control, Misfire, Recover, RunResult, Scheduler, Tick,
    job::TickJob,
    plan::{Rules, TickPlan, seed_of},
    progress::Floor,
    term::PLAN,
    tick::whole_millis,
};
use crate::{
    core::{InvalidValue, ResourceName, ensure, in_range},
    leading::election::{Candidacy, elect},
    manager::LockManager,
    request::{Acquire, options::ROLE},
};

/// A schedule, each tick of which runs at most once in the whole fleet.
///
/// ```
/// use std::time::Duration;
/// use leasehold::schedule::{Misfire, Schedule};
/// # use leasehold::{LockManager, MemoryStore, Shutdown};
///
/// # #[actix::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
/// let scheduler = Schedule::every(Duration::from_secs(60))
///     .named("report")
///     .at_most(Duration::from_secs(50))
///     .misfire(Misfire::Once)
///     .start(&locks, async |tick| println!("report {} for {:?}", tick.number, tick.scheduled_for))?;
/// scheduler.run_now().await?;
/// # locks.send(Shutdown { drain: Duration::ZERO }).await?;
/// # Ok(())
/// # }
/// ```
///
/// Processes of one fleet start it with the same name, which is that of a resource, and with the same plan. One that sees another
/// process run it with another plan logs a warning with both.
///
/// # Default
/// * [`misfire`](Self::misfire): `Misfire::Once`.
/// * [`overlap`](Self::overlap): 1, so runs do not overlap.
/// * [`at_most`](Self::at_most): no limit. [`at_least`](Self::at_least), [`jitter`](Self::jitter): zero.
/// * [`ttl`](Self::ttl), [`finish_within`](Self::finish_within): the TTL of the lock manager, and a tenth of it.
/// * [`history`](Self::history): 20 runs.
/// * [`recover`](Self::recover): `Recover::Skip`. [`pause_after`](Self::pause_after): never.
#[derive(Clone)]
#[must_use = "a schedule does nothing until it is started"]
pub struct Schedule {
    plan: Result<TickPlan, InvalidValue>,
    name: Vec<u8>,
    at_most: Option<Duration>,
    at_least: Duration,
    misfire: Misfire,
    jitter: Duration,
    overlap: u32,
    history: u32,
    recover: Recover,
    pause_after: Option<u32>,
    ttl: Option<Duration>,
    finish_within: Option<Duration>,
}

impl Schedule {
    /// Creates a schedule with a tick at each multiple of `period` since 1970-01-01 00:00 UTC: with 15 minutes at each
    /// quarter of an hour, whenever processes are started. Whole milliseconds, from 10 ms to 366 days.
    pub fn every(period: Duration) -> Self {
        Self::new(TickPlan::every(period))
    }

    /// Creates a schedule by a cron expression with seconds, in a time zone: `("0 30 8 * * MON-FRI", "Europe/Berlin")`.
    ///
    /// The fields are second, minute, hour, day of the month, month, day of the week, and perhaps a year. Zones are those of the
    /// IANA. Where the clocks are put forward, a tick at a time that the night leaves out is at the end of the gap; where they are
    /// put back, a tick at a fixed time is at the first of the two. Ticks that an interval or `*` names go on through both.
    ///
    /// An expression is refused that has no tick within five years (`0 0 0 30 2 *`), by the time of this machine; or a step
    /// that is larger than its field (`*/90` in the minutes), an empty item, or the name of a month or day in another field.
    #[cfg(feature = "cron")]
    pub fn cron(expression: impl Into<String>, zone: impl Into<String>) -> Self {
        Self::new(TickPlan::cron(&expression.into(), &zone.into()))
    }

    const fn new(plan: Result<TickPlan, InvalidValue>) -> Self {
        Self {
            plan,
            name: Vec::new(),
            at_most: None,
            at_least: Duration::ZERO,
            misfire: Misfire::Once,
            jitter: Duration::ZERO,
            overlap: 1,
            history: 20,
            recover: Recover::Skip,
            pause_after: None,
            ttl: None,
            finish_within: None,
        }
    }

    /// Sets the name, which every schedule needs: 1 to 512 bytes.
    pub fn named(mut self, name: impl AsRef<[u8]>) -> Self {
        self.name = name.as_ref().to_vec();
        self
    }

    /// Sets the longest time of a run, whether the lease is renewed or not: the work is stopped then, at its next await.
    /// Default: none.
    pub const fn at_most(mut self, time: Duration) -> Self {
        self.at_most = Some(time);
        self
    }

    /// Sets the shortest time between the starts of two runs in the fleet. Ticks that come sooner wait for it. Default: none.
    pub const fn at_least(mut self, time: Duration) -> Self {
        self.at_least = time;
        self
    }

    /// Sets the policy for missed ticks. Default: [`Misfire::Once`].
    pub const fn misfire(mut self, misfire: Misfire) -> Self {
        self.misfire = misfire;
        self
    }

    /// Sets the longest time that a tick waits before it may start, so that schedules of the same plan do not all start at
    /// once. The time is another one for each tick and name, and the same in all processes. It must be less than the period;
    /// with a cron expression at most an hour, and a tick whose successor starts sooner is missed. Default: none.
    pub const fn jitter(mut self, jitter: Duration) -> Self {
        self.jitter = jitter;
        self
    }

    /// Sets the largest number of runs at a time, all in one process. With 1, ticks during a run are missed, and
    /// [`misfire`](Self::misfire) says what becomes of them. From 1 to 1,000. Default: 1.
    pub const fn overlap(mut self, runs: u32) -> Self {
        self.overlap = runs;
        self
    }

    /// Sets the number of runs that the store remembers, 1 to 100. Default: 20.
    pub const fn history(mut self, runs: u32) -> Self {
        self.history = runs;
        self
    }

    /// Sets the policy for runs that did not end, such as those of a process that died. Needs a store with fences, and a
    /// [`history`](Self::history) that still has the run. Default: [`Recover::Skip`].
    pub const fn recover(mut self, recover: Recover) -> Self {
        self.recover = recover;
        self
    }

    /// Sets the number of runs in a row that failed, panicked or took too long, after which the schedule pauses, as by
    /// [`Control::pause`]: for the whole fleet, until it is resumed. Runs that were stopped or did not end count for nothing. From 1
    /// to the number of runs in the [`history`](Self::history), less those that may [`overlap`](Self::overlap) another. Default: it
    /// does not pause by itself.
    pub const fn pause_after(mut self, failures: u32) -> Self {
        self.pause_after = Some(failures);
        self
    }

    /// Sets the TTL of the lease: how soon another process goes on after one that died. Default: that of the lock manager.
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Sets the time that a run has to finish when its process is stopped; then it is cut, and its outcome is
    /// [`Stopped`](super::Outcome::Stopped). Default: a tenth of the TTL, so a run of 1.5 s is cut with a TTL of 10 s.
    ///
    /// At most a third of the TTL. More is refused: at the start if the schedule has a [`ttl`](Self::ttl), and otherwise as
    /// what the lock manager refuses, which the log tells and nothing runs.
    pub const fn finish_within(mut self, time: Duration) -> Self {
        self.finish_within = Some(time);
        self
    }

    /// Starts the schedule in this process. Of all processes that have started it, one runs it. The store need not be there yet.
    ///
    /// The work runs in the arbiter that this is called in. A process that is frozen or cut off loses its lease, and the
    /// work is stopped at its next await. For what it writes until then there is the [fence](Tick::fence).
    ///
    /// # Errors
    /// [`InvalidValue`] for a name, an expression, a zone or an option that is invalid. What the lock manager refuses, a TTL
    /// beyond its limits for instance, and a store that has no registers, are logged as an error: nothing runs then.
    ///
    /// # Panics
    /// When it is called outside of a tokio `LocalSet`. Every actix arbiter is one.
    pub fn start<W, R>(self, locks: &Addr<LockManager>, work: W) -> Result<Scheduler, InvalidValue>
    where
        W: AsyncFn(Tick) -> R + 'static,
        R: RunResult,
    {
        let name = ResourceName::new(&self.name)
            .map_err(|error| InvalidValue { field: "schedule.named".to_owned(), ..error })?;
        let rules = self.rules()?;
        let mut request = Acquire::new(&self.name).purpose("schedule").metadata(ROLE, "schedule");
        request = request.metadata(PLAN, rules.plan.in_words());
        request.options.ttl = self.ttl;
        let mut candidacy = Candidacy::from(request);
        candidacy.budget = self.finish_within.map(|time| ("schedule.finish_within", time));
        let work = Rc::new(work);
        let control = Control { locks: locks.clone(), name, changed: Arc::default() };
        let job = TickJob {
            control: control.clone(),
            rules,
            at_most: self.at_most,
            work: Rc::new(move |tick| {
                let work = Rc::clone(&work);
                async move { work(tick).await.error() }.boxed_local()
            }),
            floor: Floor::default(),
            foreign_plan: RefCell::default(),
        };
        Ok(Scheduler { control, election: elect(locks, candidacy, job)? })
    }

    fn rules(&self) -> Result<Rules, InvalidValue> {
        const MILLISECOND: Duration = Duration::from_millis(1);
        const YEAR: Duration = Duration::from_secs(366 * 24 * 60 * 60);
        let plan = self.plan.clone()?;
        if let Some(time) = self.at_most {
            in_range("schedule.at_most", time, MILLISECOND, YEAR)?;
        }
        in_range("schedule.at_least", self.at_least, Duration::ZERO, YEAR)?;
        in_range("schedule.jitter", self.jitter, Duration::ZERO, plan.longest_jitter())?;
        if let Misfire::All(most) = self.misfire {
            number("schedule.misfire", most, 1_000)?;
        }
        let repeats = match self.recover {
            Recover::Skip => 0,
            Recover::Again { at_most } => {
                number("schedule.recover", at_most, 100)?;
                at_most
            }
        };
        let history = number("schedule.history", self.history, 100)?;
        let pause_after = match self.pause_after {
            None => 0,
            // Runs that go on have a place in the history as well.
            Some(failures) => {
                number("schedule.pause_after", failures, (self.history + 1).saturating_sub(self.overlap))?
            }
        };
        Ok(Rules {
            plan,
            misfire: self.misfire,
            jitter: whole_millis("schedule.jitter", self.jitter)?,
            seed: seed_of(&self.name),
            at_least: whole_millis("schedule.at_least", self.at_least)?,
            at_once: number("schedule.overlap", self.overlap, 1_000)?,
            history,
            repeats,
            pause_after,
        })
    }
}

fn number(field: &str, number: u32, most: u32) -> Result<usize, InvalidValue> {
    ensure((1..=most).contains(&number), field, number, format!("1 to {most}"))?;
    Ok(number as usize)
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedule")
            .field("name", &String::from_utf8_lossy(&self.name))
            .field("misfire", &self.misfire)
            .field("overlap", &self.overlap)
            .finish_non_exhaustive()
    }
}
