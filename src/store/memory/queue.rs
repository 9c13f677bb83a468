//! The waiters for one resource, in the order of arrival.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    core::{Moment, Token},
    store::{self, Acquisition, Metadata, QueueTicket, memory::record::positive_millis},
};

/// An arrival; a later one has a larger number. Of two with one number the token decides, as on a server, so that all nodes of
/// a quorum have one order.
type Arrival = (u64, Token);

/// The number of arrivals that are counted together: see [`WaitQueue::ahead`].
const BLOCK: u64 = 256;

const FIRST_TOKEN: Token = Token::from_bits(0);

#[derive(Debug, Default)]
pub(super) struct WaitQueue {
    waiters: BTreeMap<Arrival, QueuedWaiter>,
    /// The waiters that were handed over what they wait for and have not taken it up, and those that are taken for
    /// dead. Their arrival is kept until their ticket expires.
    aside: BTreeMap<Arrival, QueuedWaiter>,
    arrivals: HashMap<Token, Arrival>,
    /// The times at which tickets expire.
    expirations: BTreeSet<(Moment, Arrival)>,
    /// The times by which hand-overs must be taken up.
    offers: BTreeSet<(Moment, Arrival)>,
    roll: Option<RollCall>,
    /// The roll call before that, if something handed over after it was not taken up either. A waiter that has not
    /// answered it is taken for dead.
    sieve: Option<RollCall>,
    /// The number of waiters in each block of arrivals.
    blocks: BTreeMap<u64, u64>,
    /// The number of the next arrival without a place.
    next: u64,
}

/// A roll call: many waiters are asked to show that they are alive.
#[derive(Clone, Copy, Debug)]
struct RollCall {
    called: Moment,
    /// The last arrival that was called.
    up_to: Arrival,
}

#[derive(Debug)]
pub(super) struct QueuedWaiter {
    pub(super) asked: Acquisition,
    pub(super) ticket: QueueTicket,
    gone: Moment,
    /// The time of its arrival. `None` if a quorum has proposed its place: then it came at another time to each node.
    since: Option<Moment>,
    /// True if it came back after it had been set aside: it is alive, though its inbox may have no subscriber.
    pub(super) came_back: bool,
    /// The start and the end of the time in which it may take up what it was handed over.
    offered: Option<(Moment, Moment)>,
}

impl QueuedWaiter {
    pub(super) fn token(&self) -> Token {
        self.asked.hold.token
    }

    pub(super) fn describe(&self, now: Moment) -> store::Waiter {
        store::Waiter {
            token: self.token().prefix(),
            mode: self.asked.mode,
            owner: self.asked.hold.owner.clone(),
            waited: self.since.map(|since| since.elapsed(now)),
            metadata: Metadata::clone(&self.asked.metadata),
        }
    }

    /// Returns true if this roll call included it and it has not asked since.
    fn missed(&self, arrival: Arrival, roll: RollCall) -> bool {
        arrival <= roll.up_to && self.gone < roll.called + positive_millis(self.ticket.ttl)
    }
}

