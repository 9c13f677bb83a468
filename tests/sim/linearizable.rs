//! The judgement of a checker of others on histories of leases: are they those of a lock with fences?
//!
//! The checker is stateright's `LinearizabilityTester`. It looks for an order of all acquisitions and ends, each between its beginning
//! and its answer, in which a lock that does one thing after the other would have given the same answers.
//!
//! Most orders are ruled out beforehand, or the search would not come to an end. Fences say the order of the acquisitions. An end
//! comes as early as it can, which helps all who ask later; only the end of a hold that its owner re-enters comes after that.

use std::collections::BTreeMap;

use leasehold::{Fence, Mode, Owner, ResourceName};
use leasehold_testing::history::{Held, conflicting};
use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};

/// The number of leases of one history. The time of the checker grows with its fourth power.
const LEASES: usize = 24;

/// The number of leases that are at the end of a history and at the beginning of the next one, so that neighbours are judged together.
const IN_BOTH: usize = 4;

/// A lock that does one thing after the other.
#[derive(Clone, Debug, Default)]
struct Lock {
    holders: BTreeMap<usize, Ask>,
    /// The number of leases that it has granted.
    granted: usize,
    /// The fences that it is to give out, the next one at the end.
    fences: Vec<Fence>,
    /// The last lease that it granted.
    last: Option<Ask>,
    /// The last lease that ended since then.
    ended: Option<usize>,
}

/// A lease that is asked for.
#[derive(Clone, Copy, Debug)]
struct Ask {
    /// Its place in the history.
    who: usize,
    mode: Mode,
    /// The number of its owner.
    owner: Option<usize>,
    fence: Fence,
}

#[derive(Clone, Debug)]
enum Step {
    Acquire(Ask),
    /// The end of a lease, which was released or has expired: after so many leases were granted.
    End(usize, usize),
}

/// What a lock answers.
#[derive(Clone, Debug, PartialEq)]
enum Answer {
    Granted,
    Ended,
    Refused,
}

impl Lock {
    /// Grants a lease with its fence, if that is right.
    fn grants(&mut self, ask: Ask) -> bool {
        let own = |other: &Ask| other.owner.is_some() && other.owner == ask.owner;
        let entered = |other: &Ask| own(other) && [other.mode, ask.mode] == [Mode::Exclusive; 2];
        let others = self.holders.values().filter(|other| !entered(other)).map(|other| (other, other.mode));
        if conflicting(ask.mode, others).next().is_some() {
            return false;
        }
        let is_last = |last: Ask| last.fence == ask.fence;
        // While an owner holds, nobody else gets a fence.
        let reenters = self.holders.values().any(|other| entered(other) && other.fence == ask.fence);
        // On a quorum, readers that ask at one time may get one fence.
        let of_readers = self.last.is_some_and(|last| [last.mode, ask.mode] == [Mode::Shared; 2]);
        let repeats = self.last.is_some_and(is_last) && (reenters || of_readers);
        if !repeats && self.fences.pop() != Some(ask.fence) {
            return false;
        }
        self.granted += 1;
        self.ended = None;
        self.last = Some(ask);
        self.holders.insert(ask.who, ask);
        true
    }
}

impl SequentialSpec for Lock {
    type Op = Step;
    type Ret = Answer;

    fn invoke(&mut self, step: &Step) -> Answer {
        match *step {
            Step::Acquire(ask) if self.grants(ask) => Answer::Granted,
            // The order of ends with no grant in between is all one: of many it is that of their numbers.
            Step::End(who, after) if self.granted == after && self.ended < Some(who) => {
                self.ended = Some(who);
                self.holders.remove(&who);
                Answer::Ended
            }
            _ => Answer::Refused,
        }
    }
}

