//! The batcher of operations for the store: operations of one turn travel together, several batches at a time.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// The maximum weight of a batch. A larger one would hold up the batches behind it for longer than it gains.
const AT_ONCE: usize = 256;

/// The number of batches of one batcher in flight, and not stalled, from which on operations gather. With more of them batches
/// get smaller; with fewer the store has nothing to do while an answer travels.
const IN_FLIGHT: usize = 4;

/// The maximum number of operations of one batcher in flight, stalled or not. What comes after them, on whichever way, is
/// behind no more than this.
const MOST_IN_FLIGHT: usize = IN_FLIGHT * AT_ONCE;

/// The time after which a batch does not hold up those behind it any more, as long as there is room in flight.
const STALLED: Duration = Duration::from_millis(50);

/// The time that the store needs for an operation, from 1 to [`AT_ONCE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight(usize);

impl Weight {
    /// The weight of an operation that the store does together with others.
    pub(crate) const LIGHT: Self = Self(1);
    /// The weight of an operation that the store does by itself. A batch has ten of them, which is what a script of the Redis
    /// store does in one call: see `batch.lua`.
    pub(crate) const HEAVY: Self = Self(25);
}

/// A batcher for operations of one kind. An operation travels with all that are pushed until the next batch is taken. A
/// single operation does not wait for others.
pub(crate) struct Batcher<Verb> {
    /// The operations that are to be sent, in their order.
    gathered: Gathering<Verb>,
    /// Those that are sent before all others.
    urgent: Gathering<Verb>,
    pushed: u64,
    /// The batches in flight, in the order in which they were sent.
    in_flight: Vec<Sent>,
    sent: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number(u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight(u64);

/// Operations that are to be sent, in their order.
struct Gathering<Verb> {
    operations: VecDeque<Gathered<Verb>>,
    /// The number of those that were withdrawn.
    withdrawn: usize,
}

/// An operation that is to be sent. One that was withdrawn has no verb.
struct Gathered<Verb> {
    number: Number,
    weight: usize,
    verb: Option<Verb>,
}

struct Sent {
    flight: Flight,
    at: Instant,
    operations: usize,
}

/// The room in a batch that is being filled.
struct Room {
    weight: usize,
    operations: usize,
}

impl<Verb> Gathering<Verb> {
    /// Takes an operation out, if it is here. Returns it with its weight.
    fn withdraw(&mut self, number: Number) -> Option<(Verb, Weight)> {
        let at = self.operations.binary_search_by_key(&number, |gathered| gathered.number).ok()?;
        let weight = Weight(self.operations[at].weight);
        let verb = self.operations[at].verb.take()?;
        self.withdrawn += 1;
        // Half of them at most are none, so that each costs the same whatever is gathered.
        if 2 * self.withdrawn > self.operations.len() {
            self.operations.retain(|gathered| gathered.verb.is_some());
            self.withdrawn = 0;
        }
        Some((verb, weight))
    }

    /// Returns the number of operations at the beginning that fit into a batch, with those that were withdrawn, and takes the
    /// room that they need.
    fn fitting(&self, room: &mut Room) -> usize {
        let fits = |gathered: &&Gathered<Verb>| {
            if gathered.verb.is_some() {
                if gathered.weight > room.weight || room.operations == 0 {
                    return false;
                }
                room.weight -= gathered.weight;
                room.operations -= 1;
            }
            true
        };
        self.operations.iter().take_while(fits).count()
    }

    /// Moves so many operations into a batch.
    fn take(&mut self, length: usize, batch: &mut Vec<Verb>) {
        let before = batch.len();
        batch.extend(self.operations.drain(..length).filter_map(|gathered| gathered.verb));
        self.withdrawn -= length - (batch.len() - before);
        if self.operations.is_empty() {
            self.operations.shrink_to(AT_ONCE);
        }
    }
}

impl<Verb> Batcher<Verb> {
    /// Adds an operation, and returns its number, by which it can be withdrawn.
    pub(crate) fn push(&mut self, verb: Verb, weight: Weight) -> Number {
        let gathered = self.number(verb, weight);
        let number = gathered.number;
        self.gathered.operations.push_back(gathered);
        number
    }

    /// Adds an operation that is sent before all that are not urgent.
    pub(crate) fn push_urgent(&mut self, verb: Verb, weight: Weight) -> Number {
        let gathered = self.number(verb, weight);
        let number = gathered.number;
        self.urgent.operations.push_back(gathered);
        number
    }

    fn number(&mut self, verb: Verb, Weight(weight): Weight) -> Gathered<Verb> {
        self.pushed += 1;
        Gathered { number: Number(self.pushed), weight, verb: Some(verb) }
    }

    /// Takes an operation out that nobody needs any more. Returns false if it has been sent.
    pub(crate) fn withdraw(&mut self, number: Number) -> bool {
        self.gathered.withdraw(number).or_else(|| self.urgent.withdraw(number)).is_some()
    }

    /// Makes an operation urgent, and returns its new number. `None` if it has been sent.
    pub(crate) fn hurry(&mut self, number: Number) -> Option<Number> {
        let (verb, weight) = self.gathered.withdraw(number).or_else(|| self.urgent.withdraw(number))?;
        Some(self.push_urgent(verb, weight))
    }

    /// Returns the next batch, if anything has been gathered and there is not too much in flight.
    pub(crate) fn next(&mut self, now: impl FnOnce() -> Instant) -> Option<(Flight, Vec<Verb>)> {
        let (urgent, others, operations) = self.fitting();
        if operations == 0 {
            return None;
        }
        let at = now();
        if self.last_to_stall().is_some_and(|sent| at < sent.at + STALLED) {
            return None;
        }
        let mut batch = Vec::with_capacity(operations);
        self.urgent.take(urgent, &mut batch);
        self.gathered.take(others, &mut batch);
        self.sent += 1;
        let flight = Flight(self.sent);
        self.in_flight.push(Sent { flight, at, operations });
        Some((flight, batch))
    }

    pub(crate) fn landed(&mut self, flight: Flight) {
        self.in_flight.retain(|sent| sent.flight != flight);
    }

    /// Returns the moment at which a batch in flight will have stalled, if one is waited for.
    pub(crate) fn stalls_at(&self) -> Option<Instant> {
        let last = self.last_to_stall()?;
        (self.fitting().2 > 0).then(|| last.at + STALLED)
    }

    /// Returns the batch that has to stall or to land before another one is sent. `None` if there are fewer in flight.
    fn last_to_stall(&self) -> Option<&Sent> {
        self.in_flight.iter().nth_back(IN_FLIGHT - 1)
    }

    /// Returns how many of the urgent operations and of the others make the next batch, with those that were withdrawn, and
    /// how many of both were not.
    fn fitting(&self) -> (usize, usize, usize) {
        // Mostly there is nothing.
        if self.urgent.operations.is_empty() && self.gathered.operations.is_empty() {
            return (0, 0, 0);
        }
        let all = self.room();
        let mut room = Room { weight: AT_ONCE, operations: all };
        let urgent = self.urgent.fitting(&mut room);
        let others =
            if urgent == self.urgent.operations.len() { self.gathered.fitting(&mut room) } else { 0 };
        (urgent, others, all - room.operations)
    }

    /// Returns the number of operations that may still be sent before a batch lands.
    fn room(&self) -> usize {
        if planted!("what has stalled makes room for more") {
            return AT_ONCE;
        }
        MOST_IN_FLIGHT.saturating_sub(self.in_flight.iter().map(|sent| sent.operations).sum())
    }
}

impl<Verb> Default for Batcher<Verb> {
    fn default() -> Self {
        let (gathered, urgent) = (Gathering::default(), Gathering::default());
        Self { gathered, urgent, pushed: 0, in_flight: Vec::new(), sent: 0 }
    }
}

impl<Verb> Default for Gathering<Verb> {
    fn default() -> Self {
        Self { operations: VecDeque::new(), withdrawn: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a batcher with these operations, and a moment.
    fn with(verbs: impl IntoIterator<Item = u32>, weight: Weight) -> (Batcher<u32>, Instant) {
        let mut batcher = Batcher::default();
        for verb in verbs {
            batcher.push(verb, weight);
        }
        (batcher, Instant::now())
    }

    fn next(batcher: &mut Batcher<u32>, now: Instant) -> Option<Vec<u32>> {
        batcher.next(|| now).map(|(_, batch)| batch)
    }

    #[test]
    fn what_gathers_in_one_turn_travels_together_in_batches_that_are_bounded() {
        let (mut batcher, now) = with(1..=3, Weight::LIGHT);
        assert_eq!(next(&mut batcher, now), Some(vec![1, 2, 3]));
        batcher.push(4, Weight::LIGHT);
        assert_eq!(next(&mut batcher, now), Some(vec![4]));
        assert_eq!(next(&mut batcher, now), None);
        let (mut batcher, now) = with(0..600, Weight::LIGHT);
        let sizes = [(); 3].map(|()| next(&mut batcher, now).map(|batch| batch.len()));
        assert_eq!(sizes, [Some(256), Some(256), Some(88)]);
    }

    #[test]
    fn while_as_many_batches_as_may_be_are_in_flight_verbs_gather() {
        let (mut batcher, now) = with([], Weight::LIGHT);
        let mut flights = Vec::new();
        for verb in 0..10 {
            batcher.push(verb, Weight::LIGHT);
            flights.extend(batcher.next(|| now).map(|(flight, _)| flight));
        }
        assert_eq!(flights.len(), IN_FLIGHT);
        batcher.landed(flights[1]);
        assert_eq!(next(&mut batcher, now), Some((4..10).collect()));
    }

    #[test]
    fn batches_that_stall_do_not_hold_up_the_others() {
        let (mut batcher, now) = with([], Weight::LIGHT);
        for verb in 0..=4 {
            batcher.push(verb, Weight::LIGHT);
            let _ = next(&mut batcher, now);
        }
        assert_eq!(batcher.stalls_at(), Some(now + STALLED));
        assert_eq!(next(&mut batcher, now + STALLED / 2), None);
        assert_eq!(next(&mut batcher, now + STALLED), Some(vec![4]));
        assert_eq!(batcher.stalls_at(), None, "nothing is waited for");
    }

    #[test]
    fn what_is_in_flight_is_bounded_whether_it_stalls_or_not() {
        let (mut batcher, mut now) = with(0..10_000, Weight::LIGHT);
        let mut flights = Vec::new();
        for _ in 0..100 {
            flights.extend(batcher.next(|| now).map(|(flight, batch)| (flight, batch.len())));
            now += STALLED;
        }
        assert_eq!(flights.iter().map(|(_, size)| size).sum::<usize>(), MOST_IN_FLIGHT);
        assert_eq!(batcher.stalls_at(), None, "only an answer makes room");
        batcher.landed(flights[0].0);
        assert_eq!(next(&mut batcher, now).map(|batch| batch.len()), Some(flights[0].1));
        assert_eq!(next(&mut batcher, now), None);
    }

    #[test]
    fn what_takes_long_travels_in_small_batches() {
        let (mut batcher, now) = with(0..1_000, Weight::HEAVY);
        let batches: Vec<_> = std::iter::from_fn(|| batcher.next(|| now)).collect();
        assert_eq!(batches.iter().map(|(_, batch)| batch.len()).collect::<Vec<_>>(), [10; IN_FLIGHT]);
        let after_those = next(&mut batcher, now + STALLED);
        assert_eq!(after_those, Some((40..50).collect()), "those that stall hold up no others");
        batcher.landed(batches[0].0);
        batcher.push(1_000, Weight::LIGHT);
        assert_eq!(next(&mut batcher, now + STALLED), Some((50..60).collect()));
    }

    #[test]
    fn what_is_withdrawn_is_not_sent_and_what_was_sent_is_not_withdrawn() {
        let (mut batcher, now) = with([], Weight::LIGHT);
        let numbers: Vec<_> = (0..6).map(|verb| batcher.push(verb, Weight::LIGHT)).collect();
        assert!(batcher.withdraw(numbers[0]) && batcher.withdraw(numbers[3]));
        assert!(!batcher.withdraw(numbers[3]), "it is withdrawn once");
        assert_eq!(next(&mut batcher, now), Some(vec![1, 2, 4, 5]));
        assert!(numbers.iter().all(|number| !batcher.withdraw(*number)));
        let number = batcher.push(6, Weight::LIGHT);
        assert!(batcher.withdraw(number));
        assert_eq!(next(&mut batcher, now), None);
    }

    #[test]
    fn what_was_withdrawn_takes_no_room() {
        let (mut batcher, now) = with(0..8, Weight::LIGHT);
        let kept = batcher.push(8, Weight::LIGHT);
        for verb in 9..10_000 {
            let number = batcher.push(verb, Weight::LIGHT);
            assert!(batcher.withdraw(number));
            let gathered = batcher.gathered.operations.len();
            assert!(gathered <= 2 * 9, "{gathered}");
        }
        assert!(batcher.withdraw(kept));
        assert_eq!(next(&mut batcher, now), Some((0..8).collect()));
    }

    #[test]
    fn what_is_urgent_travels_before_what_came_earlier() {
        let (mut batcher, now) = with(0..30, Weight::HEAVY);
        assert_eq!(next(&mut batcher, now), Some((0..10).collect()));
        let urgent: Vec<_> = (100..112).map(|verb| batcher.push_urgent(verb, Weight::HEAVY)).collect();
        assert!(batcher.withdraw(urgent[0]));
        assert_eq!(next(&mut batcher, now), Some((101..111).collect()));
        assert_eq!(next(&mut batcher, now), Some([111].into_iter().chain(10..19).collect()));
        assert!(!batcher.withdraw(urgent[1]), "it was sent");
        let late = batcher.push(200, Weight::HEAVY);
        let hurried = batcher.hurry(late).unwrap();
        assert!(batcher.hurry(late).is_none() && batcher.hurry(urgent[1]).is_none());
        assert!(batcher.withdraw(hurried));
    }
}
