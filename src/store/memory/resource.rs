//! One resource: who holds it, who keeps it closed, and what that means for those who ask.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use super::record::{Record, lifetime, whole_millis};
use crate::{
    protocol::{Fence, Mode, Moment, Owner, Token},
    store::{Acquired, Acquisition, Grant, Hold, Inspection, Refusal, Released, Renewed, StoreError},
};

/// The number of a record within its resource.
type Serial = u64;

/// A resource that is not free. While there are records, they are all exclusive (of one owner and one fence), or
/// all shared, or all permits of one capacity; so any of them tells how the resource is in use.
#[derive(Debug, Default)]
pub(super) struct Resource {
    records: HashMap<Serial, Record>,
    next: Serial,
    /// When the resource will be free of each record: those that hold and those that only keep it closed.
    openings: BTreeSet<(Moment, Serial)>,
    /// When each record stops to hold: only those that hold.
    ends: BTreeSet<(Moment, Serial)>,
    /// Only those that hold.
    tokens: HashMap<Token, Serial>,
    /// How many records that hold each owner has.
    owners: HashMap<Owner, u64>,
    /// The permits that all records take.
    taken: u64,
}

/// What becomes of an acquisition that does not hold yet.
enum Verdict {
    Free,
    ReEntry(Fence),
    InTheWay(Serial),
}

impl Resource {
    pub(super) fn acquire(
        &mut self,
        asked: &Acquisition,
        now: Moment,
        new_fence: impl FnOnce() -> Fence,
    ) -> Result<Acquired, StoreError> {
        self.settle(now);
        if let Some(&serial) = self.tokens.get(&asked.hold.token) {
            self.extend(serial, now + lifetime(asked.ttl));
            return Ok(self.granted(serial));
        }
        let fence = match self.judge(asked)? {
            Verdict::InTheWay(serial) => return Ok(self.refused(serial, now)),
            Verdict::ReEntry(fence) => fence,
            Verdict::Free => new_fence(),
        };
        let serial = self.insert(asked, now, fence);
        Ok(self.granted(serial))
    }

    pub(super) fn renew(&mut self, hold: &Hold, ttl: Duration, now: Moment) -> Renewed {
        self.settle(now);
        let Some(&serial) = self.tokens.get(&hold.token) else {
            return Renewed::NotHeld;
        };
        self.extend(serial, now + lifetime(ttl));
        Renewed::Extended
    }

    pub(super) fn release(&mut self, hold: &Hold, closed_for: Duration, now: Moment) -> Released {
        self.settle(now);
        let Some(&serial) = self.tokens.get(&hold.token) else {
            return Released::NotHeld {
                count: self.holds_of(hold.owner.as_ref()),
            };
        };
        self.stop_holding(serial);
        self.close_until(serial, now, now + whole_millis(closed_for));
        self.settle(now);
        match self.holds_of(hold.owner.as_ref()) {
            0 => Released::Freed,
            count => Released::StillHeld { count },
        }
    }

    pub(super) fn is_held(&mut self, hold: &Hold, now: Moment) -> bool {
        self.settle(now);
        self.tokens.contains_key(&hold.token)
    }

    pub(super) fn inspect(&mut self, limit: usize, now: Moment) -> Inspection {
        self.settle(now);
        let in_order = self.openings.iter().take(limit);
        Inspection {
            holders: in_order
                .map(|&(_, serial)| self.records[&serial].describe(now))
                .collect(),
            total: self.total(),
        }
    }

    /// How many records there are.
    pub(super) fn total(&self) -> u64 {
        self.records.len() as u64
    }

    pub(super) fn is_free(&self) -> bool {
        self.records.is_empty()
    }

    /// Brings the records up to `now`. Whatever else is asked of a resource, this comes first.
    pub(super) fn settle(&mut self, now: Moment) {
        while let Some(&(end, serial)) = self.ends.first()
            && end <= now
        {
            self.stop_holding(serial);
        }
        while let Some(&(opening, serial)) = self.openings.first()
            && opening <= now
        {
            self.forget(serial);
        }
    }

