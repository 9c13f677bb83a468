//! A record of what a fact asked of its store.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use leasehold::{
    LossReason, Mode, ResourceName, StoreError, Token,
    env::{Clock, Moment, SystemClock},
    store::{Acquired, Acquisition, Grant, Hold},
};

use crate::history::{
    Held,
    lines::{Request, Transcript},
};

/// A record of the verbs of a fact, from the first one on. Its clock is that of the machine, and the time that the fact lets pass.
#[derive(Debug, Default)]
pub(super) struct Record(Mutex<Pages>);

#[derive(Debug, Default)]
pub(super) struct Pages {
    passed: Duration,
    /// The moments from which requests have waited for their answers.
    asked: BTreeMap<(ResourceName, Token), Moment>,
    pub(super) held: BTreeMap<(ResourceName, Token), Held>,
    written: Transcript,
    /// The resources whose capacity was set, which requests do not name: their leases of permits are not told.
    with_capacity: BTreeSet<ResourceName>,
}

pub(super) fn key(hold: &Hold) -> (ResourceName, Token) {
    (hold.resource.clone(), hold.token)
}

impl Pages {
    pub(super) fn now(&self) -> Moment {
        SystemClock.now() + self.passed
    }

    pub(super) fn asks(&mut self, asked: &Acquisition, now: Moment) {
        let key = key(&asked.hold);
        if self.held.get(&key).is_some_and(|held| held.valid_until <= now) {
            self.ends(&asked.hold, now, None);
        }
        self.asked.entry(key).or_insert(now);
    }

    pub(super) fn granted(&mut self, request: &Acquisition, grant: &Grant, asked: Moment) {
        let (key, now) = (key(&request.hold), self.now());
        let first_asked = self.asked.remove(&key).unwrap_or(asked);
        let valid_until = asked + request.ttl;
        if let Some(held) = self.held.get_mut(&key) {
            // A repeat counts the end anew. It may tell a larger fence, but the lease stays the one that it was.
            held.valid_until = valid_until;
            return;
        }
        let held = Held {
            resource: request.hold.resource.clone(),
            mode: request.mode,
            owner: request.hold.owner.clone(),
            reentered: grant.holds > 1,
            fence: grant.fence,
            ttl: request.ttl,
            asked: first_asked,
            granted: now,
            valid_until,
            stopped: now,
            lost: None,
        };
        self.held.insert(key, held);
    }

    fn refused(&mut self, request: &Acquisition, asked: Moment) {
        let first_asked = self.asked.remove(&key(&request.hold)).unwrap_or(asked);
        let answered = self.now();
        let request = Request {
            resource: request.hold.resource.clone(),
            mode: request.mode,
            owner: request.hold.owner.clone(),
            ttl: request.ttl,
            asked: first_asked,
            answered,
        };
        self.written.refused.push((0, request));
    }

    pub(super) fn answered(
        &mut self,
        request: &Acquisition,
        answer: &Result<Acquired, StoreError>,
        asked: Moment,
    ) {
        match answer {
            Ok(Acquired::Granted(grant)) => self.granted(request, grant, asked),
            Ok(Acquired::Refused(_) | Acquired::Full { .. }) => self.refused(request, asked),
            // It waits, or nobody knows.
            _ => {}
        }
    }

    pub(super) fn sets_capacity(&mut self, resource: &ResourceName) {
        self.with_capacity.insert(resource.clone());
    }

    pub(super) fn ends(&mut self, hold: &Hold, now: Moment, lost: Option<LossReason>) {
        let Some(held) = self.held.remove(&key(hold)) else { return };
        self.written.leases.push((0, Held { stopped: now, lost, ..held }));
    }
}

impl Record {
    pub(super) fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets time pass.
    pub(super) fn pass(&self, time: Duration) {
        self.pages().passed += time;
    }

    /// Returns what was written, with an end of all that is still held.
    pub(super) fn take(&self) -> Transcript {
        let mut pages = self.pages();
        let now = pages.now();
        let held = mem::take(&mut pages.held).into_values();
        let held = held.map(|held| (0, Held { stopped: now, ..held })).collect::<Vec<_>>();
        pages.written.leases.extend(held);
        let mut written = mem::take(&mut pages.written);
        let with_capacity = mem::take(&mut pages.with_capacity);
        let is_told = |mode: Mode, resource: &ResourceName| {
            !matches!(mode, Mode::Permits { .. }) || !with_capacity.contains(resource)
        };
        written.leases.retain(|(_, held)| is_told(held.mode, &held.resource));
        written.refused.retain(|(_, request)| is_told(request.mode, &request.resource));
        written
    }
}
