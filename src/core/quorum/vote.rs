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

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(of: usize, yes: usize, no: usize, silent: usize) -> Tally {
        Tally { of, yes, no, silent }
    }

    #[test]
    fn two_majorities_always_share_a_node() {
        for of in 1..100 {
            assert!(2 * majority(of) > of && 2 * (majority(of) - 1) <= of, "{of}");
        }
    }

    #[test]
    fn a_request_is_decided_as_soon_as_it_can_be_and_a_state_only_if_silent_nodes_cannot_change_it() {
        use Verdict::{No, Open, Short, Yes};
        for (votes, on_request, on_state) in [
            (tally(5, 0, 0, 0), Open, Open),
            (tally(5, 3, 0, 0), Yes, Yes),
            (tally(5, 2, 0, 2), Open, Open),
            (tally(5, 3, 0, 2), Yes, Yes),
            (tally(5, 0, 3, 0), No, No),
            (tally(5, 2, 1, 1), Open, Open),
            (tally(5, 2, 1, 2), No, Short),
            (tally(5, 2, 2, 1), No, Short),
            (tally(5, 0, 2, 2), Open, Open),
            (tally(5, 0, 2, 3), Short, Short),
            (tally(5, 2, 0, 3), Short, Short),
            (tally(5, 0, 0, 3), Open, Open),
            (tally(4, 2, 2, 0), No, No),
            (tally(4, 0, 2, 0), Open, No),
            (tally(4, 2, 1, 1), No, Short),
            (tally(2, 1, 0, 1), Short, Short),
        ] {
            assert_eq!((votes.on_request(), votes.on_state()), (on_request, on_state), "{votes:?}");
        }
    }

    #[test]
    fn an_open_vote_never_contradicts_what_was_decided_before() {
        for (yes, no, silent) in (0..6).flat_map(|y| (0..6).flat_map(move |n| (0..6).map(move |s| (y, n, s))))
        {
            if yes + no + silent >= 5 {
                continue;
            }
            let votes = tally(5, yes, no, silent);
            for later in
                [tally(5, yes + 1, no, silent), tally(5, yes, no + 1, silent), tally(5, yes, no, silent + 1)]
            {
                for verdict in [Tally::on_request, Tally::on_state] {
                    let before = verdict(&votes);
                    assert!(before == Verdict::Open || before == verdict(&later), "{votes:?} {later:?}");
                }
            }
        }
    }

    #[test]
    fn counting_and_drift_shorten_the_validity() {
        let ttl = Duration::from_secs(10);
        assert_eq!(validity_left(ttl, Duration::from_secs(1)), Duration::from_millis(8_898));
        assert_eq!(validity_left(ttl, ttl), Duration::ZERO);
    }

    #[test]
    fn a_node_abstains_until_all_that_it_may_have_forgotten_has_ended() {
        let max_ttl = Duration::from_secs(10);
        assert_eq!(abstains_for(Duration::ZERO, max_ttl), Duration::from_millis(10_102));
        assert_eq!(abstains_for(max_ttl, max_ttl), Duration::from_millis(102));
        assert_eq!(abstains_for(Duration::from_secs(11), max_ttl), Duration::ZERO);
    }

    #[test]
    fn the_largest_fence_is_granted_unless_a_majority_knows_the_expected_one() {
        let granted = |expected: Option<u64>, said: &[u64]| {
            let said = said.iter().map(|said| Fence::new(*said));
            granted_fence(expected.map(Fence::new), |fence| is_known(fence, said.clone(), 5), said.clone())
                .map(|fence| fence.get())
        };
        assert_eq!(granted(None, &[3, 9, 4]), Some(9));
        assert_eq!(granted(Some(3), &[3, 3, 3, 9]), Some(3), "a majority knows it");
        assert_eq!(granted(Some(3), &[3, 3, 9]), Some(9), "too few know it");
        assert_eq!(granted(Some(3), &[]), None);
    }
}
