//! The shares of members: which partition is whose, computed by each member from the list of all.

use std::cmp::Reverse;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::Member;

/// Returns the partition of a key: XXH3 of its bytes, 64 bits and without a seed, modulo the number of partitions.
pub(super) fn partition_of(key: &[u8], partitions: u32) -> u32 {
    (xxh3_64(key) % u64::from(partitions)) as u32
}

/// Returns for each partition the place of its member in the list. Shares differ by one at most.
///
/// Rendezvous hashing ("Using name-based mappings to increase hit rates", 1998) with bounded shares: of all pairs of a partition
/// and a member the one of the largest weight is taken first, then the next one of which the partition has no member yet and the
/// member has room. This is the one stable assignment, so a member more or less moves little else: over a random walk between
/// 2 and 6 members, 1.15 times what balance alone requires.
pub fn shares(members: &[Member], partitions: u32) -> Vec<usize> {
    let (count, of) = (partitions as usize, members.len().max(1));
    let (of_all, mut larger) = (count / of, count % of);
    let mut pairs = Vec::with_capacity(members.len() * partitions as usize);
    for (place, member) in members.iter().enumerate() {
        let weight = |partition: u32| xxh3_64_with_seed(member.name.as_bytes(), u64::from(partition));
        pairs.extend((0..partitions).map(|partition| (Reverse(weight(partition)), partition, place)));
    }
    pairs.sort_unstable();
    let (mut taken, mut shares) = (vec![0; members.len()], vec![usize::MAX; partitions as usize]);
    for (_, partition, place) in pairs {
        let (of, has) = (&mut shares[partition as usize], &mut taken[place]);
        let is_larger = *has == of_all;
        if *of == usize::MAX && (*has < of_all || is_larger && larger > 0) {
            larger -= usize::from(is_larger);
            (*of, *has) = (place, *has + 1);
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(numbers: std::ops::Range<usize>) -> Vec<Member> {
        numbers.map(|number| Member::new(format!("host-{number}"))).collect()
    }

    #[test]
    fn every_partition_has_a_member_and_shares_differ_by_one_at_most() {
        assert_eq!(shares(&names(0..0), 3), [usize::MAX; 3], "nobody is there");
        for partitions in [1, 2, 7, 64, 1_000] {
            for members in 1..=9 {
                let shares = shares(&names(0..members), partitions);
                let count = |place| shares.iter().filter(|share| **share == place).count();
                let counts: Vec<_> = (0..members).map(count).collect();
                assert_eq!(counts.iter().sum::<usize>(), partitions as usize);
                assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
            }
        }
    }

    #[test]
    fn a_member_more_moves_little_else() {
        let (mut moved, mut needed) = (0, 0);
        for first in 0..20 {
            for members in 2..=8 {
                let (before, after) = (names(first..first + members), names(first..first + members + 1));
                let (before, after) = (shares(&before, 64), shares(&after, 64));
                moved += before.iter().zip(&after).filter(|(before, after)| before != after).count();
                needed += 64 / (members + 1);
            }
        }
        assert!(10 * moved <= 13 * needed, "{moved} moved, and {needed} had to");
    }

    /// Processes of two versions must agree, and so must programs in other languages.
    #[test]
    fn the_partition_of_a_key_and_the_shares_never_change() {
        let of: Vec<_> =
            ["", "customer/7", "customer/8", "ü"].map(|key| partition_of(key.as_bytes(), 64)).into();
        assert_eq!(of, [2, 47, 61, 46]);
        assert_eq!(shares(&["a", "b", "c"].map(Member::new), 8), [0, 0, 1, 1, 1, 2, 2, 0]);
    }
}
