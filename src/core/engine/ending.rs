//! The end of requests and leases: what is told, who is next, and what is released.

use super::{CohortKey, End, Ended, Engine, Entry, Event, RecordKey, Step, Told, Turn};
use crate::core::{Moment, ResourceName};

impl Engine {
    /// Describes the end of a request, before it leaves its cohort.
    pub(super) fn ended(&self, record: RecordKey, end: End, now: Moment) -> Option<Ended> {
        let expected_wait = self.still_expected(record, now);
        let acquisition = self.get(record)?;
        let told = acquisition.told;
        Some(Ended {
            end,
            told,
            attempts: acquisition.attempts,
            waited: acquisition.waited(now),
            ahead: acquisition.ahead(),
            expected_wait,
            behind: if let Told::Behind(_) = told { self.in_the_way(record) } else { None },
        })
    }

    /// Keeps the queue ticket of a waiter, without its caller, for its cohort.
    pub(super) fn abandon(&mut self, record: RecordKey) {
        if let Some(Entry { cohort: Some(cohort), arrival, .. }) = self.entries.get_mut(record)
            && let Some(arrival) = arrival.take()
        {
            self.cohorts.with(*cohort, |it| it.abandon(arrival));
        }
    }

    /// Removes a waiter from its cohort. Returns the cohort, if there is one.
    pub(super) fn leave_cohort(&mut self, record: RecordKey) -> Option<CohortKey> {
        let entry = self.entries.get_mut(record)?;
        let (cohort, arrival) = (entry.cohort?, entry.arrival.take());
        self.cohorts.with(cohort, |it| it.remove(record, arrival));
        Some(cohort)
    }

    /// Handles the end of a lease: its cohort does not wait for it any more, and is handed the resource if that is possible.
    pub(super) fn end_lease(&mut self, record: RecordKey, event: Event, turn: &mut Turn<'_>) {
        if let Event::Release { in_time: true, .. } = event {
            self.note_over(record, turn.now);
        }
        let cohort = self.find_cohort(record);
        if let Some(cohort) = cohort {
            self.cohorts.with(cohort, |it| it.released(record));
        }
        self.decide(record, event, turn);
        if let Some(cohort) = cohort {
            self.mend_cohort(cohort, turn);
        }
    }

    /// Makes the next member of a cohort ask with the release, ahead of other processes if it may. Returns the step.
    pub(super) fn hand_off(&mut self, from: RecordKey, turn: &mut Turn<'_>) -> Option<Step> {
        let cohort = self.find_cohort(from)?;
        let (to, overtake) = self.cohorts.get(cohort)?.next(self.rules.local_handover_limit)?;
        // With two attempts in flight it would not be clear which answer is the last.
        self.get(to).filter(|next| !next.is_asking())?;
        self.steps_of(to, Event::HandOff, turn)?;
        Some(Step::HandOff { to, overtake })
    }

    /// Handles a resource that was taken away from its holders. A lease of this manager may learn of it later, for which its
    /// cohort does not wait.
    pub(crate) fn opened(&mut self, resource: &ResourceName, now: Moment, roll: &mut dyn FnMut() -> f64) {
        if let Some(cohort) = self.cohorts.find(None, resource)
            && let Some(holder) = self.cohorts.get(cohort).and_then(|it| it.holder)
        {
            self.cohorts.with(cohort, |it| it.released(holder));
            self.mend_cohort(cohort, &mut Turn { now, roll });
        }
    }

    /// Dissolves all cohorts, before their members are dismissed one by one.
    pub(crate) fn dissolve_cohorts(&mut self) {
        self.cohorts.clear();
    }
}
