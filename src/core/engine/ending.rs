//! The end of requests and leases: what is told, who is next, and what is released.

use crate::core::{
    Moment, ResourceName,
    engine::{CohortKey, End, Ended, Engine, Event, RecordKey, Step, Told, Turn, acquisition::ReleaseStep},
};

impl Engine {
    /// Describes the end of a request, before it leaves its cohort.
    pub(super) fn ended(&self, record: RecordKey, end: End, now: Moment) -> Option<Ended> {
        let expected_wait = self.still_expected(record, now);
        let acquisition = self.get(record)?;
        let told = acquisition.told();
        Some(Ended {
            end,
            told,
            attempts: acquisition.attempts(),
            waited: acquisition.waited(now),
            ahead: acquisition.ahead(),
            expected_wait,
            behind: if let Told::Behind(_) = told { self.in_the_way(record) } else { None },
        })
    }

    /// Keeps the queue ticket of a waiter, without its caller, for its cohort.
    pub(super) fn abandon(&mut self, record: RecordKey) {
        let Some(entry) = self.entries.get_mut(record) else { return };
        if let Some(cohort) = entry.cohort
            && let Some(arrival) = entry.arrival.take()
        {
            self.cohorts.with(cohort, |it| it.abandon(arrival));
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

    /// Releases, or hands the resource off to the next of the cohort.
    pub(super) fn release(&mut self, record: RecordKey, release: ReleaseStep, turn: &mut Turn<'_>) {
        let next = if release.hand_off { self.hand_off(record, turn) } else { None };
        let release = Step::Release { opening: release.opening };
        self.push(record, next.map_or(release, |(to, overtake)| Step::HandOff { to, overtake }));
    }

    /// Makes the next member of a cohort ask with the release. Returns it, and whether it may overtake others.
    fn hand_off(&mut self, from: RecordKey, turn: &mut Turn<'_>) -> Option<(RecordKey, bool)> {
        let cohort = self.find_cohort(from)?;
        let (next, may_overtake) = self.cohorts.get(cohort)?.next(self.rules.local_handover_limit)?;
        // With two attempts in flight it would not be clear which answer is the last.
        self.get(next).filter(|next| !next.is_asking())?;
        let (_, followed) = self.steps_of(next, Event::HandOff, turn)?;
        self.lead(next, followed);
        Some((next, may_overtake))
    }

    /// Handles a resource that was taken away from its holders. A lease of this manager may learn of it later, for which its
    /// cohort does not wait.
    pub(crate) fn opened(&mut self, resource: &ResourceName, now: Moment, roll: &mut dyn FnMut() -> f64) {
        if let Some(cohort) = self.cohorts.find(None, resource)
            && let Some(holder) = self.cohorts.holder(cohort)
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
