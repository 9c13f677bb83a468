//! The check of a history: conflicts, fences in disorder, losses that were told late.

use std::collections::BTreeMap;

use leasehold::{Fence, LossReason, Owner, ResourceName, env::Moment, rules::guard_band};

use super::{Believed, Finding, Held, Resource};

/// A lease that was valid at the same time as others that it conflicts with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Conflict {
    /// The moment of its grant.
    pub from: Moment,
    /// The moment at which it, or the last of the others, was over.
    pub until: Moment,
    /// The leases, in words.
    pub what: String,
}

/// Returns every grant of a lease at whose moment a conflicting one was valid.
pub fn conflicts<'a>(held: impl IntoIterator<Item = &'a Held>) -> Vec<Conflict> {
    let conflict = |(lease, finding, all): (&Held, _, &[&Held])| match finding {
        // One that ended in the moment in which it began was never valid.
        Finding::Beside(others) if lease.ended() > lease.granted => {
            let others: Vec<_> = others.into_iter().map(|other: usize| all[other]).collect();
            let last = others.iter().map(|other| other.ended()).max();
            let until = last.map_or(lease.ended(), |last| last.min(lease.ended()));
            let what = format!("valid at once: {lease:?} and {others:?}");
            Some(Conflict { from: lease.granted, until, what })
        }
        _ => None,
    };
    replay(held, conflict)
}

/// Returns every grant whose fence is wrong, in words: not larger than one that was known before it was asked for, or,
/// for a re-entry, another than that of the hold that was entered.
pub fn fences<'a>(held: impl IntoIterator<Item = &'a Held>) -> Vec<String> {
    wrong_fences(held, |lease, entered| lease.fence == Some(entered))
}

/// Returns the same for leases of a quorum, where a re-entry may have a larger fence than the hold that was entered: too
/// few of the nodes that granted it may have known that hold, such as nodes that have counted again only since then.
pub fn fences_of_quorum<'a>(held: impl IntoIterator<Item = &'a Held>) -> Vec<String> {
    wrong_fences(held, |lease, entered| lease.fence >= Some(entered))
}

fn wrong_fences<'a>(
    held: impl IntoIterator<Item = &'a Held>,
    may_reenter: impl Fn(&Held, Fence) -> bool,
) -> Vec<String> {
    let wrong = |(lease, finding, all): (&Held, _, &[&Held])| match finding {
        Finding::OtherFence(entered) if !may_reenter(lease, entered) => {
            Some(format!("re-entered a hold with {entered:?}: {lease:?}"))
        }
        Finding::Beside(_) | Finding::OtherFence(_) => None,
        Finding::NotLarger(floor) => {
            let mut before =
                all.iter().filter(|other| other.fence == Some(floor) && other.granted <= lease.asked);
            let before = before.next().map_or_else(|| format!("{floor:?}"), |other| format!("{other:?}"));
            Some(format!("{before} was granted before {lease:?} was asked for"))
        }
    };
    replay(held, wrong)
}

/// Returns the leases whose holders were told of their loss after the validity was over.
///
/// `stalls` are the times in which the process of the holders had no turn on a processor, from when until when. Nobody can
/// be told then, and that time is not counted.
pub fn told_late<'a>(held: impl IntoIterator<Item = &'a Held>, stalls: &[(Moment, Moment)]) -> Vec<&'a Held> {
    let is_late = |held: &&Held| {
        // For how long nobody had a turn since the holder was to be told.
        let stalled =
            stalls.iter().map(|&(from, until)| until.min(held.stopped).remaining(from.max(held.valid_until)));
        // The validity that is told ends early, by the time that a timer may be late.
        let last = held.valid_until + guard_band(held.ttl) + stalled.sum();
        held.lost.is_some() && held.stopped > last
    };
    held.into_iter().filter(is_late).collect()
}

/// Replays the grants of each resource in their order, and returns what is `found` in their findings.
fn replay<'a, T>(
    held: impl IntoIterator<Item = &'a Held>,
    found: impl Fn((&Held, Finding<usize>, &[&Held])) -> Option<T>,
) -> Vec<T> {
    let mut resources: BTreeMap<&ResourceName, Vec<&Held>> = BTreeMap::new();
    for held in held {
        resources.entry(&held.resource).or_default().push(held);
    }
    let findings = resources.values().flat_map(|all| {
        of_one(all).into_iter().filter_map(|(number, finding)| found((all[number], finding, all)))
    });
    findings.collect()
}

/// Returns the findings of one resource, each with the number of its lease.
fn of_one(held: &[&Held]) -> Vec<(usize, Finding<usize>)> {
    let asked = held.iter().enumerate().map(|(number, held)| (held.asked, false, number));
    let granted = held.iter().enumerate().map(|(number, held)| (held.granted, true, number));
    let mut events: Vec<_> = asked.chain(granted).collect();
    // At one moment a question comes before a grant: it may have been the first.
    events.sort_unstable();
    let (mut resource, mut floors, mut found) = (Resource::default(), vec![None; held.len()], Vec::new());
    let mut holds_of_owners: BTreeMap<&Owner, &Held> = BTreeMap::new();
    for (now, is_grant, number) in events {
        if !is_grant {
            floors[number] = resource.largest();
            continue;
        }
        let lease = held[number];
        let believed = Believed {
            id: number,
            mode: lease.mode,
            owner: lease.owner.clone(),
            fence: lease.fence,
            until: Some(lease.ended()),
        };
        let before = lease.owner.as_ref().and_then(|owner| holds_of_owners.get(owner).copied());
        let outer = before.filter(|outer| outer.fence == lease.fence);
        let entered =
            outer.is_some_and(|outer| in_store_until(outer) > lease.asked && floors[number] <= lease.fence);
        let longest = outer.filter(|outer| in_store_until(outer) > in_store_until(lease)).unwrap_or(lease);
        holds_of_owners.extend(lease.owner.as_ref().map(|owner| (owner, longest)));
        // One whose outer hold had ended when the answer came says that it is alone.
        let reentered = lease.reentered || entered;
        let findings = resource.granted(believed, reentered, floors[number], now);
        found.extend(findings.into_iter().map(|finding| (number, finding)));
    }
    found
}

/// Returns the moment until which the store may have had a lease: for longer than its holder believed in it, if its renewals failed.
fn in_store_until(lease: &Held) -> Moment {
    match lease.lost {
        None | Some(LossReason::NotHeld | LossReason::Forced | LossReason::Released) => lease.ended(),
        Some(_) => lease.stopped + lease.ttl,
    }
}