/// Divides leases into histories of one resource. Left out are those without a fence, and those that were over when their holder heard
/// of them and that nobody could re-enter.
pub fn histories<'a>(held: impl IntoIterator<Item = &'a Held>) -> Vec<Vec<&'a Held>> {
    let mut resources: BTreeMap<&ResourceName, Vec<&Held>> = BTreeMap::new();
    for lease in held {
        if lease.fence.is_some() && (lease.owner.is_some() || lease.ended() > lease.granted) {
            resources.entry(&lease.resource).or_default().push(lease);
        }
    }
    let in_parts = |mut leases: Vec<&'a Held>| {
        leases.sort_by_key(|lease| (lease.fence, lease.granted));
        let parts = leases.len().saturating_sub(IN_BOTH).div_ceil(LEASES - IN_BOTH).max(1);
        let part = |number| leases.iter().skip(number * (LEASES - IN_BOTH)).take(LEASES).copied().collect();
        (0..parts).map(part).collect::<Vec<_>>()
    };
    resources.into_values().flat_map(in_parts).collect()
}

/// Returns true if the checker accepts this history of one resource.
pub fn is_that_of_a_lock(history: &[&Held]) -> bool {
    let mut leases = history.to_vec();
    leases.sort_by_key(|lease| (lease.fence, lease.granted));
    let owners: Vec<_> = leases.iter().filter_map(|lease| lease.owner.as_ref()).collect();
    let number = |owner: &Owner| owners.iter().position(|other| *other == owner);
    let fence = |lease: &Held| lease.fence.unwrap_or(Fence::new(0));
    let mut fences: Vec<_> = leases.iter().map(|lease| fence(lease)).rev().collect();
    fences.dedup();
    let mut tester = LinearizabilityTester::new(Lock { fences, ..Lock::default() });
    let mut events = Vec::new();
    for (who, lease) in leases.iter().enumerate() {
        // A lease that was over before its answer came held at some time, but nobody knows when it ended.
        let ended = if lease.ended() > lease.granted { lease.ended() } else { lease.asked };
        events.extend([(lease.asked, 0, who), (ended, 1, who), (lease.granted, 2, who)]);
    }
    // At one moment what begins comes before what is answered: it may have been the first.
    events.sort_unstable();
    // The ends are answered after all else: they may come as late as one likes. One that may come before the answer of its lease has
    // a thread of its own; with more of them than that, the checker takes sixteen times as long.
    let thread_of_end = |who: usize| {
        let is_late = leases[who].ended() <= leases[who].granted;
        if is_late { leases.len() + who } else { who }
    };
    for (moment, kind, who) in events {
        let lease = leases[who];
        let valid = match kind {
            0 => {
                let owner = lease.owner.as_ref().and_then(number);
                let ask = Ask { who, mode: lease.mode, owner, fence: fence(lease) };
                tester.on_invoke(who, Step::Acquire(ask))
            }
            1 => {
                let before = |other: &&Held| {
                    let reenters =
                        lease.owner.is_some() && (other.fence, &other.owner) == (lease.fence, &lease.owner);
                    other.granted < moment || reenters
                };
                let after = leases.iter().rposition(before).map_or(0, |last| last + 1);
                tester.on_invoke(thread_of_end(who), Step::End(who, after.max(who + 1)))
            }
            _ => tester.on_return(who, Answer::Granted),
        };
        if valid.is_err() {
            return false;
        }
    }
    let is_well_formed =
        (0..leases.len()).all(|who| tester.on_return(thread_of_end(who), Answer::Ended).is_ok());
    is_well_formed && tester.is_consistent()
}

/// Returns the number of histories that the checker accepted, or the first one that it refused.
pub fn judge<'a>(held: impl IntoIterator<Item = &'a Held>) -> Result<usize, String> {
    let histories = histories(held);
    match histories.iter().find(|history| !is_that_of_a_lock(history)) {
        Some(refused) => Err(format!("no history of a lock with fences: {refused:#?}")),
        None => Ok(histories.len()),
    }
}

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
