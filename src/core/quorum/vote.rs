//! A majority of nodes: the result of their votes, the right to vote, and the validity left after counting.

use std::{collections::HashMap, time::Duration};

use crate::core::{Fence, TokenPrefix, drift_allowance};

/// Returns the smallest majority of `of` nodes.
pub fn majority(of: usize) -> usize {
    of / 2 + usize::from(!planted!("a majority of half"))
}

/// The result of votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The missing votes may still decide.
    Open,
    /// A majority says yes.
    Yes,
    /// Enough nodes say no.
    No,
    /// Too few nodes have a vote: neither yes nor no is certain.
    Short,
}

/// The votes of nodes on one question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of nodes.
    pub of: usize,
    /// The number of nodes that vote yes.
    pub yes: usize,
    /// The number of nodes that vote no.
    pub no: usize,
    /// The number of nodes without a vote: they failed, or abstain.
    pub silent: usize,
}

impl Tally {
    /// Returns the result of votes on a request, which each node grants or refuses. The request is refused when it can no
    /// longer be granted and a majority has voted. Two requests may each be granted by less than a majority; then both
    /// are refused.
    pub fn on_request(&self) -> Verdict {
        let needed = majority(self.of);
        self.verdict(self.yes + self.open() < needed && self.yes + self.no >= needed)
    }

    /// Returns the result of votes on a state that holds, or does not hold, on a majority. Nodes without a vote count for
    /// neither side.
    pub fn on_state(&self) -> Verdict {
        self.verdict(self.no + majority(self.of) > self.of)
    }

    fn verdict(&self, is_no: bool) -> Verdict {
        if self.yes >= majority(self.of) {
            Verdict::Yes
        } else if is_no {
            Verdict::No
        } else if self.open() > 0 {
            // Even if they cannot decide: a node is reported as silent only if it had time to answer.
            Verdict::Open
        } else {
            Verdict::Short
        }
    }

    const fn open(&self) -> usize {
        self.of - self.yes - self.no - self.silent
    }
}

/// Returns the number of nodes that named the same holder, of the one that most named.
pub(crate) fn most_named(in_the_way: impl Iterator<Item = TokenPrefix>) -> usize {
    let mut counts: HashMap<TokenPrefix, usize> = HashMap::new();
    in_the_way.for_each(|prefix| *counts.entry(prefix).or_default() += 1);
    counts.into_values().max().unwrap_or_default()
}

/// Returns true if a majority of `of` nodes has given this fence. Only then may it be given out: each later majority
/// shares a node with this one, and the next fence of that node is larger.
pub fn is_known(fence: Fence, said: impl Iterator<Item = Fence>, of: usize) -> bool {
    said.filter(|said| *said == fence).count() >= majority(of)
}

/// Returns the fence of a grant, chosen from the fences that the nodes gave. It is that of the live hold that the grant
/// repeats or re-enters, if a majority knows that one; otherwise the largest.
pub fn granted_fence(
    expected: Option<Fence>,
    is_known: impl FnOnce(Fence) -> bool,
    said: impl Iterator<Item = Fence>,
) -> Option<Fence> {
    expected.filter(|fence| is_known(*fence)).or_else(|| said.max())
}

/// Returns the part of a TTL on which a holder may rely once its votes have been counted, `spent` after they were
/// requested.
pub fn validity_left(ttl: Duration, spent: Duration) -> Duration {
    ttl.saturating_sub(drift_allowance(ttl)).saturating_sub(spent)
}

/// Returns the time for which a node that has been up for `age` still abstains, because it may have forgotten leases when
/// it started. A lease of that time has ended after `max_ttl` and the drift of its holder's clock.
pub fn abstains_for(age: Duration, max_ttl: Duration) -> Duration {
    (max_ttl + drift_allowance(max_ttl)).saturating_sub(age)
}
