//! The cohorts of a manager, by resource.

use std::collections::HashMap;

use crate::{
    core::{Cohort, Lack, ResourceName},
    lease::RecordKey,
};

/// The cohorts of a manager, by resource. An empty one is removed.
#[derive(Default)]
pub(crate) struct Cohorts {
    table: HashMap<ResourceName, Cohort<RecordKey>>,
    arrivals: u64,
}

impl Cohorts {
    /// Adds a waiter at the end of its cohort. Returns its arrival, and the number of members ahead of it.
    pub(crate) fn join(&mut self, resource: &ResourceName, record: RecordKey) -> (u64, usize) {
        self.arrivals += 1;
        let ahead = self.table.entry(resource.clone()).or_default().join(record, self.arrivals);
        (self.arrivals, ahead)
    }

    /// Makes a member a leader.
    pub(crate) fn lead(&mut self, resource: &ResourceName, record: RecordKey) {
        self.with(resource, |cohort| cohort.lead(record));
    }

    /// Removes the member of this arrival. If it leads, its ticket is kept.
    pub(crate) fn abandon(&mut self, resource: &ResourceName, arrival: u64) {
        self.with(resource, |cohort| cohort.abandon(arrival));
    }

    /// Removes a waiter, with its ticket.
    pub(crate) fn remove(&mut self, resource: &ResourceName, record: RecordKey, arrival: Option<u64>) {
        self.with(resource, |cohort| cohort.remove(record, arrival));
    }

    /// Notes that the resource was granted: handed off ahead of other processes, or in its turn.
    pub(crate) fn granted(&mut self, resource: &ResourceName, record: RecordKey, handed_off: bool) {
        self.with(resource, |cohort| cohort.granted(record, handed_off));
    }

    /// Notes that the lease of this record is over.
    pub(crate) fn released(&mut self, resource: &ResourceName, record: RecordKey) {
        self.with(resource, |cohort| cohort.released(record));
    }

    fn with(&mut self, resource: &ResourceName, change: impl FnOnce(&mut Cohort<RecordKey>)) {
        if let Some(cohort) = self.table.get_mut(resource) {
            change(cohort);
        }
    }

    /// Returns the next member, and whether it may be served ahead of other processes (at most `limit` hand-offs in a row).
    pub(crate) fn next(&self, resource: &ResourceName, limit: u32) -> Option<(RecordKey, bool)> {
        self.table.get(resource)?.next(limit)
    }

    /// Returns the leader that came first.
    pub(crate) fn leader(&self, resource: &ResourceName) -> Option<RecordKey> {
        self.table.get(resource)?.leader()
    }

    /// Returns the lease of this manager that holds the resource.
    pub(crate) fn holder(&self, resource: &ResourceName) -> Option<RecordKey> {
        self.table.get(resource)?.holder()
    }

    /// Returns true if others rely on the ticket of this leader.
    pub(crate) fn relies_on(&self, resource: &ResourceName, record: RecordKey) -> bool {
        self.table.get(resource).is_some_and(|cohort| cohort.relies_on(record))
    }

    /// Returns what a cohort lacks after it has changed. An empty one is removed.
    pub(crate) fn lack(&mut self, resource: &ResourceName) -> Option<Lack<RecordKey>> {
        let cohort = self.table.get(resource)?;
        if cohort.is_empty() {
            self.table.remove(resource);
            return None;
        }
        cohort.lack()
    }

    /// Returns true if there are no cohorts.
    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Removes all cohorts.
    pub(crate) fn clear(&mut self) {
        self.table.clear();
    }
}
