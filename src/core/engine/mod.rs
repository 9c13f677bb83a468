//! All acquisitions of one manager as one pure machine: events come in, and steps go out.
//!
//! ```text
//!   requests, answers, timers,       ┌─────────── Engine::on ───────────┐
//!   notifications, callers gone ───▶ │ Acquisition   one, and its stage │ ───▶ steps, in their order: ask, release,
//!   ends of leases                   │ Cohort        who asks for all   │      hand off, answer, set a timer, remove
//!                                    │ Demand        how long they wait │
//!                                    └──────────────────────────────────┘
//! ```
//!
//! An event happens to one acquisition. What it decides may be followed by decisions of others: the next member of its cohort
//! leads, or is handed the resource. The manager carries out all steps that follow, before it feeds the next event. They stay in
//! the engine until they are taken, so that a panic loses the one at most that was being carried out.

mod acquisition;
mod cohort;
mod demands;
mod ending;
mod expected;
mod steps;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::VecDeque;

use slotmap::SlotMap;

pub(crate) use self::{
    acquisition::{Acquisition, Answer, End, Event, Front, Terms, Told},
    cohort::LongQueue,
    steps::{Ended, RecordKey, Step},
};
use self::{
    acquisition::{ReleaseStep, Situation, Steps},
    cohort::{CohortKey, Cohorts},
    demands::{Demands, Place},
};
use crate::core::{Mode, Moment, ResourceName, TokenPrefix};

/// The acquisitions of one manager.
pub(crate) struct Engine {
    entries: SlotMap<RecordKey, Entry>,
    cohorts: Cohorts,
    demands: Demands,
    pub(crate) rules: Rules,
    /// True while notifications of the store arrive.
    pub(crate) subscribed: bool,
    /// The steps that have been decided and not been taken.
    steps: VecDeque<(RecordKey, Step)>,
}

/// The bounds of local waiting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// The largest number of hand-offs in a row ahead of other processes. With zero there are no cohorts.
    pub(crate) local_handover_limit: u32,
    /// The maximum number of waiters of this manager for one resource that they want exclusively.
    pub(crate) max_waiters_here: u32,
}

/// The subject of an acquisition.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) resource: ResourceName,
    pub(crate) token: TokenPrefix,
    pub(crate) mode: Mode,
    /// True if it ends at once when it is not likely to be served within its wait.
    pub(crate) give_up_early: bool,
}

/// An acquisition, and its place among the others.
struct Entry {
    acquisition: Acquisition,
    wanted: Wanted,
    /// The cohort of this manager's waiters for the same resource, if it has joined one or keeps one waiting.
    cohort: Option<CohortKey>,
    /// The arrival number in the cohort, while it waits there.
    arrival: Option<u64>,
    /// The turns that it waits, as soon as they are known.
    place: Option<Place>,
}

/// The moment of an event, and random numbers in `0.0..1.0`.
struct Turn<'a> {
    now: Moment,
    roll: &'a mut dyn FnMut() -> f64,
}

impl Engine {
    pub(crate) fn new(rules: Rules) -> Self {
        let (entries, steps) = (SlotMap::with_key(), VecDeque::new());
        let (cohorts, demands) = (Cohorts::default(), Demands::default());
        Self { entries, cohorts, demands, rules, subscribed: false, steps }
    }

    /// Adds a request. [`Event::Requested`] has to follow.
    pub(crate) fn admit(&mut self, terms: Terms, wanted: Wanted) -> RecordKey {
        self.insert(Acquisition::new(terms), wanted)
    }

    /// Adds what the store holds, or may hold until the end of an attempt with an unknown outcome, and nobody waits for here.
    pub(crate) fn adopt(
        &mut self,
        wanted: Wanted,
        alone: bool,
        unknown_until: Option<Moment>,
        now: Moment,
    ) -> RecordKey {
        self.insert(Acquisition::held(unknown_until, alone, now), wanted)
    }

    fn insert(&mut self, acquisition: Acquisition, wanted: Wanted) -> RecordKey {
        self.entries.insert(Entry { acquisition, wanted, cohort: None, arrival: None, place: None })
    }

    /// Removes an acquisition whose release the engine does not see.
    pub(crate) fn forget(&mut self, record: RecordKey) {
        self.entries.remove(record);
    }

