//! The state of a schedule, which its register keeps for the whole fleet, and every change to it.

use std::{collections::VecDeque, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    plan::{Rules, Step, TickPlan, WantedTick},
    progress::ScheduleProgress,
    recovery::unfinished,
    tick::{Entry, Millis, Outcome, Status, Tick, check_time, is_zero, millis, time_of},
};
use crate::core::{Fence, Token};

/// The largest number of runs: readers of JSON have whole numbers up to here.
const MOST_RUNS: u64 = 1 << 53;

/// The state of a schedule. Times are in milliseconds since 1970, by the clock of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ScheduleState {
    #[serde(flatten)]
    progress: ScheduleProgress,
    claim: String,
    fence: u64,
    /// The time of the last claim.
    started: Millis,
    pub(super) paused: bool,
    /// The last run that counts no more as failed or unfinished, because the schedule was resumed after it.
    #[serde(skip_serializing_if = "is_zero")]
    forgiven: u64,
    asked: Option<AskedRun>,
    runs: VecDeque<Entry>,
    /// The fields of a later version, which are left as they are.
    #[serde(flatten)]
    later: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AskedRun {
    at: Millis,
    id: String,
    #[serde(flatten)]
    later: Map<String, Value>,
}

impl ScheduleState {
    /// Returns the state of a schedule that nobody has seen before: the ticks up to now are not its own.
    pub(super) fn begun(now: Millis, token: Token) -> Self {
        Self { progress: ScheduleProgress::begun(now, token), ..Self::default() }
    }

    /// Checks what was read, so that it can be shown and counted on. An error is the reason why no schedule comes to it.
    pub(super) fn check(&self) -> Result<(), String> {
        check_time("last", self.progress.last)?;
        let number = self.progress.number;
        if number > MOST_RUNS {
            return Err(format!("number is {number}, more than {MOST_RUNS}"));
        }
        check_time("started", self.started)?;
        self.asked.iter().try_for_each(|asked| check_time("asked.at", asked.at))?;
        self.runs.iter().try_for_each(|run| {
            check_time("runs.scheduled_for", run.scheduled_for)?;
            check_time("runs.started", run.started)
        })
    }

    /// Raises the progress to what this runner has seen before, and returns true if the store has forgotten some of that by a
    /// failover.
    pub(super) fn meet(&mut self, floor: &mut ScheduleProgress) -> bool {
        let before = self.progress.clone();
        self.progress.meet(floor);
        self.asked.take_if(|asked| self.progress.has_served(&asked.id));
        self.progress != before
    }

    /// Returns true if the last tick was far in the future: the clock of the store was ahead when it was claimed. Nothing of
    /// the plan runs until that time.
    pub(super) fn is_ahead(&self, plan: &TickPlan, now: Millis) -> bool {
        plan.gap(now).next.is_some_and(|next| self.progress.last > next)
    }

    /// Returns the next step of the runner that has this fence and so many runs going on.
    pub(super) fn step(&self, rules: &Rules, fence: Option<Fence>, running: usize, now: Millis) -> Step {
        if fence.is_some_and(|fence| fence.get() < self.fence) {
            return Step::Overtaken;
        }
        if running >= rules.at_once {
            return Step::Wait(None);
        }
        let is_over =
            |run: &Entry| run.number <= self.forgiven || self.progress.has_served(&repetition_of(run));
        let unfinished = || unfinished(self.runs.iter(), fence?.get(), rules, is_over);
        let step = match &self.asked {
            Some(asked) => Step::Claim(WantedTick { scheduled_for: asked.at, asked: true, repeats: 0 }),
            None if self.paused => Step::Wait(None),
            None => match unfinished() {
                Some(&Entry { scheduled_for, asked, repeats, .. }) => {
                    Step::Claim(WantedTick { scheduled_for, asked, repeats: repeats.saturating_add(1) })
                }
                None => rules.due(self.progress.last, now),
            },
        };
        let rests_until =
            if self.progress.number == 0 { 0 } else { self.started.saturating_add(rules.at_least) };
        match step {
            // A clock that went back does not stop a schedule for as long as it went back.
            Step::Claim(_) if (self.started..rests_until).contains(&now) => Step::Wait(Some(rests_until)),
            step => step,
        }
    }

