//! The leases of one resource that are believed in, event by event.

use std::{cmp::Reverse, num::NonZeroU32};

use leasehold::{Fence, Mode, Owner, env::Moment};

/// A lease that its holder believes in.
#[derive(Clone, Debug)]
pub struct Believed<Id> {
    /// The name by which it is told from others.
    pub id: Id,
    /// The share of the resource that it takes.
    pub mode: Mode,
    /// Its owner, if one was named.
    pub owner: Option<Owner>,
    /// Its fence, if the store has fences.
    pub fence: Option<Fence>,
    /// The end of the belief, unless an event ends it before. Without one, only an event does.
    pub until: Option<Moment>,
}

/// A grant that should not have been as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding<Id> {
    /// It conflicts with these leases.
    Beside(Vec<Id>),
    /// It re-entered, and its owner has a hold with this other fence.
    OtherFence(Fence),
    /// This fence was known before it was asked for, and its own is not larger.
    NotLarger(Fence),
}

/// A resource, as its holders see it.
#[derive(Debug)]
pub struct Resource<Id> {
    believed: Vec<Believed<Id>>,
    largest: Option<Fence>,
}

impl<Id> Default for Resource<Id> {
    fn default() -> Self {
        Self { believed: Vec::new(), largest: None }
    }
}

impl<Id: Clone + PartialEq> Resource<Id> {
    /// Returns the largest fence that anybody was told: what is asked for now must get a larger one.
    pub fn largest(&self) -> Option<Fence> {
        self.largest
    }

    /// Returns true if somebody believes in another lease of this owner.
    pub fn is_entered(&self, owner: Option<&Owner>, now: Moment) -> bool {
        self.believed.iter().any(|other| is_believed(other, now) && is_same(other.owner.as_ref(), owner))
    }

    /// Ends the belief in a lease.
    pub fn end(&mut self, id: &Id) {
        self.believed.retain(|lease| lease.id != *id);
    }

    /// Begins the belief in a lease. `floor` is the largest fence from when it was asked for; none if that does not count.
    pub fn granted(
        &mut self,
        lease: Believed<Id>,
        reentered: bool,
        floor: Option<Fence>,
        now: Moment,
    ) -> Vec<Finding<Id>> {
        self.believed.retain(|other| is_believed(other, now));
        // Permits beyond the capacity are those that end first: the conflict is over when they are.
        self.believed.sort_by_key(|other| (other.until.is_some(), Reverse(other.until)));
        let mut found = Vec::new();
        let others = self.believed.iter().filter(|other| !enters(other, &lease));
        let beside = conflicting(lease.mode, others.map(|other| (other, other.mode)));
        let beside: Vec<_> = beside.map(|other| other.id.clone()).collect();
        found.extend((!beside.is_empty()).then_some(Finding::Beside(beside)));
        if let Some(fence) = lease.fence {
            let mut own =
                self.believed.iter().filter(|other| is_same(other.owner.as_ref(), lease.owner.as_ref()));
            let other = own.find_map(|other| other.fence.filter(|other| *other != fence));
            found.extend(other.filter(|_| reentered).map(Finding::OtherFence));
            let not_larger = floor.filter(|floor| !reentered && fence <= *floor);
            found.extend(not_larger.map(Finding::NotLarger));
        }
        self.largest = self.largest.max(lease.fence);
        self.believed.push(lease);
        found
    }
}

/// Returns those who are there and conflict with a newcomer of this mode. Of permits, only those beyond the smallest capacity.
pub fn conflicting<'a, H: 'a>(
    mode: Mode,
    there: impl Iterator<Item = (&'a H, Mode)>,
) -> impl Iterator<Item = &'a H> {
    let (mut taken, mut capacity) = match mode {
        Mode::Permits { count, of } => (count.get(), of),
        _ => (0, NonZeroU32::MIN),
    };
    let mut conflicts = move |its| match (mode, its) {
        (Mode::Shared, Mode::Shared) => false,
        (Mode::Permits { .. }, Mode::Permits { count, of }) => {
            taken += count.get();
            capacity = capacity.min(of);
            taken > capacity.get()
        }
        _ => true,
    };
    there.filter_map(move |(hold, its)| conflicts(its).then_some(hold))
}

fn is_believed<Id>(lease: &Believed<Id>, now: Moment) -> bool {
    lease.until.is_none_or(|until| until > now)
}

fn is_same(one: Option<&Owner>, other: Option<&Owner>) -> bool {
    one.is_some() && one == other
}

/// Returns true if one of the two leases enters the other.
fn enters<Id>(one: &Believed<Id>, other: &Believed<Id>) -> bool {
    (one.mode, other.mode) == (Mode::Exclusive, Mode::Exclusive)
        && is_same(one.owner.as_ref(), other.owner.as_ref())
}
