//! The expected wait of a request: what is before it, and how long that is likely to take.

use std::time::Duration;

use super::{
    Acquisition, CohortKey, Engine, Entry, Event, Front, RecordKey, Told, Turn, Wanted,
    cohort::{Cohort, Cohorts},
    demands::{LastPlace, Place},
};
use crate::core::{Mode, Moment, ResourceName};

impl Engine {
    /// Notes the place of a waiter that the store refused, and returns its expected wait. `ahead` is `None` where it has no
    /// queue ticket: then the waiters of this manager are all that is known. One that waits without a ticket, and not behind a
    /// lease of this manager, is served by chance: to learn from those that were lucky would be a lie for all others.
    pub(super) fn expect(
        &mut self,
        record: RecordKey,
        ahead: Option<u64>,
        by: Front,
        now: Moment,
    ) -> Option<Duration> {
        let entry = self.entries.get_mut(record)?;
        let is_ours = entry.cohort.and_then(|cohort| self.cohorts.get(cohort)?.holder).is_some();
        let ahead = match (ahead, entry.cohort) {
            (Some(ahead), _) => ahead,
            (None, _) if !entry.acquisition.is_try() && !is_ours => {
                // It may have had a place, behind a lease that was not followed by another one.
                entry.place = None;
                return None;
            }
            (None, Some(_)) => 0,
            (None, None) => local_waiters(&self.cohorts, &entry.wanted.resource),
        };
        self.place(record, (ahead, None), by, now)
    }

    /// Returns the expected wait of a request that was refused without having a record.
    pub(crate) fn expect_unknown(
        &mut self,
        resource: &ResourceName,
        mode: Mode,
        by: Front,
        now: Moment,
    ) -> Option<Duration> {
        let ahead = local_waiters(&self.cohorts, resource);
        let turns = self.turns(resource, mode, ahead, by, now)?;
        self.demands.known(resource)?.expected(mode, turns, now)
    }

    /// Notes the place of a waiter that asks no store, with so many members of its cohort ahead, and returns its expected wait.
    /// `None` also while the leader of the cohort does not know what it waits for: then the waiter is told as soon as it does.
    pub(super) fn expect_behind(
        &mut self,
        record: RecordKey,
        cohort: CohortKey,
        ahead: u64,
        now: Moment,
    ) -> Option<Duration> {
        let Some(front) = self.known_front(cohort, now) else {
            let arrival = self.entries.get(record)?.arrival?;
            self.cohorts.with(cohort, |it| it.note_unplaced(arrival));
            return None;
        };
        let in_all = ahead + self.ahead_of_leader(cohort);
        self.place(record, (in_all, Some(ahead)), front, now)
    }

    /// Places the waiters that came before their leader had an answer, as soon as it has one.
    pub(super) fn place_followers(&mut self, cohort: CohortKey, turn: &mut Turn<'_>) {
        let now = turn.now;
        let has_unplaced = self.cohorts.get(cohort).is_some_and(|it| it.unplaced_from.is_some());
        if !has_unplaced || self.known_front(cohort, now).is_none() {
            return;
        }
        let unplaced = self.cohorts.with(cohort, Cohort::take_unplaced).flatten();
        let Some((ahead, members)) = unplaced else { return };
        let (mut ahead, ahead_of_all) = (ahead as u64, self.ahead_of_leader(cohort));
        for member in members {
            let unplaced = self.entries.get(member).filter(|entry| entry.place.is_none());
            let expected = match unplaced.is_some_and(|entry| entry.acquisition.is_following()) {
                true => self.expect_behind(member, cohort, ahead, now),
                false => None,
            };
            let gives_up =
                expected.is_some() && self.tell_place(member, (ahead + ahead_of_all, expected), turn);
            ahead += u64::from(!gives_up);
        }
    }

    /// Ends a request that is not likely to be served within its wait, if its caller wants that. Returns true if it did. While
    /// it asks again, what it knows is old: the next answer decides.
    pub(super) fn give_up_if_hopeless(
        &mut self,
        record: RecordKey,
        expected: Option<Duration>,
        turn: &mut Turn<'_>,
    ) -> bool {
        let is_hopeless = self.entries.get(record).is_some_and(|Entry { acquisition, wanted, .. }| {
            let decides = acquisition.has_caller() && !acquisition.is_asking();
            wanted.give_up_early && decides && expected > Some(acquisition.left(turn.now))
        });
        if is_hopeless {
            self.decide(record, Event::Hopeless, turn);
        }
        is_hopeless
    }

    /// Notes a grant to a waiter, and how long that took it.
    pub(super) fn note_served(&mut self, record: RecordKey, overtook: bool, now: Moment) {
        let Some(Entry { acquisition, wanted, place, .. }) = self.entries.get(record) else { return };
        let Some(demand) = self.demands.known(&wanted.resource) else { return };
        if wanted.mode == Mode::Shared {
            demand.read(now);
        }
        if acquisition.terms.alone {
            demand.holder(wanted.token, now);
            demand.granted(overtook, now - acquisition.waited(now), now);
        }
        match *place {
            None => {}
            Some(place) if place.followed && demand.in_rounds(now) => demand.served_in_round(),
            Some(Place { first: (since, turns), .. }) => {
                demand.served(wanted.mode, turns, since.elapsed(now), now);
            }
        }
    }

