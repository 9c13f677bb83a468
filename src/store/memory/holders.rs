//! The holders of one resource, with those that only keep it closed, and their effect on acquisitions.

use std::{
    collections::{BTreeSet, HashMap},
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

use crate::{
    core::{Fence, Mode, Moment, Owner, Token},
    store::{Acquisition, HolderState, Metadata, StoreError, memory::record::HoldRecord},
};

/// The holders of a resource.
///
/// All records are of one kind: exclusive (of one owner and one fence), shared, or permits. So any of them tells how the
/// resource is in use.
#[derive(Debug, Default)]
pub(super) struct Holders {
    records: HashMap<Token, HoldRecord>,
    /// The time at which each record changes by itself.
    due: BTreeSet<(Moment, Token)>,
    /// The time at which the resource is free of each record.
    openings: BTreeSet<(Moment, Token)>,
    taken: u64,
    /// The capacity that each record of permits names: two different ones at most.
    capacities: BTreeSet<(NonZeroU32, Token)>,
    /// The numbers of permits that are free, below as many as there are records.
    free_slots: BTreeSet<u32>,
    shares: HashMap<Owner, Share>,
}

/// The holds of one owner, without those that only keep the resource closed.
#[derive(Debug, Default)]
struct Share {
    holds: u64,
    permits: u32,
}

/// The compatibility of an acquisition that does not hold yet with the holders.
pub(super) enum Compatibility<'a> {
    /// Compatible with the current holders, if nobody waits ahead of it. Carries the holder that bounds the wait, if
    /// any: the one that ends first or last.
    Fits(Option<&'a HoldRecord>),
    /// Another hold of the owner that has the resource, with this fence; it does not matter who waits.
    ReEntry(Fence),
    /// A shared hold beside those of the same owner; it does not matter who waits.
    BesideItsOwn,
    /// Incompatible, because of this holder.
    InTheWay(&'a HoldRecord),
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
                self.remove(token);
            }
        }
    }

    /// Checks an acquisition, with the number of permits that is set, if one is.
    pub(super) fn check(
        &self,
        asked: &Acquisition,
        set: Option<NonZeroU32>,
    ) -> Result<Compatibility<'_>, StoreError> {
        if let (Mode::Permits { count, .. }, Some(of)) = (asked.mode, set)
            && count > of
        {
            let used = Mode::Permits { count: of, of };
            return Err(StoreError::ModeMismatch { asked: asked.mode, used });
        }
        let (Some((_, first)), Some((_, last))) = (self.due.first(), self.openings.last()) else {
            return Ok(Compatibility::Fits(None));
        };
        let (first, last) = (&self.records[first], &self.records[last]);
        if let Some(share) = self.share_of(asked.hold.owner.as_ref()) {
            let held = self.as_mode(share, first.mode);
            match (asked.mode, held) {
                (Mode::Exclusive, Mode::Exclusive) if asked.reentrant => {
                    return Ok(Compatibility::ReEntry(first.fence));
                }
                (Mode::Exclusive, _) | (_, Mode::Exclusive) => {
                    return Err(StoreError::Deadlock { asked: asked.mode, held });
                }
                (Mode::Shared, Mode::Shared) => return Ok(Compatibility::BesideItsOwn),
                _ => {}
            }
        }
        match (asked.mode, first.mode) {
            (Mode::Shared, Mode::Exclusive) if planted!("a reader beside a writer") => {
                Ok(Compatibility::Fits(None))
            }
            (Mode::Exclusive, _) | (_, Mode::Exclusive) => Ok(Compatibility::InTheWay(last)),
            (Mode::Shared, Mode::Shared) => Ok(Compatibility::Fits(Some(last))),
            (Mode::Permits { count, of }, Mode::Permits { .. }) => {
                let capacity = self.capacity_with(count, of, set);
                let fits = self.taken + u64::from(count.get()) <= u64::from(capacity);
                Ok(if fits { Compatibility::Fits(Some(first)) } else { Compatibility::InTheWay(first) })
            }
            (asked, used) => Err(StoreError::ModeMismatch { asked, used }),
        }
    }

    /// Adds a hold. Returns its number, if it is one of permits.
    pub(super) fn admit(&mut self, mut record: HoldRecord) -> Option<u32> {
        self.taken += u64::from(record.permits());
        if let Mode::Permits { count, of } = record.mode {
            let of = self.beside(of).unwrap_or(of);
            record.mode = Mode::Permits { count, of };
            let first_of_all = self.capacities.len() as u32;
            record.slot = Some(self.free_slots.pop_first().unwrap_or(first_of_all));
            self.capacities.insert((of, record.token));
        }
        if let Some(owner) = &record.owner {
            let share = self.shares.entry(owner.clone()).or_default();
            share.holds += 1;
            share.permits += record.permits();
        }
        let slot = record.slot;
        self.enter(record);
        slot
    }

    /// Counts the end of a hold anew. Returns true if the token holds.
    pub(super) fn extend(&mut self, token: Token, ttl: Duration, now: Moment) -> bool {
        let held = self.holds(token);
        if held && let Some(mut record) = self.take(token) {
            record.extend(ttl, now);
            self.enter(record);
        }
        held
    }

    pub(super) fn describe(&mut self, token: Token, metadata: &Arc<Metadata>) {
        self.records.entry(token).and_modify(|record| record.metadata = Arc::clone(metadata));
    }

    /// Gives a hold at least this fence; if it is exclusive, also all holds that re-entered with it. Returns true if
    /// the token holds.
    pub(super) fn raise_fence(&mut self, token: Token, fence: Fence) -> bool {
        let Some(record) = self.records.get_mut(&token).filter(|record| record.holds()) else { return false };
        record.fence = if planted!("a raise lowers a fence") { fence } else { record.fence.max(fence) };
        if record.mode == Mode::Exclusive {
            self.records.values_mut().for_each(|record| record.fence = record.fence.max(fence));
        }
        true
    }

    /// Ends a hold before its time. Until `opening` its record stays, without an owner, and keeps the resource closed.
    pub(super) fn close(&mut self, token: Token, opening: Moment) {
        self.stop_holding(token);
        if let Some(mut record) = self.take(token) {
            record.owner = None;
            record.opening = opening;
            self.enter(record);
        }
    }

    /// Returns the hold, or the record that keeps the resource closed after it.
    pub(super) fn get(&self, token: Token) -> Option<&HoldRecord> {
        self.records.get(&token)
    }

    pub(super) fn holds(&self, token: Token) -> bool {
        self.get(token).is_some_and(HoldRecord::holds)
    }

    pub(super) fn holds_of(&self, owner: Option<&Owner>) -> u64 {
        self.share_of(owner).map_or(0, |share| share.holds)
    }

    pub(super) fn in_order_of_end(&self) -> impl Iterator<Item = &HoldRecord> {
        self.due.iter().map(|(_, token)| &self.records[token])
    }

    pub(super) fn total(&self) -> u64 {
        self.records.len() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the capacity that counts with one more record of this capacity: the one that is set, or the smallest in use. It is
    /// zero if two others are in use, so that the third has to wait, unless one is set: then it names the larger of the two.
    fn capacity_with(&self, count: NonZeroU32, of: NonZeroU32, set: Option<NonZeroU32>) -> u32 {
        if let (Some(&(most, _)), None) = (self.capacities.last(), set)
            && planted!("the larger of two capacities counts")
        {
            return of.max(most).get();
        }
        match (self.beside(of), set) {
            (Some(most), Some(_)) if count > most => 0,
            (Some(_), None) => 0,
            (_, Some(set)) => set.get(),
            (None, None) => self.capacities.first().map_or(of, |&(least, _)| of.min(least)).get(),
        }
    }

    /// Returns the larger of the capacities in use if these are two others.
    fn beside(&self, of: NonZeroU32) -> Option<NonZeroU32> {
        let (&(least, _), &(most, _)) = (self.capacities.first()?, self.capacities.last()?);
        (least != most && of != least && of != most).then_some(most)
    }

    /// Returns all that an owner holds, given the mode in which the resource is in use.
    fn as_mode(&self, share: &Share, in_use: Mode) -> Mode {
        match (in_use, NonZeroU32::new(share.permits)) {
            (Mode::Permits { of, .. }, Some(count)) => {
                // It may be more than the requests named, if another number is set.
                Mode::Permits {
                    count,
                    of: self.capacities.first().map_or(of, |(least, _)| count.max(*least)),
                }
            }
            (mode, _) => mode,
        }
    }

    fn share_of(&self, owner: Option<&Owner>) -> Option<&Share> {
        owner.and_then(|owner| self.shares.get(owner))
    }

    fn stop_holding(&mut self, token: Token) {
        let Some(mut record) = self.take(token) else { return };
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

    fn remove(&mut self, token: Token) {
        if let Some(record) = self.take(token) {
            self.taken -= u64::from(record.permits());
            if let Mode::Permits { of, .. } = record.mode {
                self.capacities.remove(&(of, token));
            }
            self.free_slots.extend(record.slot);
        }
    }

    fn enter(&mut self, record: HoldRecord) {
        self.due.insert((record.due(), record.token));
        self.openings.insert((record.opening, record.token));
        self.records.insert(record.token, record);
    }

    /// Removes a record from all orders, to change it or to drop it.
    fn take(&mut self, token: Token) -> Option<HoldRecord> {
        let record = self.records.remove(&token)?;
        self.due.remove(&(record.due(), token));
        self.openings.remove(&(record.opening, token));
        Some(record)
    }
}
