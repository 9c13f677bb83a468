//! The operations that a batcher gathers, until they are sent or withdrawn.

use std::collections::VecDeque;

/// The capacity that is kept when there are none.
const KEPT: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number(pub(super) u64);

/// The time that the store needs for an operation, from 1 to that of a whole batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight(usize);

impl Weight {
    /// The weight of an operation that the store does together with others.
    pub(crate) const LIGHT: Self = Self(1);
    /// The weight of an operation that the store does by itself. A batch has ten of them, which is what a script of the Redis
    /// store does in one call: see `batch.lua`.
    pub(crate) const HEAVY: Self = Self(25);
}

/// Operations that are to be sent, in their order.
pub(super) struct Gathering<Verb> {
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

/// The room in a batch that is being filled.
pub(super) struct Room {
    pub(super) weight: usize,
    pub(super) operations: usize,
}

impl<Verb> Gathering<Verb> {
    /// Adds an operation, whose number is larger than that of any before.
    pub(super) fn push(&mut self, number: Number, verb: Verb, Weight(weight): Weight) {
        self.operations.push_back(Gathered { number, weight, verb: Some(verb) });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Returns the number of operations, with those that were withdrawn.
    pub(super) fn len(&self) -> usize {
        self.operations.len()
    }

    /// Takes an operation out, if it is here. Returns it with its weight.
    pub(super) fn withdraw(&mut self, number: Number) -> Option<(Verb, Weight)> {
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
    pub(super) fn fitting(&self, room: &mut Room) -> usize {
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
    pub(super) fn take(&mut self, length: usize, batch: &mut Vec<Verb>) {
        let before = batch.len();
        batch.extend(self.operations.drain(..length).filter_map(|gathered| gathered.verb));
        self.withdrawn -= length - (batch.len() - before);
        if self.operations.is_empty() {
            self.operations.shrink_to(KEPT);
        }
    }
}

impl<Verb> Default for Gathering<Verb> {
    fn default() -> Self {
        Self { operations: VecDeque::new(), withdrawn: 0 }
    }
}
