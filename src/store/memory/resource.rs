//! One resource: who holds it, who keeps it closed, and what that means for those who ask.

use std::{
    collections::{BTreeSet, HashMap},
    num::NonZeroU32,
    time::Duration,
};

use super::record::{Record, whole_millis};
use crate::{
    protocol::{Fence, Mode, Moment, Owner, Token},
    store::{
        Acquired, Acquisition, Grant, Hold, HolderState, Inspection, Refusal, Released, Renewed, StoreError,
    },
};

/// A resource that is not free. While there are records, they are all exclusive (of one owner and one fence), or
/// all shared, or all permits of one capacity; so any of them tells how the resource is in use.
#[derive(Debug, Default)]
pub(super) struct Resource {
    records: HashMap<Token, Record>,
    /// By when something becomes of them.
    due: BTreeSet<(Moment, Token)>,
    /// By when the resource is free of them.
    openings: BTreeSet<(Moment, Token)>,
    /// The permits that all records take.
    taken: u64,
    shares: HashMap<Owner, Share>,
}

/// What one owner holds; what it only keeps closed does not count.
#[derive(Debug, Default)]
struct Share {
    holds: u64,
    permits: u32,
}

/// What becomes of an acquisition that does not hold yet.
enum Verdict<'a> {
    Free,
    ReEntry(Fence),
    InTheWay(&'a Record),
}

impl Resource {
    pub(super) fn acquire(
        &mut self,
        asked: &Acquisition,
        now: Moment,
        new_fence: impl FnOnce() -> Fence,
    ) -> Result<Acquired, StoreError> {
        self.settle(now);
        if self.extend(asked.hold.token, asked.ttl, now) {
            return Ok(self.granted(&self.records[&asked.hold.token]));
        }
        let fence = match self.judge(asked)? {
            Verdict::InTheWay(record) => return Ok(refused(record, now)),
            Verdict::ReEntry(fence) => fence,
            Verdict::Free => new_fence(),
        };
        Ok(self.admit(Record::new(asked, fence, now)))
    }

    pub(super) fn renew(&mut self, hold: &Hold, ttl: Duration, now: Moment) -> Renewed {
        self.settle(now);
        if self.extend(hold.token, ttl, now) { Renewed::Extended } else { Renewed::NotHeld }
    }

    pub(super) fn release(&mut self, hold: &Hold, closed_for: Duration, now: Moment) -> Released {
        self.settle(now);
        let held = self.holds(hold.token);
        // Whoever brings the token may not know whose it is.
        let owner = match self.records.get(&hold.token) {
            Some(record) if held => record.owner.clone(),
            _ => hold.owner.clone(),
        };
        if held {
            self.close(hold.token, now + whole_millis(closed_for));
            self.settle(now);
        }
        match (held, self.holds_of(owner.as_ref())) {
            (false, count) => Released::NotHeld { count },
            (true, 0) => Released::Freed,
            (true, count) => Released::StillHeld { count },
        }
    }

    pub(super) fn is_held(&mut self, hold: &Hold, now: Moment) -> bool {
        self.settle(now);
        self.holds(hold.token)
    }

    pub(super) fn inspect(&mut self, limit: usize, now: Moment) -> Inspection {
        self.settle(now);
        let in_order = self.due.iter().take(limit);
        let holders = in_order.map(|(_, token)| self.records[token].describe(now)).collect();
        Inspection { holders, total: self.total() }
    }

    pub(super) fn total(&self) -> u64 {
        self.records.len() as u64
    }

    pub(super) fn is_free(&self) -> bool {
        self.records.is_empty()
    }

    /// Brings the records up to `now`. Whatever else is asked of a resource, this comes first.
    pub(super) fn settle(&mut self, now: Moment) {
        while let Some(&(due, token)) = self.due.first()
            && due <= now
        {
            if self.holds(token) {
                self.stop_holding(token);
            } else {
                self.forget(token);
            }
        }
    }

