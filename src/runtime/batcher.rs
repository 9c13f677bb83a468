//! The batcher of operations for the store: operations of one turn travel together, several batches at a time.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// The maximum size of a batch. A larger one would hold up the batches behind it for longer than it gains.
const AT_ONCE: usize = 256;

/// The maximum number of batches of one batcher in flight that have not stalled. With more of them batches get smaller;
/// with fewer the store has nothing to do while an answer travels.
const IN_FLIGHT: usize = 4;

/// The maximum number of operations of one batcher in flight, whether they have stalled or not. What comes after them, on
/// whichever way, is behind no more than these.
const MOST_IN_FLIGHT: usize = IN_FLIGHT * AT_ONCE;

/// The time after which a batch does not hold up those behind it any more, as long as there is room in flight.
const STALLED: Duration = Duration::from_millis(50);

/// A batcher for operations of one kind. An operation travels with all that are pushed until the next batch is taken. A
/// single operation does not wait for others.
pub(crate) struct Batcher<Verb> {
    /// The operations that are to be sent, each with its number, in their order. One that was withdrawn is `None`.
    gathered: VecDeque<(Number, Option<Verb>)>,
    /// The number of those that were withdrawn.
    withdrawn: usize,
    pushed: u64,
    /// The batches in flight, in the order in which they were sent.
    in_flight: Vec<Sent>,
    sent: u64,
}

/// The number of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number(u64);

/// The number of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight(u64);

/// A batch in flight.
struct Sent {
    flight: Flight,
    at: Instant,
    size: usize,
}

impl<Verb> Batcher<Verb> {
    /// Adds an operation, and returns its number, by which it can be withdrawn.
    pub(crate) fn push(&mut self, verb: Verb) -> Number {
        self.pushed += 1;
        let number = Number(self.pushed);
        self.gathered.push_back((number, Some(verb)));
        number
    }

    /// Takes an operation out that nobody needs any more. Returns false if it has been sent.
    pub(crate) fn withdraw(&mut self, number: Number) -> bool {
        let found = self.gathered.binary_search_by_key(&number, |(number, _)| *number);
        let taken = found.is_ok_and(|at| self.gathered[at].1.take().is_some());
        self.withdrawn += usize::from(taken);
        // Half of them at most are none, so that each costs the same whatever is gathered.
        if 2 * self.withdrawn > self.gathered.len() {
            self.gathered.retain(|(_, verb)| verb.is_some());
            self.withdrawn = 0;
        }
        taken
    }

    /// Returns the next batch, if anything has been gathered and there are not too many in flight.
    pub(crate) fn next(&mut self, now: impl FnOnce() -> Instant) -> Option<(Flight, Vec<Verb>)> {
        let size = self.waiting().min(AT_ONCE).min(self.room());
        if size == 0 {
            return None;
        }
        let at = now();
        if self.last_to_stall().is_some_and(|sent| at < sent.at + STALLED) {
            return None;
        }
        let mut batch = Vec::with_capacity(size);
        while batch.len() < size
            && let Some((_, verb)) = self.gathered.pop_front()
        {
            match verb {
                Some(verb) => batch.push(verb),
                None => self.withdrawn -= 1,
            }
        }
        if self.waiting() == 0 {
            self.gathered.shrink_to(AT_ONCE);
        }
        self.sent += 1;
        let flight = Flight(self.sent);
        self.in_flight.push(Sent { flight, at, size });
        Some((flight, batch))
    }

    /// Records that a batch has its answers.
    pub(crate) fn landed(&mut self, flight: Flight) {
        self.in_flight.retain(|sent| sent.flight != flight);
    }

    /// Returns the moment at which a batch in flight will have stalled, if one is waited for.
    pub(crate) fn stalls_at(&self) -> Option<Instant> {
        let waits = self.waiting() > 0 && self.room() > 0;
        self.last_to_stall().filter(|_| waits).map(|sent| sent.at + STALLED)
    }

    /// Returns the batch that has to stall or to land before another one is sent. `None` if there are fewer in flight.
    fn last_to_stall(&self) -> Option<&Sent> {
        self.in_flight.iter().nth_back(IN_FLIGHT - 1)
    }

