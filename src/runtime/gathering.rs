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
    pub(super) operations: VecDeque<Gathered<Verb>>,
    /// The number of those that were withdrawn.
    withdrawn: usize,
}

/// An operation that is to be sent. One that was withdrawn has no verb.
pub(super) struct Gathered<Verb> {
    number: Number,
    weight: Weight,
    verb: Option<Verb>,
}

impl<Verb> Gathering<Verb> {
    /// Adds an operation, whose number is larger than that of any before.
    pub(super) fn push(&mut self, number: Number, verb: Verb, weight: Weight) -> Number {
        self.operations.push_back(Gathered { number, weight, verb: Some(verb) });
        number
    }

    /// Returns the number of operations that were not withdrawn.
    pub(super) fn len(&self) -> usize {
        self.operations.len() - self.withdrawn
    }

    /// Returns the number of operations as heavy as the first that have this weight together.
    pub(super) fn fit_in(&self, weight: usize) -> usize {
        self.operations.front().map_or(0, |first| weight / first.weight.0)
    }

    /// Takes an operation out, if it is here. Returns it with its weight.
    pub(super) fn withdraw(&mut self, number: Number) -> Option<(Verb, Weight)> {
        let at = self.operations.binary_search_by_key(&number, |gathered| gathered.number).ok()?;
        let Gathered { weight, verb, .. } = &mut self.operations[at];
        let (verb, weight) = (verb.take()?, *weight);
        self.withdrawn += 1;
        // Half of them at most are none, so that each costs the same whatever is gathered.
        if 2 * self.withdrawn > self.operations.len() {
            self.operations.retain(|gathered| gathered.verb.is_some());
            self.withdrawn = 0;
        }
        Some((verb, weight))
    }

    /// Moves the operations at the beginning into a batch, while there are fewer than so many in it and `left` of its weight.
    pub(super) fn take(&mut self, batch: &mut Vec<Verb>, at_most: usize, left: &mut usize) {
        while let Some(Gathered { weight, verb, .. }) = self
            .operations
            .pop_front_if(|first| first.verb.is_none() || batch.len() < at_most && first.weight.0 <= *left)
        {
            match verb {
                Some(verb) => {
                    *left -= weight.0;
                    batch.push(verb);
                }
                None => self.withdrawn -= 1,
            }
        }
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
