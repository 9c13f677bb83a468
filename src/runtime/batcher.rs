//! The batcher of operations for the store: operations of one turn travel together, several batches at a time.

use std::time::Duration;

use tokio::time::Instant;

use super::gathering::Gathering;
pub(crate) use super::gathering::{Number, Weight};

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

/// A batcher for operations of one kind. An operation travels with all that are pushed until the next batch is taken. A
/// single operation does not wait for others.
pub(crate) struct Batcher<Verb> {
    /// The operations that are to be sent, in their order.
    gathered: Gathering<Verb>,
    /// The operations that are sent before all others.
    urgent: Gathering<Verb>,
    pushed: u64,
    /// The batches in flight, in the order in which they were sent.
    in_flight: Vec<Sent>,
    sent: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight(u64);

struct Sent {
    flight: Flight,
    at: Instant,
    operations: usize,
}

impl<Verb> Batcher<Verb> {
    /// Adds an operation, and returns its number, by which it can be withdrawn.
    pub(crate) fn push(&mut self, verb: Verb, weight: Weight) -> Number {
        self.pushed += 1;
        self.gathered.push(Number(self.pushed), verb, weight)
    }

    /// Adds an operation that is sent before all that are not urgent.
    pub(crate) fn push_urgent(&mut self, verb: Verb, weight: Weight) -> Number {
        self.pushed += 1;
        self.urgent.push(Number(self.pushed), verb, weight)
    }

    /// Takes an operation out that nobody needs any more. Returns false if it has been sent.
    pub(crate) fn withdraw(&mut self, number: Number) -> bool {
        self.gathered.withdraw(number).or_else(|| self.urgent.withdraw(number)).is_some()
    }

    /// Makes an operation urgent, and returns its number from then on. `None` if it has been sent, or is urgent already.
    pub(crate) fn hurry(&mut self, number: Number) -> Option<Number> {
        let (verb, weight) = self.gathered.withdraw(number)?;
        Some(self.push_urgent(verb, weight))
    }

    /// Returns the next batch, if anything has been gathered and there is not too much in flight.
    pub(crate) fn next(&mut self, now: impl FnOnce() -> Instant) -> Option<(Flight, Vec<Verb>)> {
        let at_most = self.largest();
        if at_most == 0 {
            return None;
        }
        let at = now();
        if self.last_to_stall().is_some_and(|sent| at < sent.at + STALLED) {
            return None;
        }
        let first = if self.urgent.len() > 0 { &self.urgent } else { &self.gathered };
        let (mut batch, mut left) = (Vec::with_capacity(at_most.min(first.fit_in(AT_ONCE))), AT_ONCE);
        self.urgent.take(&mut batch, at_most, &mut left);
        if self.urgent.len() == 0 {
            self.gathered.take(&mut batch, at_most, &mut left);
        }
        self.sent += 1;
        let flight = Flight(self.sent);
        self.in_flight.push(Sent { flight, at, operations: batch.len() });
        Some((flight, batch))
    }

    pub(crate) fn landed(&mut self, flight: Flight) {
        self.in_flight.retain(|sent| sent.flight != flight);
    }

    /// Returns the moment at which a batch in flight will have stalled, if one is waited for.
    pub(crate) fn stalls_at(&self) -> Option<Instant> {
        let last = self.last_to_stall()?;
        (self.largest() > 0).then(|| last.at + STALLED)
    }

    /// Returns the batch that has to stall or to land before another one is sent. `None` if there are fewer in flight.
    fn last_to_stall(&self) -> Option<&Sent> {
        self.in_flight.iter().nth_back(IN_FLIGHT - 1)
    }

    /// Returns the maximum number of operations of the next batch, with which no more are in flight than may be.
    fn largest(&self) -> usize {
        let gathered = AT_ONCE.min(self.urgent.len() + self.gathered.len());
        // Mostly there is nothing.
        if gathered == 0 || planted!("what has stalled makes room for more") {
            return gathered;
        }
        gathered.min(MOST_IN_FLIGHT.saturating_sub(self.in_flight.iter().map(|sent| sent.operations).sum()))
    }
}

impl<Verb> Default for Batcher<Verb> {
    fn default() -> Self {
        let (gathered, urgent) = (Gathering::default(), Gathering::default());
        Self { gathered, urgent, pushed: 0, in_flight: Vec::new(), sent: 0 }
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
    fn operations_gather_while_as_many_batches_as_may_be_are_in_flight_and_have_not_stalled() {
        let (mut batcher, now) = with([], Weight::LIGHT);
        let mut flights = Vec::new();
        for verb in 0..10 {
            batcher.push(verb, Weight::LIGHT);
            flights.extend(batcher.next(|| now).map(|(flight, _)| flight));
        }
        assert_eq!(flights.len(), IN_FLIGHT);
        batcher.landed(flights[1]);
        assert_eq!(next(&mut batcher, now), Some((4..10).collect()));
        batcher.push(10, Weight::LIGHT);
        assert_eq!(batcher.stalls_at(), Some(now + STALLED));
        assert_eq!(next(&mut batcher, now + STALLED / 2), None);
        assert_eq!(next(&mut batcher, now + STALLED), Some(vec![10]));
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
        batcher.push_urgent(201, Weight::HEAVY);
        assert!(batcher.hurry(late).is_none() && batcher.hurry(hurried).is_none(), "it keeps its place");
        assert_eq!(next(&mut batcher, now).map(|batch| batch[..2].to_vec()), Some(vec![200, 201]));
    }
}
