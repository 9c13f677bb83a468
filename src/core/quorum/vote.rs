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
    /// Returns the result of votes on a request, which each node grants or refuses. The request is refused when it can no longer be
    /// granted and a majority has voted. Two requests may each be granted by less than a majority; then both are refused.
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

/// Returns the part of a TTL on which a holder may rely once its votes have been counted, `spent` after they were requested.
pub fn validity_left(ttl: Duration, spent: Duration) -> Duration {
    ttl.saturating_sub(drift_allowance(ttl)).saturating_sub(spent)
}

/// Returns the time for which a node that has been up for `age` still abstains, because it may have forgotten leases when
/// it started. A lease of that time has ended after `max_ttl` and the drift of its holder's clock.
pub fn abstains_for(age: Duration, max_ttl: Duration) -> Duration {
    (max_ttl + drift_allowance(max_ttl)).saturating_sub(age)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Token;

    #[test]
    fn a_majority_is_more_than_a_half() {
        assert_eq!([1, 2, 3, 4, 5, 7].map(majority), [1, 2, 2, 3, 3, 4]);
    }

    #[test]
    fn a_request_is_refused_when_it_cannot_be_granted_and_a_majority_has_voted() {
        use Verdict::{No, Open, Short, Yes};
        for ((yes, no, silent), expected) in [
            ((0, 0, 0), Open),
            ((2, 2, 0), Open),
            ((3, 0, 0), Yes),
            ((3, 2, 0), Yes),
            ((2, 2, 1), No),
            ((1, 2, 0), Open),
            ((1, 2, 1), No),
            ((1, 2, 2), No),
            ((0, 3, 0), No),
            ((1, 1, 3), Short),
            ((2, 0, 3), Short),
            ((0, 2, 2), Open),
            ((0, 0, 5), Short),
        ] {
            let tally = Tally { of: 5, yes, no, silent };
            assert_eq!(tally.on_request(), expected, "{tally:?}");
        }
    }

    #[test]
    fn a_state_does_not_hold_when_too_many_say_no_for_a_majority() {
        use Verdict::{No, Open, Short, Yes};
        for ((of, yes, no, silent), expected) in [
            ((5, 3, 0, 0), Yes),
            ((5, 3, 2, 0), Yes),
            ((5, 0, 2, 0), Open),
            ((5, 0, 3, 0), No),
            ((5, 2, 2, 1), Short),
            ((5, 0, 0, 5), Short),
            ((4, 0, 1, 0), Open),
            ((4, 0, 2, 0), No),
            ((4, 2, 1, 1), Short),
        ] {
            let tally = Tally { of, yes, no, silent };
            assert_eq!(tally.on_state(), expected, "{tally:?}");
        }
    }

    #[test]
    fn the_holder_that_most_nodes_name_is_counted() {
        let named = |bits: &[u128]| most_named(bits.iter().map(|bits| Token::from_bits(bits << 96).prefix()));
        assert_eq!([named(&[]), named(&[1]), named(&[1, 2, 1, 3, 1]), named(&[2, 2, 1, 1])], [0, 1, 3, 2]);
    }

    #[test]
    fn a_fence_that_a_majority_knows_is_repeated_and_otherwise_the_largest_counts() {
        let said = [7, 5, 7].map(Fence::new);
        let known = |fence, of| is_known(Fence::new(fence), said.into_iter(), of);
        assert_eq!([known(7, 3), known(5, 3), known(9, 3), known(7, 4)], [true, false, false, false]);
        let granted = |expected: Option<u64>, knows: bool| {
            granted_fence(expected.map(Fence::new), |_| knows, said.into_iter()).map(Fence::get)
        };
        assert_eq!(
            [granted(None, true), granted(Some(5), true), granted(Some(5), false)],
            [Some(7), Some(5), Some(7)]
        );
        assert_eq!(granted_fence(None, |_| true, std::iter::empty()), None);
    }

    #[test]
    fn the_drift_is_taken_from_a_validity_and_added_to_an_abstention() {
        let (ttl, second) = (Duration::from_secs(30), Duration::from_secs(1));
        let drift = drift_allowance(ttl);
        assert!(!drift.is_zero());
        assert_eq!(validity_left(ttl, second), ttl - drift - second);
        assert_eq!(validity_left(ttl, ttl), Duration::ZERO);
        assert_eq!(abstains_for(second, ttl), ttl + drift - second);
        assert_eq!([abstains_for(ttl, ttl), abstains_for(ttl + drift, ttl)], [drift, Duration::ZERO]);
    }
}
