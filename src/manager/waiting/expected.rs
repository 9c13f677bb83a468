//! The expected wait of a request: what is before it, and how long that is likely to take.

use std::time::Duration;

use crate::{
    core::{Cohort, Event, Mode, Moment, ResourceName, TokenPrefix, Told},
    lease::{LeaseShared, RecordKey},
    manager::{CohortKey, LockManager, Place, is_alone},
    store::{Acquisition, Holder, HolderState},
};

/// The holder whose end everybody waits for, as far as it is known.
#[derive(Clone, Copy, Debug)]
enum Front {
    /// It is a lease of this manager, of this age.
    Own(Duration),
    /// It was told right now, and has all of the resource.
    Other(TokenPrefix),
    /// A reader holds it, and perhaps others.
    Readers,
    /// Somebody holds it, and nothing more is known.
    Somebody,
    /// Somebody holds it, and nobody can tell when those behind are served: it takes much too long, or that is chance.
    Unknown,
}

impl Front {
    fn of(holder: &Holder) -> Self {
        match holder.mode {
            Mode::Shared => Self::Readers,
            Mode::Exclusive if holder.state == HolderState::Holding => Self::Other(holder.token),
            Mode::Exclusive | Mode::Permits { .. } => Self::Somebody,
        }
    }

    const fn own_age(self) -> Option<Duration> {
        if let Self::Own(age) = self { Some(age) } else { None }
    }
}

impl LockManager {
    /// Notes the place of a waiter that the store refused, and returns its expected wait. `ahead` is `None` where it has no
    /// queue ticket: then the waiters of this manager are all that is known. One that waits without a ticket, and not behind a
    /// lease of this manager, is served by chance: to learn from those that were lucky would be a lie for all others.
    pub(crate) fn expect(
        &mut self,
        record: RecordKey,
        ahead: Option<u64>,
        by: &Holder,
        now: Moment,
    ) -> Option<Duration> {
        let (resource, cohort, waits) = self.records.with(record, |it| {
            let (resource, cohort) = (it.hold.resource.clone(), it.cohort);
            Some((resource, cohort, it.waiter()?.request.terms.acquisition.ticket.is_some()))
        })??;
        let is_ours = cohort.is_some_and(|cohort| self.cohorts.holder(cohort).is_some());
        let ahead = match (ahead, cohort) {
            (Some(ahead), _) => ahead,
            (None, _) if waits && !is_ours => {
                // It may have had a place, behind a lease that was not followed by another one.
                self.records.with(record, |it| it.waiter().map(|waiter| waiter.place = None));
                return None;
            }
            (None, Some(_)) => 0,
            (None, None) => self.local_waiters(&resource),
        };
        self.place(record, &resource, (ahead, None), Front::of(by), now)
    }

    /// Returns the expected wait of a request that was refused without having a record.
    pub(crate) fn expect_unknown(
        &mut self,
        tried: &Acquisition,
        by: &Holder,
        now: Moment,
    ) -> Option<Duration> {
        let (resource, mode) = (&tried.hold.resource, tried.mode);
        let ahead = self.local_waiters(resource);
        let turns = self.turns(resource, mode, ahead, Front::of(by), now)?;
        self.demands.known(resource)?.expected(mode, turns, now)
    }

    /// Notes the place of a waiter that asks no store, with so many members of its cohort ahead, and returns its expected wait.
    /// `None` also while the leader of the cohort does not know what it waits for: then the waiter is told as soon as it does.
    pub(crate) fn expect_behind(
        &mut self,
        record: RecordKey,
        cohort: CohortKey,
        ahead: u64,
        now: Moment,
    ) -> Option<Duration> {
        let (resource, arrival) =
            self.records.with(record, |it| Some((it.hold.resource.clone(), it.arrival?)))??;
        let Some(front) = self.known_front(cohort, now) else {
            self.cohorts.note_unplaced(cohort, arrival);
            return None;
        };
        let in_all = ahead + self.ahead_of_leader(cohort);
        self.place(record, &resource, (in_all, Some(ahead)), front, now)
    }

    /// Places the waiters that came before their leader had an answer, as soon as it has one.
    pub(crate) fn place_followers(&mut self, cohort: CohortKey, now: Moment) {
        if !self.cohorts.has_unplaced(cohort) || self.known_front(cohort, now).is_none() {
            return;
        }
        let Some((mut ahead, members)) = self.cohorts.take_unplaced(cohort) else { return };
        let ahead_of_all = self.ahead_of_leader(cohort);
        for member in members {
            let is_unplaced = self.records.with(member, |it| {
                it.decisions.is_following() && it.waiter().is_some_and(|waiter| waiter.place.is_none())
            });
            let expected = match is_unplaced {
                Some(true) => self.expect_behind(member, cohort, ahead, now),
                _ => None,
            };
            if expected.is_some() {
                let in_all = ahead + ahead_of_all;
                self.records.with(member, |it| it.waiter().map(|it| it.tell_queued(in_all, expected)));
                self.on_at(member, Event::Follow(in_all), now);
            }
            if !self.give_up_if_hopeless(member, expected, now) {
                ahead += 1;
            }
        }
    }

    /// Ends a request that is not likely to be served within its wait, if its caller wants that. Returns true if it did. While
    /// it asks again, what it knows is old: the next answer decides.
    pub(crate) fn give_up_if_hopeless(
        &mut self,
        record: RecordKey,
        expected: Option<Duration>,
        now: Moment,
    ) -> bool {
        let hopeless = self.records.with(record, |it| {
            let decides = it.decisions.has_caller() && !it.decisions.is_asking();
            let too_long = decides && expected > Some(it.decisions.left(now));
            it.waiter().is_some_and(|waiter| waiter.request.give_up_early && too_long)
        });
        if hopeless == Some(true) {
            self.on_at(record, Event::Hopeless, now);
        }
        hopeless == Some(true)
    }

