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
    /// Those that were handed over what they wait for and have not taken it up, and those that are taken for dead. Their
    /// arrival is remembered until their patience is over.
    aside: BTreeMap<Arrival, Waiter>,
    arrivals: HashMap<Token, Arrival>,
    /// By when their places are gone.
    patience: BTreeSet<(Moment, Arrival)>,
    /// By when hand-overs have to be taken up.
    offers: BTreeSet<(Moment, Arrival)>,
    /// When the roll was called last.
    roll: Option<Roll>,
    /// The one before, if what was handed over after it was not taken up either: who has not answered it is taken for dead.
    sieve: Option<Roll>,
    /// How many wait of each block of arrivals.
    blocks: BTreeMap<u64, u64>,
    next: Arrival,
}

/// A call to many waiters to show that they are alive.
#[derive(Clone, Copy, Debug)]
struct Roll {
    called: Moment,
    /// Who came after this one was not called.
    up_to: Arrival,
}

/// One that waits.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) asked: Acquisition,
    pub(super) place: Place,
    gone: Moment,
    /// Whether it came back after it had been set aside: it lives, though nobody may hear its inbox.
    pub(super) came_back: bool,
    /// From when until when it may take up what it was handed over.
    offered: Option<(Moment, Moment)>,
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

    fn patience(&self) -> Duration {
        whole_millis(self.place.patience).max(Duration::from_millis(1))
    }

    /// Whether it has not asked since this roll was called, though it was called.
    fn missed(&self, arrival: Arrival, roll: Roll) -> bool {
        arrival <= roll.up_to && self.gone < roll.called + self.patience()
    }
}

impl Queue {
    /// How many stand in it.
    pub(super) fn len(&self) -> u64 {
        self.waiters.len() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// Whether nobody stands in it, and nobody's place is remembered.
    pub(super) fn is_forgotten(&self) -> bool {
        self.arrivals.is_empty()
    }

    /// How many stand in it whose places are not gone.
    pub(super) fn waiting(&self, now: Moment) -> u64 {
        let gone = self.patience.range(..=(now, Arrival::MAX));
        self.len() - gone.filter(|(_, arrival)| self.waiters.contains_key(arrival)).count() as u64
    }

    pub(super) fn head(&self) -> Option<&Waiter> {
        self.in_order_of_arrival().next()
    }

    pub(super) fn last(&self) -> Option<&Waiter> {
        self.waiters.values().next_back()
    }

    pub(super) fn in_order_of_arrival(&self) -> impl Iterator<Item = &Waiter> {
        self.waiters.values()
    }

    pub(super) fn holds_a_place_for(&self, token: Token) -> bool {
        self.arrivals.get(&token).is_some_and(|arrival| self.waiters.contains_key(arrival))
    }

    /// Whether the head was called and has not answered.
    pub(super) fn head_is_taken_for_dead(&self) -> bool {
        let head = self.waiters.first_key_value();
        head.zip(self.sieve).is_some_and(|((&arrival, head), roll)| head.missed(arrival, roll))
    }

    /// Sets the head aside: it is handed something over until then, or taken for dead.
    pub(super) fn set_head_aside(&mut self, offered: Option<(Moment, Moment)>) {
        if let Some((arrival, mut head)) = self.waiters.pop_first() {
            self.counted_out(arrival);
            head.offered = offered;
            self.offers.extend(offered.map(|(_, end)| (end, arrival)));
            self.aside.insert(arrival, head);
        }
    }

    /// Lets one that was set aside stand where it stood: it asks.
    pub(super) fn come_back(&mut self, token: Token) {
        let Some(&arrival) = self.arrivals.get(&token) else {
            return;
        };
        if let Some(mut waiter) = self.aside.remove(&arrival) {
            if let Some((_, end)) = waiter.offered.take() {
                self.offers.remove(&(end, arrival));
            }
            waiter.came_back = true;
            self.counted_in(arrival);
            self.waiters.insert(arrival, waiter);
        }
    }

    /// Puts an acquisition at the end, or keeps its place if it has one.
    pub(super) fn stand(&mut self, asked: &Acquisition, place: Place, now: Moment) -> Standing {
        let gone = now + whole_millis(place.patience).max(Duration::from_millis(1));
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
        self.counted_in(arrival);
        let waiter = Waiter { asked: asked.clone(), place, gone, came_back: false, offered: None };
        self.waiters.insert(arrival, waiter);
        Standing::Waits(waiting)
    }

    /// Takes a token out for good. Answers whether it stood there.
    pub(super) fn leave(&mut self, token: Token) -> bool {
        let stood = self.holds_a_place_for(token);
        if let Some(&arrival) = self.arrivals.get(&token) {
            self.remove(arrival);
        }
        stood
    }

    /// Forgets those whose patience is over.
    pub(super) fn settle(&mut self, now: Moment) {
        while let Some(&(gone, arrival)) = self.patience.first()
            && gone <= now
        {
            self.remove(arrival);
        }
    }

    /// Whether something that was handed over since the roll was called was not taken up in time. It is told once.
    pub(super) fn finds_unclaimed(&mut self, now: Moment) -> bool {
        let mut found = false;
        while let Some(&(end, arrival)) = self.offers.first()
            && end <= now
        {
            self.offers.pop_first();
            let offered = self.aside.get_mut(&arrival).and_then(|waiter| waiter.offered.take());
            found |= offered.is_some_and(|(begun, _)| self.roll.is_none_or(|roll| begun >= roll.called));
        }
        found
    }

    /// Calls the first waiters, who are told by `tell`. Whoever has not answered the roll before this one is dead.
    pub(super) fn call_the_roll(&mut self, now: Moment) {
        self.sieve = self.roll.replace(Roll { called: now, up_to: 0 });
    }

    /// The first waiters, so many, have been called.
    pub(super) fn called(&mut self, most: usize) {
        let up_to = self.waiters.keys().take(most).copied().max();
        if let (Some(roll), Some(up_to)) = (&mut self.roll, up_to) {
            roll.up_to = up_to;
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

    fn remove(&mut self, arrival: Arrival) {
        let waiter = match self.waiters.remove(&arrival) {
            Some(waiter) => {
                self.counted_out(arrival);
                waiter
            }
            None => match self.aside.remove(&arrival) {
                Some(waiter) => waiter,
                None => return,
            },
        };
        self.arrivals.remove(&waiter.token());
        self.patience.remove(&(waiter.gone, arrival));
        if let Some((_, end)) = waiter.offered {
            self.offers.remove(&(end, arrival));
        }
    }

    fn counted_in(&mut self, arrival: Arrival) {
        *self.blocks.entry(arrival / BLOCK).or_default() += 1;
    }

    fn counted_out(&mut self, arrival: Arrival) {
        if let Some(count) = self.blocks.get_mut(&(arrival / BLOCK)) {
            *count -= 1;
            if *count == 0 {
                self.blocks.remove(&(arrival / BLOCK));
            }
        }
    }
}
