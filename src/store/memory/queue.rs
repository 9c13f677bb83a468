//! Who waits for one resource, in the order of arrival.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use super::record::whole_millis;
use crate::{
    protocol::{Moment, Token},
    store::{Acquisition, Place},
};

/// The number of an arrival; a later one has a larger number.
type Arrival = u64;

/// How many arrivals are counted together: see [`Queue::ahead`].
const BLOCK: u64 = 256;

/// The waiters of a resource.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiters: BTreeMap<Arrival, Waiter>,
    arrivals: HashMap<Token, Arrival>,
    /// By when their places are gone.
    patience: BTreeSet<(Moment, Arrival)>,
    /// How many wait of each block of arrivals.
    blocks: BTreeMap<u64, u64>,
    next: Arrival,
}

/// One that waits.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) asked: Acquisition,
    pub(super) place: Place,
    gone: Moment,
}

/// What becomes of one that wants to wait.
pub(super) enum Standing {
    /// It waits, with this many ahead.
    Waits(u64),
    /// This many wait, and that is as many as may.
    Full(u64),
}

impl Waiter {
    pub(super) fn token(&self) -> Token {
        self.asked.hold.token
    }

    /// How long what it is handed over is kept for it.
    pub(super) fn window(&self) -> Duration {
        whole_millis(self.place.grant_window).max(Duration::from_millis(1))
    }
}

impl Queue {
    pub(super) fn len(&self) -> u64 {
        self.waiters.len() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    pub(super) fn head(&self) -> Option<&Waiter> {
        self.in_order_of_arrival().next()
    }

    pub(super) fn in_order_of_arrival(&self) -> impl Iterator<Item = &Waiter> {
        self.waiters.values()
    }

    pub(super) fn holds_a_place_for(&self, token: Token) -> bool {
        self.arrivals.contains_key(&token)
    }

    pub(super) fn take_head(&mut self) -> Option<Waiter> {
        let (&arrival, _) = self.waiters.first_key_value()?;
        self.remove(arrival)
    }

    /// Puts an acquisition at the end, or keeps its place if it has one.
    pub(super) fn stand(&mut self, asked: &Acquisition, place: Place, now: Moment) -> Standing {
        let gone = now + whole_millis(place.patience);
        if let Some(&arrival) = self.arrivals.get(&asked.hold.token) {
            self.refresh(arrival, gone);
            return Standing::Waits(self.ahead(arrival));
        }
        let waiting = self.len();
        if waiting >= u64::from(place.max_waiters) {
            return Standing::Full(waiting);
        }
        let arrival = self.next;
        self.next += 1;
        self.arrivals.insert(asked.hold.token, arrival);
        self.patience.insert((gone, arrival));
        *self.blocks.entry(arrival / BLOCK).or_default() += 1;
        self.waiters.insert(arrival, Waiter { asked: asked.clone(), place, gone });
        Standing::Waits(waiting)
    }

    /// Takes a token out. Answers whether it waited.
    pub(super) fn leave(&mut self, token: Token) -> bool {
        let arrival = self.arrivals.get(&token).copied();
        arrival.and_then(|arrival| self.remove(arrival)).is_some()
    }

    /// Forgets those whose patience is over.
    pub(super) fn settle(&mut self, now: Moment) {
        while let Some(&(gone, arrival)) = self.patience.first()
            && gone <= now
        {
            self.remove(arrival);
        }
    }

    fn refresh(&mut self, arrival: Arrival, gone: Moment) {
        if let Some(waiter) = self.waiters.get_mut(&arrival) {
            self.patience.remove(&(waiter.gone, arrival));
            self.patience.insert((gone, arrival));
            waiter.gone = gone;
        }
    }

    /// How many wait before this arrival. Counted by blocks, so that a long queue is not walked along.
    fn ahead(&self, arrival: Arrival) -> u64 {
        let block = arrival / BLOCK;
        let before: u64 = self.blocks.range(..block).map(|(_, count)| count).sum();
        before + self.waiters.range(block * BLOCK..arrival).count() as u64
    }

    fn remove(&mut self, arrival: Arrival) -> Option<Waiter> {
        let waiter = self.waiters.remove(&arrival)?;
        self.arrivals.remove(&waiter.asked.hold.token);
        self.patience.remove(&(waiter.gone, arrival));
        if let Some(count) = self.blocks.get_mut(&(arrival / BLOCK)) {
            *count -= 1;
            if *count == 0 {
                self.blocks.remove(&(arrival / BLOCK));
            }
        }
        Some(waiter)
    }
}