    /// Notes a grant to a waiter, and how long that took it since it was `wanted`.
    pub(crate) fn note_served(
        &mut self,
        lease: &LeaseShared,
        place: Option<Place>,
        (overtook, wanted): (bool, Moment),
        now: Moment,
    ) {
        let Some(demand) = self.demands.known(&lease.hold().resource) else { return };
        let mode = lease.terms.acquisition.mode;
        if mode == Mode::Shared {
            demand.read(now);
        }
        if is_alone(&lease.terms.acquisition) {
            demand.holder(lease.hold().token.prefix(), now);
            demand.granted(overtook, wanted, now);
        }
        match place {
            None => {}
            Some(place) if place.followed && demand.in_rounds(now) => demand.served_in_round(),
            Some(Place { first: (since, turns), .. }) => {
                demand.served(mode, turns, since.elapsed(now), now);
            }
        }
    }

    /// Notes the release of a lease. One of an owner may be one of several, which end at other times.
    pub(crate) fn note_over(&mut self, lease: &LeaseShared, now: Moment) {
        if is_alone(&lease.terms.acquisition)
            && let Some(demand) = self.demands.known(&lease.hold().resource)
        {
            demand.held(lease.held_for_at(now), now);
        }
    }

    /// Returns the time that a request which ends now would have had to wait: what it had to wait at its last place, less the
    /// time since then. A burst may end in one moment, so nobody is counted for that.
    pub(crate) fn still_expected(&mut self, record: RecordKey, now: Moment) -> Option<Duration> {
        let (told, cohort, place, resource, mode) = self.records.with(record, |it| {
            let (told, cohort, resource) = (it.decisions.told(), it.cohort, it.hold.resource.clone());
            let waiter = it.waiter()?;
            Some((told, cohort, waiter.place?, resource, waiter.request.terms.acquisition.mode))
        })??;
        if matches!(told, Told::Nothing | Told::Failed) {
            return None;
        }
        let front = cohort.and_then(|cohort| self.front(cohort, now));
        let demand = self.demands.known(&resource)?;
        let left = place.left(demand, mode, now)?;
        // Unknown while the holder takes much longer than any before.
        let this_turn = match front {
            Some(Front::Unknown) => return None,
            front => demand.turns(0, front.and_then(Front::own_age), now)?,
        };
        // One that should have been served by now is not served before this turn has ended.
        Some(left.max(demand.expected(mode, this_turn.min(place.turns()?), now)?))
    }

    /// Notes the place of a waiter, and returns its expected wait. `ahead` are all, and the members of its cohort if another one
    /// leads it.
    fn place(
        &mut self,
        record: RecordKey,
        resource: &ResourceName,
        ahead: (u64, Option<u64>),
        front: Front,
        now: Moment,
    ) -> Option<Duration> {
        let (ahead, members) = ahead;
        let mode =
            self.records.with(record, |it| it.waiter().map(|it| it.request.terms.acquisition.mode))??;
        let Some(turns) = self.turns(resource, mode, ahead, front, now) else {
            self.records.with(record, |it| it.waiter()?.place.as_mut().map(Place::lose));
            return None;
        };
        let demand = self.demands.known(resource)?;
        let in_turn = members.and_then(|ahead| demand.in_turn(ahead, front.own_age(), now));
        let expected = in_turn.or_else(|| demand.expected(mode, turns, now));
        self.records.with(record, |it| {
            let waiter = it.waiter()?;
            let new = || Place::new(turns, members.is_some(), now);
            waiter.place.get_or_insert_with(new).update(turns, expected, now);
            Some(())
        })?;
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
    fn known_front(&mut self, cohort: CohortKey, now: Moment) -> Option<Front> {
        self.front(cohort, now).filter(|front| !matches!(front, Front::Unknown))
    }

    /// Returns the holder that a cohort waits for. `None` if its leader has no answer that tells one.
    fn front(&mut self, cohort: CohortKey, now: Moment) -> Option<Front> {
        if let Some(lease) = self.cohorts.holder(cohort).and_then(|holder| self.records.lease(holder)) {
            return Some(Front::Own(lease.held_for_at(now)));
        }
        let Self { cohorts, records, demands, .. } = self;
        records.with(cohorts.get(cohort)?.leader()?, |it| {
            // The holder that it was told may have been followed by another one since.
            let Told::Refused { .. } = it.decisions.told() else { return None };
            let demand = demands.known(&it.hold.resource);
            let waiter = it.waiter()?;
            let (place, mode) = (waiter.place, waiter.request.terms.acquisition.mode);
            let is_known =
                place.zip(demand).is_some_and(|(place, demand)| !place.is_overdue(demand, mode, now));
            Some(if is_known { Front::Somebody } else { Front::Unknown })
        })?
    }

    /// Returns the number of waiters that the leader of a cohort was told to be ahead of it.
    pub(crate) fn ahead_of_leader(&self, cohort: CohortKey) -> u64 {
        let leader = self.cohorts.get(cohort).and_then(Cohort::leader);
        leader.and_then(|leader| self.records.with(leader, |it| it.decisions.ahead())?).unwrap_or(0)
    }

    /// Returns the number of this manager's waiters for a resource.
    fn local_waiters(&self, resource: &ResourceName) -> u64 {
        let cohort = self.cohorts.find(None, resource).and_then(|cohort| self.cohorts.get(cohort));
        cohort.map_or(0, |cohort| cohort.waiting() as u64)
    }
}

#[cfg(test)]
mod tests;