    pub(super) fn claim(
        &mut self,
        wanted: WantedTick,
        token: Token,
        fence: Option<Fence>,
        history: usize,
        now: Millis,
    ) -> Tick {
        let WantedTick { scheduled_for, asked, repeats } = wanted;
        match (repeats, asked) {
            (0, true) => self.asked.take().into_iter().for_each(|asked| self.progress.serve(asked.id)),
            (0, false) => self.progress.last = scheduled_for,
            // Its tick was claimed before. The repetition is remembered like a run that was asked for: a failover may forget it.
            _ => self.progress.serve(format!("{scheduled_for}/{repeats}")),
        }
        self.progress.number += 1;
        self.claim = token.to_hex();
        self.fence = fence.map_or(self.fence, Fence::get);
        self.started = now;
        let (number, fence) = (self.progress.number, fence.map(Fence::get));
        let entry = Entry { number, scheduled_for, fence, asked, repeats, started: now, ..Entry::default() };
        self.runs.push_front(entry.clone());
        self.runs.truncate(history);
        entry.tick()
    }

    pub(super) fn was_claimed_by(&self, token: Token) -> bool {
        self.claim == token.to_hex()
    }

    /// Writes down the end of a run of this fence, if the history still has it and no end of it. Pauses if so many runs have failed
    /// in a row, and not zero. Returns true if it pauses.
    pub(super) fn ended(
        &mut self,
        (number, fence): (u64, Option<Fence>),
        (took, outcome): (Duration, &Outcome),
        pause_after: usize,
    ) -> bool {
        let fence = fence.map(Fence::get);
        let is_it = |run: &&mut Entry| run.number == number && run.fence == fence && run.ended.is_none();
        for run in self.runs.iter_mut().filter(is_it) {
            // JSON has all that an outcome has.
            run.ended = Some((millis(took), serde_json::to_value(outcome).unwrap_or_default()));
        }
        let pauses =
            !self.paused && pause_after > 0 && outcome.is_failure() && self.failures() >= pause_after;
        self.paused |= pauses;
        pauses
    }

    /// Returns the number of runs that failed in a row, of those that have ended since the last resumption.
    fn failures(&self) -> usize {
        let ended = self.runs.iter().filter(|run| run.number > self.forgiven).filter_map(Entry::outcome);
        let in_a_row = ended.take_while(|outcome| *outcome != Outcome::Done);
        in_a_row.filter(Outcome::is_failure).count()
    }

    pub(super) fn resume(&mut self, now: Millis) {
        if std::mem::take(&mut self.paused) {
            self.progress.last = self.progress.last.max(now);
            self.forgiven = self.progress.number;
        }
    }

    /// Asks for a run, unless one is asked for already. A repeat changes nothing.
    pub(super) fn ask(&mut self, id: Token, now: Millis) {
        let id = id.to_hex();
        if self.asked.is_none() && !self.progress.has_served(&id) {
            self.asked = Some(AskedRun { at: now, id, later: Map::new() });
        }
    }

    pub(super) fn status(&self, now: Millis) -> Status {
        Status {
            now: time_of(now),
            paused: self.paused,
            asked: self.asked.as_ref().map(|asked| time_of(asked.at)),
            last: time_of(self.progress.last),
            runs: self.progress.number,
            history: self.runs.iter().map(Entry::run).collect(),
        }
    }
}

/// Returns the name under which the repetition of a run is remembered.
fn repetition_of(run: &Entry) -> String {
    format!("{}/{}", run.scheduled_for, run.repeats.saturating_add(1))
}

#[cfg(test)]
mod tests;