    fn judge(&self, asked: &Acquisition) -> Result<Verdict, StoreError> {
        let (Some(&(_, first)), Some(&(_, last))) = (self.openings.first(), self.openings.last()) else {
            return Ok(Verdict::Free);
        };
        let in_use = &self.records[&first];
        if self.holds_of(asked.hold.owner.as_ref()) > 0 {
            match (asked.mode, in_use.mode) {
                (Mode::Exclusive, Mode::Exclusive) if asked.reentrant => {
                    return Ok(Verdict::ReEntry(in_use.fence));
                }
                (Mode::Exclusive, held) | (_, held @ Mode::Exclusive) => {
                    return Err(StoreError::Deadlock {
                        asked: asked.mode,
                        held,
                    });
                }
                _ => {}
            }
        }
        match (asked.mode, in_use.mode) {
            (Mode::Shared, Mode::Shared) => Ok(Verdict::Free),
            (Mode::Permits { count, of }, Mode::Permits { of: capacity, .. }) if of == capacity => {
                let fits = self.taken + u64::from(count.get()) <= u64::from(of.get());
                Ok(if fits {
                    Verdict::Free
                } else {
                    Verdict::InTheWay(first)
                })
            }
            (Mode::Permits { .. }, Mode::Exclusive) => Ok(Verdict::InTheWay(first)),
            (Mode::Exclusive, _) | (_, Mode::Exclusive) => Ok(Verdict::InTheWay(last)),
            (asked, used) => Err(StoreError::CapacityMismatch { asked, used }),
        }
    }

    fn granted(&self, serial: Serial) -> Acquired {
        let record = &self.records[&serial];
        // Without an owner nobody is counted, but this hold is one.
        let holds = self.holds_of(record.owner.as_ref()).max(1);
        Acquired::Granted(Grant {
            fence: Some(record.fence),
            holds,
        })
    }

    fn refused(&self, serial: Serial, now: Moment) -> Acquired {
        let record = &self.records[&serial];
        Acquired::Refused(Refusal {
            by: record.describe(now),
            remaining: record.opening.remaining(now),
        })
    }

    fn holds_of(&self, owner: Option<&Owner>) -> u64 {
        owner
            .and_then(|owner| self.owners.get(owner))
            .copied()
            .unwrap_or(0)
    }

    fn insert(&mut self, asked: &Acquisition, now: Moment, fence: Fence) -> Serial {
        let serial = self.next;
        self.next += 1;
        let (end, lock_delay) = (now + lifetime(asked.ttl), whole_millis(asked.lock_delay));
        let record = Record {
            token: asked.hold.token,
            owner: asked.hold.owner.clone(),
            mode: asked.mode,
            fence,
            end,
            lock_delay,
            opening: end + lock_delay,
            metadata: asked.metadata.clone(),
        };
        self.taken += record.permits();
        self.tokens.insert(record.token, serial);
        self.ends.insert((end, serial));
        self.openings.insert((record.opening, serial));
        if let Some(owner) = &record.owner {
            *self.owners.entry(owner.clone()).or_default() += 1;
        }
        self.records.insert(serial, record);
        serial
    }

    fn extend(&mut self, serial: Serial, end: Moment) {
        let Some(record) = self.records.get_mut(&serial) else {
            return;
        };
        self.ends.remove(&(record.end, serial));
        self.openings.remove(&(record.opening, serial));
        record.end = end;
        record.opening = end + record.lock_delay;
        self.ends.insert((record.end, serial));
        self.openings.insert((record.opening, serial));
    }

    /// From here on the record only keeps the resource closed, as far as it does.
    fn stop_holding(&mut self, serial: Serial) {
        let Some(record) = self.records.get(&serial) else {
            return;
        };
        self.ends.remove(&(record.end, serial));
        self.tokens.remove(&record.token);
        if let Some(owner) = &record.owner
            && let Some(count) = self.owners.get_mut(owner)
        {
            *count -= 1;
            if *count == 0 {
                self.owners.remove(owner);
            }
        }
    }

    fn close_until(&mut self, serial: Serial, now: Moment, opening: Moment) {
        let Some(record) = self.records.get_mut(&serial) else {
            return;
        };
        self.openings.remove(&(record.opening, serial));
        (record.owner, record.end, record.opening) = (None, now, opening);
        self.openings.insert((opening, serial));
    }

    fn forget(&mut self, serial: Serial) {
        let Some(record) = self.records.remove(&serial) else {
            return;
        };
        self.openings.remove(&(record.opening, serial));
        self.taken -= record.permits();
    }
}
