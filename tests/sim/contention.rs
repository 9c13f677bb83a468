//! The number of leases of a history that met with one in their way.

use std::collections::BTreeMap;

use leasehold::ResourceName;
use leasehold_testing::history::{Held, conflicting};

/// Returns the number of leases that were asked for, or granted, while one was held that they conflict with.
pub fn contended<'a>(held: impl IntoIterator<Item = &'a Held>) -> usize {
    let mut resources: BTreeMap<&ResourceName, Vec<&Held>> = BTreeMap::new();
    held.into_iter().for_each(|lease| resources.entry(&lease.resource).or_default().push(lease));
    resources.into_values().map(contended_of_one).sum()
}

fn contended_of_one(mut leases: Vec<&Held>) -> usize {
    leases.sort_by_key(|lease| lease.granted);
    // What ended before the first of the later questions is in nobody's way any more.
    let mut first_asked: Vec<_> = leases.iter().map(|lease| lease.asked).collect();
    (1..leases.len()).rev().for_each(|at| first_asked[at - 1] = first_asked[at - 1].min(first_asked[at]));
    let (mut before, mut count) = (Vec::<&Held>::new(), 0);
    for (lease, first_asked) in leases.into_iter().zip(first_asked) {
        before.retain(|other| other.ended() > first_asked);
        let is_in_its_way = |other: &&Held| {
            let beside = std::iter::once((other, other.mode));
            (lease.owner.is_none() || other.owner != lease.owner)
                && other.ended() > lease.asked
                && conflicting(lease.mode, beside).next().is_some()
        };
        count += usize::from(before.iter().any(is_in_its_way));
        before.push(lease);
    }
    count
}