    pub(crate) fn get(&self, record: RecordKey) -> Option<&Acquisition> {
        self.entries.get(record).map(|entry| &entry.acquisition)
    }

    /// Returns the waiters that the store may keep a queue ticket for.
    pub(crate) fn queued(&self) -> Vec<RecordKey> {
        let queued = self.entries.iter().filter(|(_, entry)| entry.acquisition.has_ticket());
        queued.map(|(record, _)| record).collect()
    }

    pub(crate) fn longest_queues(&self) -> Vec<LongQueue> {
        self.cohorts.longest_queues()
    }

    pub(crate) fn forget_old_demand(&mut self, now: Moment) {
        self.demands.forget_old(now);
    }

    /// Takes the next step, which has to be carried out.
    pub(crate) fn next_step(&mut self) -> Option<(RecordKey, Step)> {
        self.steps.pop_front()
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.cohorts.is_empty() && self.steps.is_empty()
    }

    fn push(&mut self, record: RecordKey, step: Step) {
        self.steps.push_back((record, step));
    }

    /// Decides what follows an event. `roll` returns a random number in `0.0..1.0`; nothing else may panic in here.
    pub(crate) fn on(&mut self, record: RecordKey, event: Event, now: Moment, roll: &mut dyn FnMut() -> f64) {
        let turn = &mut Turn { now, roll };
        match event {
            Event::Requested => self.requested(record, turn),
            Event::Answered { answer: Answer::Granted { overtook, .. }, sent } => {
                self.granted(record, event, (sent, overtook), turn);
            }
            Event::Answered { answer, .. } => self.answered(record, event, answer, turn),
            Event::Release { .. } | Event::Lost { .. } => self.end_lease(record, event, turn),
            _ => self.decide(record, event, turn),
        }
    }

    /// Has an acquisition decide about an event, and carries out what concerns the others.
    fn decide(&mut self, record: RecordKey, event: Event, turn: &mut Turn<'_>) {
        if let Some(steps) = self.steps_of(record, event, turn) {
            self.follow(record, steps, turn);
        }
    }

    /// Returns the steps that follow an event. A member of a cohort that followed another one and asks from now on leads it.
    fn steps_of(&mut self, record: RecordKey, event: Event, turn: &mut Turn<'_>) -> Option<Steps> {
        let Self { entries, cohorts, subscribed, .. } = self;
        let Entry { acquisition, cohort, arrival, .. } = entries.get_mut(record)?;
        let waits_in = cohort.filter(|_| arrival.is_some());
        let relied_on = waits_in.and_then(|key| cohorts.get(key)).is_some_and(|it| it.relies_on(record));
        let here = Situation { now: turn.now, subscribed: *subscribed, relied_on };
        let followed = acquisition.is_following();
        let steps = acquisition.on(event, here, &mut *turn.roll);
        if let Some(cohort) = waits_in.filter(|_| followed && acquisition.is_asking()) {
            cohorts.with(cohort, |it| it.lead(record));
        }
        Some(steps)
    }

    fn follow(&mut self, record: RecordKey, steps: Steps, turn: &mut Turn<'_>) {
        if let Some(pause) = steps.wake_after {
            self.push(record, Step::WakeAfter(pause));
        }
        if steps.ask {
            self.push(record, Step::Ask { is_urgent: steps.is_urgent });
        } else if steps.is_urgent {
            self.push(record, Step::Hurry);
        }
        if steps.leave && self.get(record).is_some_and(Acquisition::is_asking) {
            self.push(record, Step::Withdraw);
        }
        if let Some(end) = steps.end {
            let ended = self.ended(record, end, turn.now);
            self.steps.extend(ended.map(|ended| (record, Step::End(ended))));
        }
        if steps.abandon {
            self.abandon(record);
        }
        let left = if steps.leave { self.leave_cohort(record) } else { None };
        if let Some(ReleaseStep { opening, hand_off }) = steps.release {
            let handed_off = if hand_off { self.hand_off(record, turn) } else { None };
            self.push(record, handed_off.unwrap_or(Step::Release { opening }));
        }
        if steps.remove {
            self.entries.remove(record);
            self.push(record, Step::Remove);
        }
        if let Some(cohort) = left {
            self.mend_cohort(cohort, turn);
        }
    }
}