    fn judge(&self, asked: &Acquisition) -> Result<Verdict<'_>, StoreError> {
        if let Some(closed) = self.records.get(&asked.hold.token) {
            // A late repeat of an acquisition whose hold is over does not bring it back.
            return Ok(Verdict::InTheWay(closed));
        }
        let (Some((_, first)), Some((_, last))) = (self.due.first(), self.openings.last()) else {
            return Ok(Verdict::Free);
        };
        let (first, last) = (&self.records[first], &self.records[last]);
        if let Some(share) = self.share_of(asked.hold.owner.as_ref()) {
            let held = share.as_mode(first.mode);
            match (asked.mode, held) {
                (Mode::Exclusive, Mode::Exclusive) if asked.reentrant => {
                    return Ok(Verdict::ReEntry(first.fence));
                }
                (Mode::Exclusive, _) | (_, Mode::Exclusive) => {
                    return Err(StoreError::Deadlock { asked: asked.mode, held });
                }
                _ => {}
            }
        }
        match (asked.mode, first.mode) {
            (Mode::Exclusive, _) | (_, Mode::Exclusive) => Ok(Verdict::InTheWay(last)),
            (Mode::Shared, Mode::Shared) => Ok(Verdict::Free),
            (Mode::Permits { count, of }, Mode::Permits { of: capacity, .. }) if of == capacity => {
                let fits = self.taken + u64::from(count.get()) <= u64::from(of.get());
                Ok(if fits { Verdict::Free } else { Verdict::InTheWay(first) })
            }
            (asked, used) => Err(StoreError::CapacityMismatch { asked, used }),
        }
    }

    fn granted(&self, record: &Record) -> Acquired {
        // Without an owner nothing is counted, but this hold is one.
        let holds = self.holds_of(record.owner.as_ref()).max(1);
        Acquired::Granted(Grant { fence: Some(record.fence), holds })
    }

    fn holds(&self, token: Token) -> bool {
        self.records.get(&token).is_some_and(Record::holds)
    }

    fn holds_of(&self, owner: Option<&Owner>) -> u64 {
        self.share_of(owner).map_or(0, |share| share.holds)
    }

    fn share_of(&self, owner: Option<&Owner>) -> Option<&Share> {
        owner.and_then(|owner| self.shares.get(owner))
    }

    fn admit(&mut self, record: Record) -> Acquired {
        self.taken += u64::from(record.permits());
        if let Some(owner) = &record.owner {
            let share = self.shares.entry(owner.clone()).or_default();
            share.holds += 1;
            share.permits += record.permits();
        }
        let answer = self.granted(&record);
        self.enter(record);
        answer
    }

    /// Answers whether the token holds; if so, its end is counted anew.
    fn extend(&mut self, token: Token, ttl: Duration, now: Moment) -> bool {
        let held = self.holds(token);
        if held && let Some(mut record) = self.take(token) {
            record.extend(ttl, now);
            self.enter(record);
        }
        held
    }

    /// Ends a hold before its time; until `opening` it keeps its place, which is nobody's.
    fn close(&mut self, token: Token, opening: Moment) {
        self.stop_holding(token);
        if let Some(mut record) = self.take(token) {
            record.owner = None;
            record.opening = opening;
            self.enter(record);
        }
    }

    fn stop_holding(&mut self, token: Token) {
        let Some(mut record) = self.take(token) else {
            return;
        };
        if let Some(owner) = &record.owner
            && let Some(share) = self.shares.get_mut(owner)
        {
            share.holds -= 1;
            share.permits -= record.permits();
            if share.holds == 0 {
                self.shares.remove(owner);
            }
        }
        record.state = HolderState::Closed;
        self.enter(record);
    }

    fn forget(&mut self, token: Token) {
        if let Some(record) = self.take(token) {
            self.taken -= u64::from(record.permits());
        }
    }

    fn enter(&mut self, record: Record) {
        self.due.insert((record.due(), record.token));
        self.openings.insert((record.opening, record.token));
        self.records.insert(record.token, record);
    }

    /// Takes a record out of all orders, to change it or to forget it.
    fn take(&mut self, token: Token) -> Option<Record> {
        let record = self.records.remove(&token)?;
        self.due.remove(&(record.due(), token));
        self.openings.remove(&(record.opening, token));
        Some(record)
    }
}

impl Share {
    /// All that the owner holds, given the mode in which the resource is in use.
    fn as_mode(&self, in_use: Mode) -> Mode {
        match (in_use, NonZeroU32::new(self.permits)) {
            (Mode::Permits { of, .. }, Some(count)) => Mode::Permits { count, of },
            (mode, _) => mode,
        }
    }
}

fn refused(record: &Record, now: Moment) -> Acquired {
    Acquired::Refused(Refusal { by: record.describe(now), remaining: record.opening.remaining(now) })
}