    /// Returns the number of operations that wait to be sent.
    fn waiting(&self) -> usize {
        self.gathered.len() - self.withdrawn
    }

    /// Returns the number of operations that may still be sent before one lands.
    fn room(&self) -> usize {
        if planted!("what has stalled makes room for more") {
            return AT_ONCE;
        }
        MOST_IN_FLIGHT.saturating_sub(self.in_flight.iter().map(|sent| sent.size).sum())
    }
}

impl<Verb> Default for Batcher<Verb> {
    fn default() -> Self {
        Self { gathered: VecDeque::new(), withdrawn: 0, pushed: 0, in_flight: Vec::new(), sent: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a batcher with these operations, and a moment.
    fn with(verbs: impl IntoIterator<Item = u32>) -> (Batcher<u32>, Instant) {
        let mut batcher = Batcher::default();
        verbs.into_iter().for_each(|verb| {
            batcher.push(verb);
        });
        (batcher, Instant::now())
    }

    fn next(batcher: &mut Batcher<u32>, now: Instant) -> Option<Vec<u32>> {
        batcher.next(|| now).map(|(_, batch)| batch)
    }

    #[test]
    fn what_gathers_in_one_turn_travels_together() {
        let (mut batcher, now) = with(1..=3);
        assert_eq!(next(&mut batcher, now), Some(vec![1, 2, 3]));
        batcher.push(4);
        assert_eq!(next(&mut batcher, now), Some(vec![4]));
        assert_eq!(next(&mut batcher, now), None);
    }

    #[test]
    fn a_batch_is_bounded() {
        let (mut batcher, now) = with(0..600);
        let sizes = [(); 3].map(|()| next(&mut batcher, now).map(|batch| batch.len()));
        assert_eq!(sizes, [Some(256), Some(256), Some(88)]);
    }

    #[test]
    fn while_as_many_batches_as_may_be_are_in_flight_verbs_gather() {
        let (mut batcher, now) = with([]);
        let mut flights = Vec::new();
        for verb in 0..10 {
            batcher.push(verb);
            flights.extend(batcher.next(|| now).map(|(flight, _)| flight));
        }
        assert_eq!(flights.len(), IN_FLIGHT);
        batcher.landed(flights[1]);
        assert_eq!(next(&mut batcher, now), Some((4..10).collect()));
    }

    #[test]
    fn batches_that_stall_do_not_hold_up_the_others() {
        let (mut batcher, now) = with([]);
        for verb in 0..=4 {
            batcher.push(verb);
            let _ = next(&mut batcher, now);
        }
        assert_eq!(batcher.stalls_at(), Some(now + STALLED));
        assert_eq!(next(&mut batcher, now + STALLED / 2), None);
        assert_eq!(next(&mut batcher, now + STALLED), Some(vec![4]));
        assert_eq!(batcher.stalls_at(), None, "nothing is waited for");
    }

    #[test]
    fn what_is_in_flight_is_bounded_whether_it_stalls_or_not() {
        let (mut batcher, mut now) = with(0..10_000);
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
    fn what_is_withdrawn_is_not_sent_and_what_was_sent_is_not_withdrawn() {
        let (mut batcher, now) = with([]);
        let numbers: Vec<_> = (0..6).map(|verb| batcher.push(verb)).collect();
        assert!(batcher.withdraw(numbers[0]) && batcher.withdraw(numbers[3]));
        assert!(!batcher.withdraw(numbers[3]), "it is withdrawn once");
        assert_eq!(next(&mut batcher, now), Some(vec![1, 2, 4, 5]));
        assert!(numbers.iter().all(|number| !batcher.withdraw(*number)));
        let number = batcher.push(6);
        assert!(batcher.withdraw(number));
        assert_eq!(next(&mut batcher, now), None);
    }

    #[test]
    fn what_was_withdrawn_takes_no_room() {
        let (mut batcher, now) = with(0..8);
        let kept = batcher.push(8);
        for verb in 9..10_000 {
            let number = batcher.push(verb);
            assert!(batcher.withdraw(number));
            assert!(batcher.gathered.len() <= 2 * 9, "{}", batcher.gathered.len());
        }
        assert!(batcher.withdraw(kept));
        assert_eq!(next(&mut batcher, now), Some((0..8).collect()));
    }
}
