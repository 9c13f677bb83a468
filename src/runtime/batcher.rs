//! The batcher of operations for the store: operations of one turn travel together, several batches at a time.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// The maximum size of a batch. A larger one would hold up the batches behind it for longer than it gains.
const AT_ONCE: usize = 256;

/// The maximum number of batches of one batcher in flight. With more of them batches get smaller; with fewer the
/// store has nothing to do while an answer travels.
const IN_FLIGHT: usize = 4;

/// The time after which a batch does not hold up those behind it any more.
const STALLED: Duration = Duration::from_millis(50);

/// A batcher for operations of one kind. An operation travels with all that are pushed until the next batch is taken. A
/// single operation does not wait for others.
pub(crate) struct Batcher<Verb> {
    gathered: VecDeque<Verb>,
    /// The batches in flight that have not stalled, with the moments at which they were sent.
    in_flight: Vec<(Flight, Instant)>,
    sent: u64,
}

/// The number of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight(u64);

impl<Verb> Batcher<Verb> {
    pub(crate) fn push(&mut self, verb: Verb) {
        self.gathered.push_back(verb);
    }

    /// Returns the next batch, if anything has been gathered and there are not too many in flight.
    pub(crate) fn next(&mut self, now: impl FnOnce() -> Instant) -> Option<(Flight, Vec<Verb>)> {
        if self.gathered.is_empty() {
            return None;
        }
        let now = now();
        if self.in_flight.len() >= IN_FLIGHT {
            self.in_flight.retain(|(_, sent)| now - *sent < STALLED);
        }
        if self.in_flight.len() >= IN_FLIGHT {
            return None;
        }
        self.sent += 1;
        let flight = Flight(self.sent);
        self.in_flight.push((flight, now));
        let batch = if self.gathered.len() <= AT_ONCE {
            std::mem::take(&mut self.gathered).into()
        } else {
            self.gathered.drain(..AT_ONCE).collect()
        };
        Some((flight, batch))
    }

    /// Records that a batch has its answers.
    pub(crate) fn landed(&mut self, flight: Flight) {
        self.in_flight.retain(|(other, _)| *other != flight);
    }

    /// Returns the moment at which a batch in flight will have stalled, if one is waited for.
    pub(crate) fn stalls_at(&self) -> Option<Instant> {
        let (_, first) = self.in_flight.first().filter(|_| !self.gathered.is_empty())?;
        Some(*first + STALLED)
    }
}

impl<Verb> Default for Batcher<Verb> {
    fn default() -> Self {
        Self { gathered: VecDeque::new(), in_flight: Vec::new(), sent: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a batcher with these operations, and a moment.
    fn with(verbs: impl IntoIterator<Item = u32>) -> (Batcher<u32>, Instant) {
        let mut batcher = Batcher::default();
        verbs.into_iter().for_each(|verb| batcher.push(verb));
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
}
