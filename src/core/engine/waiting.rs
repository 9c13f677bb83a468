//! The waiting of requests: alone, or in the cohort of this manager's waiters for one resource.

use std::time::Duration;

use super::{Acquisition, Answer, CohortKey, Engine, Event, RecordKey, Step, Turn};
use crate::core::Moment;

impl Engine {
    /// Handles a new request: it joins the cohort for its resource, or asks the store.
    pub(super) fn requested(&mut self, record: RecordKey, turn: &mut Turn<'_>) {
        let Some(entry) = self.entries.get_mut(record) else { return };
        if self.rules.local_handover_limit == 0 || !entry.acquisition.joins_cohort() {
            return self.decide(record, Event::Lead, turn);
        }
        let (cohort, arrival, members) = self.cohorts.join(&entry.wanted.resource, record);
        (entry.cohort, entry.arrival) = (Some(cohort), Some(arrival));
        let waiters = members as u64;
        if waiters >= u64::from(self.rules.max_waiters_here) {
            return self.decide(record, Event::QueueFull { waiters }, turn);
        }
        self.mend_cohort(cohort, turn);
        if self.get(record).is_some_and(Acquisition::is_following) {
            let ahead = waiters + self.ahead_of_leader(cohort);
            let expected = self.expect_behind(record, cohort, waiters, turn.now);
            self.tell_place(record, (ahead, expected), turn);
        }
    }

    /// Tells a follower how many are ahead, and how long it is expected to wait. Returns true if it gives up early.
    pub(super) fn tell_place(
        &mut self,
        record: RecordKey,
        (ahead, expected): (u64, Option<Duration>),
        turn: &mut Turn<'_>,
    ) -> bool {
        let behind = self.in_the_way(record);
        self.push(record, Step::Queued { ahead, expected, behind });
        self.decide(record, Event::Follow(ahead), turn);
        self.give_up_if_hopeless(record, expected, turn)
    }

    /// Handles an answer that is no grant.
    pub(super) fn answered(&mut self, record: RecordKey, event: Event, answer: Answer, turn: &mut Turn<'_>) {
        let mut expected = None;
        if let Answer::Refused { ahead, by, .. } = answer {
            expected = self.expect(record, ahead, by, turn.now);
            let has_news = |it: &Acquisition| it.has_caller() && it.ahead() != ahead;
            if let Some(ahead) = ahead.filter(|_| self.get(record).is_some_and(has_news)) {
                self.push(record, Step::Queued { ahead, expected, behind: None });
            }
        }
        let cohort = self.entries.get(record).and_then(|entry| entry.cohort);
        self.decide(record, event, turn);
        self.give_up_if_hopeless(record, expected, turn);
        if let Some(cohort) = cohort {
            self.place_followers(cohort, turn);
        }
    }

    /// Handles a grant. If nobody would receive the lease, or it has run out already, the next member of the cohort is handed the
    /// resource, or it is released.
    pub(super) fn granted(
        &mut self,
        record: RecordKey,
        event: Event,
        (sent, overtook): (Moment, bool),
        turn: &mut Turn<'_>,
    ) {
        let Some(steps) = self.steps_of(record, event, turn) else { return };
        let Some(acquisition) = self.get(record) else { return };
        let unknown = acquisition.has_unknown();
        let (attempts, waited) = (acquisition.attempts, acquisition.waited(turn.now));
        let cohort = if acquisition.terms.alone { self.find_cohort(record) } else { None };
        if let Some(cohort) = cohort {
            // An earlier attempt with an unknown outcome may have overtaken others.
            self.cohorts.with(cohort, |it| it.granted(record, overtook || unknown));
        }
        if steps.hold {
            self.note_served(record, overtook, turn.now);
            self.push(record, Step::Hold { sent, attempts, waited });
        } else if let Some(cohort) = cohort {
            self.cohorts.with(cohort, |it| it.released(record));
        }
        self.follow(record, steps, turn);
        if let Some(cohort) = cohort {
            self.place_followers(cohort, turn);
        }
    }

    /// Tells the cohort of an adopted lease that this is what it waits for.
    pub(crate) fn keep_cohort_waiting(&mut self, record: RecordKey) {
        if self.get(record).is_some_and(|acquisition| acquisition.terms.alone)
            && let Some(cohort) = self.find_cohort(record)
        {
            self.cohorts.with(cohort, |it| it.granted(record, false));
        }
    }

    /// Returns the cohort that an acquisition waits in, or keeps waiting. From here on it has the key.
    pub(super) fn find_cohort(&mut self, record: RecordKey) -> Option<CohortKey> {
        let entry = self.entries.get_mut(record)?;
        entry.cohort = self.cohorts.find(entry.cohort, &entry.wanted.resource);
        entry.cohort
    }

    /// Mends a cohort after a change, so that it has a leader, and no abandoned waiter leads it in vain.
    pub(super) fn mend_cohort(&mut self, cohort: CohortKey, turn: &mut Turn<'_>) {
        if let Some((member, event)) = self.cohorts.lack(cohort) {
            // One that leaves because of it mends the cohort again.
            self.decide(member, event, turn);
        }
    }

    /// Returns the acquisition that the waiters of a cohort are behind: the holder, or whoever asks for them.
    pub(super) fn in_the_way(&self, record: RecordKey) -> Option<RecordKey> {
        let cohort = self.cohorts.get(self.entries.get(record)?.cohort?)?;
        let holds = |holder: &RecordKey| self.get(*holder).is_some_and(Acquisition::is_held);
        cohort.holder.filter(holds).or_else(|| cohort.leader())
    }

    /// Returns the members of the cohort that an acquisition waits in.
    pub(crate) fn members(&self, record: RecordKey) -> impl Iterator<Item = RecordKey> {
        let cohort = self.entries.get(record).and_then(|entry| self.cohorts.get(entry.cohort?));
        cohort.into_iter().flat_map(|cohort| cohort.members())
    }
}
