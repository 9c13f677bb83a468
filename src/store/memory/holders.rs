//! Those who hold one resource, or keep it closed, and what that means for those who ask.

use std::{
    collections::{BTreeSet, HashMap},
    num::NonZeroU32,
    time::Duration,
};

use super::record::Record;
use crate::{
    protocol::{Fence, Mode, Moment, Owner, Token},
    store::{Acquisition, HolderState, StoreError},
};

/// The holders of a resource. While there are records, they are all exclusive (of one owner and one fence), or
/// all shared, or all permits of one capacity; so any of them tells how the resource is in use.
#[derive(Debug, Default)]
pub(super) struct Holders {
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

/// What the holders mean for an acquisition that does not hold yet.
pub(super) enum Verdict<'a> {
    /// It fits if nobody waits ahead of it, beside those whom this one ends first or last of.
    Fits(Option<&'a Record>),
    /// It is one more hold of the owner that has the resource, with this fence; whoever waits.
    ReEntry(Fence),
    /// It reads where its owner reads already; whoever waits.
    BesideItsOwn,
    /// It does not fit, because of this one.
    InTheWay(&'a Record),
}

impl Holders {
    /// Brings the records up to `now`.
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

    pub(super) fn judge(&self, asked: &Acquisition) -> Result<Verdict<'_>, StoreError> {
        let (Some((_, first)), Some((_, last))) = (self.due.first(), self.openings.last()) else {
            return Ok(Verdict::Fits(None));
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
                (Mode::Shared, Mode::Shared) => return Ok(Verdict::BesideItsOwn),
                _ => {}
            }
        }
        match (asked.mode, first.mode) {
            (Mode::Exclusive, _) | (_, Mode::Exclusive) => Ok(Verdict::InTheWay(last)),
            (Mode::Shared, Mode::Shared) => Ok(Verdict::Fits(Some(last))),
            (Mode::Permits { count, of }, Mode::Permits { of: capacity, .. }) if of == capacity => {
                let fits = self.taken + u64::from(count.get()) <= u64::from(of.get());
                Ok(if fits { Verdict::Fits(Some(first)) } else { Verdict::InTheWay(first) })
            }
            (asked, used) => Err(StoreError::CapacityMismatch { asked, used }),
        }
    }

    pub(super) fn admit(&mut self, record: Record) {
        self.taken += u64::from(record.permits());
        if let Some(owner) = &record.owner {
            let share = self.shares.entry(owner.clone()).or_default();
            share.holds += 1;
            share.permits += record.permits();
        }
        self.enter(record);
    }

    /// Answers whether the token holds; if so, its end is counted anew.
    pub(super) fn extend(&mut self, token: Token, ttl: Duration, now: Moment) -> bool {
        let held = self.holds(token);
        if held && let Some(mut record) = self.take(token) {
            record.extend(ttl, now);
            self.enter(record);
        }
        held
    }

    /// Answers whether the token holds; if so, it has at least this fence, and if it is exclusive all who re-entered with it.
    pub(super) fn raise_fence(&mut self, token: Token, fence: Fence) -> bool {
        let Some(record) = self.records.get_mut(&token).filter(|record| record.holds()) else {
            return false;
        };
        record.fence = record.fence.max(fence);
        if record.mode == Mode::Exclusive {
            self.records.values_mut().for_each(|record| record.fence = record.fence.max(fence));
        }
        true
    }

    /// Ends a hold before its time; until `opening` it keeps its place, which is nobody's.
    pub(super) fn close(&mut self, token: Token, opening: Moment) {
        self.stop_holding(token);
        if let Some(mut record) = self.take(token) {
            record.owner = None;
            record.opening = opening;
            self.enter(record);
        }
    }

    /// The hold, or what is left of it.
    pub(super) fn get(&self, token: Token) -> Option<&Record> {
        self.records.get(&token)
    }

    pub(super) fn holds(&self, token: Token) -> bool {
        self.get(token).is_some_and(Record::holds)
    }

    /// Whose this hold is.
    pub(super) fn owner_of(&self, token: Token) -> Option<Owner> {
        self.get(token).and_then(|record| record.owner.clone())
    }

    pub(super) fn holds_of(&self, owner: Option<&Owner>) -> u64 {
        self.share_of(owner).map_or(0, |share| share.holds)
    }

    /// The records; those that end first come first.
    pub(super) fn in_order_of_end(&self) -> impl Iterator<Item = &Record> {
        self.due.iter().map(|(_, token)| &self.records[token])
    }

    pub(super) fn total(&self) -> u64 {
        self.records.len() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    fn share_of(&self, owner: Option<&Owner>) -> Option<&Share> {
        owner.and_then(|owner| self.shares.get(owner))
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