    /// Notes the release of a lease. One of an owner may be one of several, which end at other times.
    pub(super) fn note_over(&mut self, record: RecordKey, now: Moment) {
        if let Some(Entry { acquisition, wanted, .. }) = self.entries.get(record)
            && let Some(held_for) = acquisition.held_for(now).filter(|_| acquisition.terms.alone)
            && let Some(demand) = self.demands.known(&wanted.resource)
        {
            demand.held(held_for, now);
        }
    }

    /// Returns the time that a request which ends now would have had to wait: what it had to wait at its last place, less the
    /// time since then. A burst may end in one moment, so nobody is counted for that.
    pub(super) fn still_expected(&self, record: RecordKey, now: Moment) -> Option<Duration> {
        let Entry { acquisition, wanted, cohort, place, .. } = self.entries.get(record)?;
        let (place, mode) = ((*place)?, wanted.mode);
        if matches!(acquisition.told, Told::Nothing | Told::Failed) {
            return None;
        }
        let front = cohort.and_then(|cohort| self.front(cohort, now));
        let demand = self.demands.get(&wanted.resource)?;
        let left = place.left(demand, mode, now)?;
        // Unknown while the holder takes much longer than any before.
        let this_turn = match front {
            Some(Front::Unknown) => return None,
            front => demand.turns(0, front.and_then(own_age), now)?,
        };
        // One that should have been served by now is not served before this turn has ended.
        Some(left.max(demand.expected(mode, this_turn.min(place.last?.turns), now)?))
    }

    /// Notes the place of a waiter, and returns its expected wait. `ahead` are all, and the members of its cohort if another one
    /// leads it.
    fn place(
        &mut self,
        record: RecordKey,
        (ahead, members): (u64, Option<u64>),
        front: Front,
        now: Moment,
    ) -> Option<Duration> {
        let Wanted { resource, mode, .. } = self.entries.get(record)?.wanted.clone();
        let turns = self.turns(&resource, mode, ahead, front, now);
        let place = &mut self.entries.get_mut(record)?.place;
        let Some(turns) = turns else {
            if let Some(place) = place {
                place.last = None;
            }
            return None;
        };
        let demand = self.demands.get(&resource)?;
        let in_turn = members.and_then(|ahead| demand.in_turn(ahead, own_age(front), now));
        let expected = in_turn.or_else(|| demand.expected(mode, turns, now));
        let first = Place { first: (now, turns), last: None, followed: members.is_some() };
        place.get_or_insert(first).last = Some(LastPlace { since: now, turns, expected });
        expected
    }

    fn turns(
        &mut self,
        resource: &ResourceName,
        mode: Mode,
        ahead: u64,
        front: Front,
        now: Moment,
    ) -> Option<f64> {
        let demand = self.demands.asked(resource, now);
        if mode == Mode::Shared || matches!(front, Front::Readers) {
            demand.read(now);
        }
        let age = match front {
            Front::Own(age) => Some(age),
            Front::Other(holder) => Some(demand.holder(holder, now)),
            Front::Readers | Front::Somebody => None,
            Front::Unknown => return None,
        };
        demand.turns(ahead, age.filter(|_| mode == Mode::Exclusive), now)
    }

    /// Returns the holder that a cohort waits for, if that tells how long.
    fn known_front(&self, cohort: CohortKey, now: Moment) -> Option<Front> {
        self.front(cohort, now).filter(|front| !matches!(front, Front::Unknown))
    }

    /// Returns the holder that a cohort waits for. `None` if its leader has no answer that tells one.
    fn front(&self, cohort: CohortKey, now: Moment) -> Option<Front> {
        let cohort = self.cohorts.get(cohort)?;
        let holder = cohort.holder.and_then(|holder| self.get(holder));
        if let Some(age) = holder.and_then(|holder| holder.held_for(now)) {
            return Some(Front::Own(age));
        }
        let leader = cohort.leader()?;
        let Entry { acquisition, wanted, place, .. } = self.entries.get(leader)?;
        // The holder that it was told may have been followed by another one since.
        let Told::Refused { .. } = acquisition.told else { return None };
        let demand = self.demands.get(&wanted.resource);
        let overdue = |(place, demand): (&Place, _)| place.is_overdue(demand, wanted.mode, now);
        let is_known = place.as_ref().zip(demand).is_some_and(|known| !overdue(known));
        Some(if is_known { Front::Somebody } else { Front::Unknown })
    }

    /// Returns the number of waiters that the leader of a cohort was told to be ahead of it.
    pub(super) fn ahead_of_leader(&self, cohort: CohortKey) -> u64 {
        let leader = self.cohorts.get(cohort).and_then(Cohort::leader);
        leader.and_then(|leader| self.get(leader)).and_then(Acquisition::ahead).unwrap_or(0)
    }
}

/// Returns the number of this manager's waiters for a resource.
fn local_waiters(cohorts: &Cohorts, resource: &ResourceName) -> u64 {
    let cohort = cohorts.find(None, resource).and_then(|cohort| cohorts.get(cohort));
    cohort.map_or(0, |cohort| cohort.waiting() as u64)
}

const fn own_age(front: Front) -> Option<Duration> {
    if let Front::Own(age) = front { Some(age) } else { None }
}