impl WaitQueue {
    /// Returns the number of waiters, without those set aside.
    pub(super) fn len(&self) -> u64 {
        self.waiters.len() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// Returns true if nobody waits and no ticket is kept.
    pub(super) fn is_removable(&self) -> bool {
        self.arrivals.is_empty()
    }

    pub(super) fn head(&self) -> Option<&QueuedWaiter> {
        self.waiters.values().next()
    }

    pub(super) fn in_order_of_arrival(&self) -> impl DoubleEndedIterator<Item = &QueuedWaiter> {
        self.waiters.values()
    }

    /// Returns true if the head was called and has not answered.
    pub(super) fn head_is_taken_for_dead(&self) -> bool {
        let head = self.waiters.first_key_value();
        head.zip(self.sieve).is_some_and(|((&arrival, head), roll)| head.missed(arrival, roll))
    }

    /// Sets the head aside. Either it was handed over what it waits for, to take up within `offered`, or it is taken for dead.
    pub(super) fn set_head_aside(&mut self, offered: Option<(Moment, Moment)>) {
        if let Some((arrival, mut head)) = self.waiters.pop_first() {
            self.counted_out(arrival);
            head.offered = offered;
            self.offers.extend(offered.map(|(_, end)| (end, arrival)));
            self.aside.insert(arrival, head);
        }
    }

    /// Puts a waiter that was set aside back to where it was, because it asks.
    pub(super) fn come_back(&mut self, token: Token) {
        let Some(&arrival) = self.arrivals.get(&token) else { return };
        if let Some(mut waiter) = self.aside.remove(&arrival) {
            if let Some((_, end)) = waiter.offered.take() {
                self.offers.remove(&(end, arrival));
            }
            waiter.came_back = true;
            self.counted_in(arrival);
            self.waiters.insert(arrival, waiter);
        }
    }

    /// Puts an acquisition at its place in the queue, or at the end. Keeps its ticket if it has one. Returns the number of
    /// waiters ahead, or as an error the number of all waiters, because no more may wait.
    pub(super) fn enqueue(
        &mut self,
        asked: &Acquisition,
        ticket: QueueTicket,
        now: Moment,
    ) -> Result<u64, u64> {
        let gone = now + positive_millis(ticket.ttl);
        if let Some(&arrival) = self.arrivals.get(&asked.hold.token) {
            self.refresh(arrival, gone);
            return Ok(self.ahead(arrival));
        }
        let waiting = self.len();
        if waiting >= u64::from(ticket.max_waiters) {
            return Err(waiting);
        }
        let last_first = planted!("last come, first served");
        let number = match ticket.place {
            Some(place) => place,
            None if last_first => u64::MAX / 2 - self.next,
            None => self.next,
        };
        let arrival = (number, asked.hold.token);
        self.next = self.next.max(if last_first { 0 } else { number }) + 1;
        self.arrivals.insert(asked.hold.token, arrival);
        self.expirations.insert((gone, arrival));
        self.counted_in(arrival);
        let since = ticket.place.is_none().then_some(now);
        let waiter =
            QueuedWaiter { asked: asked.clone(), ticket, gone, since, came_back: false, offered: None };
        self.waiters.insert(arrival, waiter);
        Ok(self.ahead(arrival))
    }

    /// Returns true if a token was handed over what it waits for, and has not taken it up.
    pub(super) fn is_offered(&self, token: Token) -> bool {
        let waiter = self.arrivals.get(&token).and_then(|arrival| self.aside.get(arrival));
        waiter.is_some_and(|waiter| waiter.offered.is_some())
    }

    /// Removes a token for good. Returns true if it was waiting.
    pub(super) fn remove(&mut self, token: Token) -> bool {
        self.arrivals.get(&token).copied().is_some_and(|arrival| self.remove_arrival(arrival))
    }

    pub(super) fn settle(&mut self, now: Moment) {
        while let Some(&(gone, arrival)) = self.expirations.first()
            && gone <= now
        {
            self.remove_arrival(arrival);
        }
    }

    /// Returns true if a hand-over since the latest roll call was not taken up in time. Each of them is reported once.
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

    /// Begins a roll call. A waiter that has not answered the one before it is taken for dead.
    pub(super) fn call_the_roll(&mut self, now: Moment) {
        self.sieve = self.roll.replace(RollCall { called: now, up_to: (0, FIRST_TOKEN) });
    }

    /// Records that the first `most` waiters have been called.
    pub(super) fn called(&mut self, most: usize) {
        let up_to = self.waiters.keys().take(most).copied().max();
        if let (Some(roll), Some(up_to)) = (&mut self.roll, up_to) {
            roll.up_to = up_to;
        }
    }

    fn refresh(&mut self, arrival: Arrival, gone: Moment) {
        if let Some(waiter) = self.waiters.get_mut(&arrival) {
            self.expirations.remove(&(waiter.gone, arrival));
            self.expirations.insert((gone, arrival));
            waiter.gone = gone;
        }
    }

    /// Returns the number of waiters before this arrival. They are counted by blocks, so that a long queue is not walked along.
    fn ahead(&self, arrival: Arrival) -> u64 {
        let block = arrival.0 / BLOCK;
        let before: u64 = self.blocks.range(..block).map(|(_, count)| count).sum();
        before + self.waiters.range((block * BLOCK, FIRST_TOKEN)..arrival).count() as u64
    }

    fn remove_arrival(&mut self, arrival: Arrival) -> bool {
        let waiting = self.waiters.remove(&arrival);
        let waited = waiting.is_some();
        if waited {
            self.counted_out(arrival);
        }
        if let Some(waiter) = waiting.or_else(|| self.aside.remove(&arrival)) {
            self.arrivals.remove(&waiter.token());
            self.expirations.remove(&(waiter.gone, arrival));
            if let Some((_, end)) = waiter.offered {
                self.offers.remove(&(end, arrival));
            }
        }
        waited
    }

    fn counted_in(&mut self, arrival: Arrival) {
        *self.blocks.entry(arrival.0 / BLOCK).or_default() += 1;
    }

    fn counted_out(&mut self, arrival: Arrival) {
        if let Some(count) = self.blocks.get_mut(&(arrival.0 / BLOCK)) {
            *count -= 1;
            if *count == 0 {
                self.blocks.remove(&(arrival.0 / BLOCK));
            }
        }
    }
}
