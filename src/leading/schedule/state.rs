//! The state of a schedule, which its register keeps for the whole fleet, and every change to it.

use std::{collections::VecDeque, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    plan::{Rules, Step, TickPlan, WantedTick},
    progress::ScheduleProgress,
    tick::{Entry, Millis, Outcome, Status, Tick, check_time, millis, time_of},
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
        let step = match &self.asked {
            Some(asked) => Step::Claim(WantedTick { scheduled_for: asked.at, asked: true }),
            None if self.paused => Step::Wait(None),
            None => rules.due(self.progress.last, now),
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
        let WantedTick { scheduled_for, asked } = wanted;
        if asked {
            self.asked.take().into_iter().for_each(|asked| self.progress.serve(asked.id));
        } else {
            self.progress.last = scheduled_for;
        }
        self.progress.number += 1;
        self.claim = token.to_hex();
        self.fence = fence.map_or(self.fence, Fence::get);
        self.started = now;
        let (number, fence) = (self.progress.number, fence.map(Fence::get));
        let entry = Entry { number, scheduled_for, fence, asked, started: now, ..Entry::default() };
        self.runs.push_front(entry.clone());
        self.runs.truncate(history);
        entry.tick()
    }

    pub(super) fn was_claimed_by(&self, token: Token) -> bool {
        self.claim == token.to_hex()
    }

    /// Writes down the end of a run, if the history still has it.
    pub(super) fn ended(&mut self, number: u64, took: Duration, outcome: &Outcome) {
        for run in self.runs.iter_mut().filter(|run| run.number == number) {
            // JSON has all that an outcome has.
            run.ended = Some((millis(took), serde_json::to_value(outcome).unwrap_or_default()));
        }
    }

    pub(super) fn resume(&mut self, now: Millis) {
        if std::mem::take(&mut self.paused) {
            self.progress.last = self.progress.last.max(now);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leading::schedule::plan::Misfire;

    const PLAN: TickPlan = TickPlan::Every(100);

    fn begun(now: Millis) -> ScheduleState {
        ScheduleState::begun(now, Token::from_bits(1))
    }

    fn rules() -> Rules {
        Rules { plan: PLAN, misfire: Misfire::Once, jitter: 0, seed: 0, at_least: 0, at_once: 1, history: 2 }
    }

    fn step(state: &ScheduleState, rules: &Rules, running: usize, now: Millis) -> Step {
        state.step(rules, Some(Fence::new(5)), running, now)
    }

    fn claim(state: &mut ScheduleState, now: Millis) -> Tick {
        let Step::Claim(wanted) = step(state, &rules(), 0, now) else { panic!("nothing is due") };
        state.claim(wanted, Token::from_bits(u128::from(now)), Some(Fence::new(5)), 2, now)
    }

    #[test]
    fn who_has_a_smaller_fence_than_the_last_claim_is_overtaken() {
        let mut state = begun(0);
        claim(&mut state, 100);
        let step = |fence| state.step(&rules(), fence, 0, 200);
        assert_eq!(step(Some(Fence::new(4))), Step::Overtaken);
        assert!(matches!(step(Some(Fence::new(5))), Step::Claim(_)));
        assert!(matches!(step(None), Step::Claim(_)), "a store without fences");
    }

    #[test]
    fn runs_do_not_overlap_and_rest_for_the_shortest_time() {
        let (mut state, mut rules) = (begun(0), rules());
        claim(&mut state, 100);
        assert_eq!(step(&state, &rules, 1, 200), Step::Wait(None));
        rules.at_once = 2;
        assert!(matches!(step(&state, &rules, 1, 200), Step::Claim(_)));
        rules.at_least = 250;
        assert_eq!(step(&state, &rules, 0, 349), Step::Wait(Some(350)));
        assert!(matches!(step(&state, &rules, 0, 350), Step::Claim(WantedTick { scheduled_for: 300, .. })));
    }

    #[test]
    fn a_run_that_was_asked_for_is_run_once_also_in_a_pause_and_takes_no_tick_away() {
        let mut state = begun(0);
        state.paused = true;
        state.ask(Token::from_bits(1), 30);
        state.ask(Token::from_bits(2), 40);
        let tick = claim(&mut state, 50);
        assert_eq!((tick.number, tick.scheduled_for, tick.asked), (1, time_of(30), true));
        state.ask(Token::from_bits(1), 60);
        assert_eq!(step(&state, &rules(), 0, 60), Step::Wait(None), "a repeat");
        state.paused = false;
        assert_eq!(claim(&mut state, 100).scheduled_for, time_of(100));
    }

    #[test]
    fn the_history_has_the_latest_runs_and_reads_back() {
        let mut state = begun(0);
        for now in [100, 200, 300] {
            claim(&mut state, now);
        }
        state.ended(1, Duration::from_millis(7), &Outcome::Done);
        state.ended(2, Duration::from_millis(7), &Outcome::failed(&"x".repeat(201)));
        let history = state.status(0).history;
        assert_eq!(history.iter().map(|run| run.tick.number).collect::<Vec<_>>(), [3, 2]);
        let failed = Outcome::Failed(format!("{}…", "x".repeat(200)));
        assert_eq!(history[1].ended, Some((Duration::from_millis(7), failed)));
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<ScheduleState>(&text).unwrap(), state);
    }

    #[test]
    fn what_a_later_version_has_written_is_left_as_it_is() {
        let mut state = begun(0);
        claim(&mut state, 100);
        state.ended(1, Duration::ZERO, &Outcome::failed("no paper"));
        let text = serde_json::to_string(&state).unwrap();
        let later = text.replace(r#"{"failed":"#, r#"{"postponed":"#).replacen('{', r#"{"new":{"er":1},"#, 1);
        let mut state: ScheduleState = serde_json::from_str(&later).unwrap();
        assert_eq!(state.status(0).history[0].ended, Some((Duration::ZERO, Outcome::Unknown)));
        claim(&mut state, 200);
        let text = serde_json::to_string(&state).unwrap();
        assert!(text.contains(r#""new":{"er":1}"#) && text.contains(r#"{"postponed":"no paper"}"#), "{text}");
    }

    #[test]
    fn a_run_that_was_asked_for_is_not_compared_with_the_clock_and_a_last_tick_in_the_future_shows() {
        let mut state = begun(1_000);
        assert!(!state.is_ahead(&PLAN, 950) && state.is_ahead(&PLAN, 850));
        state.ask(Token::from_bits(1), 1_030);
        let wanted = WantedTick { scheduled_for: 1_030, asked: true };
        assert_eq!(step(&state, &rules(), 0, 10), Step::Claim(wanted));
    }

    #[test]
    fn times_after_the_year_9999_and_numbers_that_cannot_be_counted_on_are_told_apart_from_others() {
        let check = |text: &str| serde_json::from_str::<ScheduleState>(text).unwrap().check();
        let (latest, later) = (253_402_300_799_999_u64, 253_402_300_800_000_u64);
        for (text, field) in [
            (r#"{"last":TIME}"#, "last"),
            (r#"{"started":TIME}"#, "started"),
            (r#"{"asked":{"at":TIME,"id":"1"}}"#, "asked.at"),
            (r#"{"runs":[{},{"scheduled_for":TIME}]}"#, "runs.scheduled_for"),
            (r#"{"runs":[{},{"started":TIME}]}"#, "runs.started"),
        ] {
            assert_eq!(check(&text.replace("TIME", &latest.to_string())), Ok(()), "{field}");
            for time in [later, u64::MAX] {
                let told = format!("{field} is {time}, after the year 9999");
                assert_eq!(check(&text.replace("TIME", &time.to_string())), Err(told));
            }
        }
        assert_eq!(check(r#"{"number":9007199254740992}"#), Ok(()));
        let told = "number is 18446744073709551615, more than 9007199254740992".to_owned();
        assert_eq!(check(r#"{"number":18446744073709551615}"#), Err(told));
    }
}
