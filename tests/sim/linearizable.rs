//! The judgement of a checker of others on histories of leases: are they those of a lock with fences?
//!
//! The checker is stateright's `LinearizabilityTester`. It looks for an order of all acquisitions and ends, each between its beginning
//! and its answer, in which a lock that does one thing after the other would have given the same answers.

use std::collections::BTreeMap;

use leasehold::{Mode, ResourceName};
use leasehold_testing::history::Held;
use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};

/// The number of leases of one history. The time of the checker grows with its fourth power.
const LEASES: usize = 24;

/// A lock that does one thing after the other.
#[derive(Clone, Debug)]
struct Lock {
    holders: BTreeMap<usize, Mode>,
    /// The fences that it is to give out, the next one at the end. An order of growing fences is the only one that can be right, and a
    /// checker that tries others first does not come to an end.
    fences: Vec<u64>,
    largest: (u64, Mode),
}

#[derive(Clone, Debug)]
enum Step {
    Acquire(usize, Mode),
    /// The end of a lease: it was released, or has expired.
    End(usize),
}

#[derive(Clone, Debug, PartialEq)]
enum Answer {
    Granted(u64),
    Ended,
    Refused,
}

impl Lock {
    /// Returns true if a lease in this mode goes with those that are held.
    fn admits(&self, mode: Mode) -> bool {
        let share = |mode: &Mode| match mode {
            Mode::Permits { count, of } => Some((count.get(), of.get())),
            _ => None,
        };
        let mut others = self.holders.values();
        match mode {
            Mode::Exclusive => self.holders.is_empty(),
            Mode::Shared => others.all(|other| *other == Mode::Shared),
            mode => match (share(&mode), others.map(share).collect::<Option<Vec<_>>>()) {
                (Some((count, of)), Some(others)) => {
                    others.iter().map(|(count, _)| count).sum::<u32>() + count <= of
                }
                _ => false,
            },
        }
    }
}

impl SequentialSpec for Lock {
    type Op = Step;
    type Ret = Answer;

    fn invoke(&mut self, step: &Step) -> Answer {
        match *step {
            Step::End(who) => {
                self.holders.remove(&who);
                Answer::Ended
            }
            Step::Acquire(who, mode) if self.admits(mode) => {
                self.holders.insert(who, mode);
                self.fences.pop().map_or(Answer::Refused, Answer::Granted)
            }
            Step::Acquire(..) => Answer::Refused,
        }
    }

    fn is_valid_step(&mut self, step: &Step, answer: &Answer) -> bool {
        let did = self.invoke(step);
        let (&Step::Acquire(_, mode), &Answer::Granted(fence)) = (step, &did) else {
            return did == *answer;
        };
        // On a quorum, readers that ask at one time may get one fence.
        let of_readers = [mode, self.largest.1] == [Mode::Shared; 2];
        let grows = fence > self.largest.0 || of_readers && fence == self.largest.0;
        self.largest = (fence, mode);
        grows && did == *answer
    }
}

/// Divides leases into histories of one resource. Left out are leases of owners, whose re-entries are judged elsewhere, and those that
/// were over when their holder heard of them.
pub fn histories<'a>(held: impl IntoIterator<Item = &'a Held>) -> Vec<Vec<&'a Held>> {
    let mut resources: BTreeMap<&ResourceName, Vec<&Held>> = BTreeMap::new();
    for lease in held {
        if lease.owner.is_none() && lease.fence.is_some() && lease.ended() > lease.granted {
            resources.entry(&lease.resource).or_default().push(lease);
        }
    }
    let in_order = |mut leases: Vec<&'a Held>| {
        leases.sort_by_key(|lease| lease.fence);
        leases.chunks(LEASES).map(<[_]>::to_vec).collect::<Vec<_>>()
    };
    resources.into_values().flat_map(in_order).collect()
}

/// Returns true if the checker accepts this history of one resource.
pub fn is_that_of_a_lock(history: &[&Held]) -> bool {
    let mut events: Vec<_> = (0..history.len())
        .flat_map(|who| {
            let lease = history[who];
            [(lease.asked, 0, who), (lease.ended(), 1, who), (lease.granted, 2, who)]
        })
        .collect();
    // At one moment what begins comes before what is answered: it may have been the first.
    events.sort_unstable();
    let fence = |lease: &Held| lease.fence.map_or(0, |fence| fence.get());
    let mut fences: Vec<_> = history.iter().map(|lease| fence(lease)).collect();
    fences.sort_unstable_by(|one, other| other.cmp(one));
    let mut tester =
        LinearizabilityTester::new(Lock { holders: BTreeMap::new(), fences, largest: (0, Mode::Exclusive) });
    for (_, kind, who) in events {
        let lease = history[who];
        let valid = match kind {
            0 => tester.on_invoke(who, Step::Acquire(who, lease.mode)),
            1 => tester.on_invoke(who, Step::End(who)),
            _ => tester.on_return(who, Answer::Granted(fence(lease))),
        };
        if valid.is_err() {
            return false;
        }
    }
    tester.is_consistent()
}

/// Returns the number of histories that the checker accepted, or the first one that it refused.
pub fn judge<'a>(held: impl IntoIterator<Item = &'a Held>) -> Result<usize, String> {
    let histories = histories(held);
    match histories.iter().find(|history| !is_that_of_a_lock(history)) {
        Some(refused) => Err(format!("no history of a lock with fences: {refused:#?}")),
        None => Ok(histories.len()),
    }
}
