//! The judgement of an external checker on histories of leases: are they those of a lock with fences?
//!
//! The checker is stateright's `LinearizabilityTester`. It looks for an order of all acquisitions and ends, each between its beginning
//! and its answer, in which a lock that does one thing after the other would have given the same answers.
//!
//! Most orders are ruled out beforehand, or the search would not come to an end. Fences say the order of the acquisitions. An end
//! comes as early as it can, which helps all who ask later; only the end of a hold that its owner re-enters comes after that.
//!
//! A history does not say what kind of store it is of, so what is right for one kind is accepted of all: a re-entry may have a new fence,
//! and readers that ask at one time may have one fence, as on a quorum.

use std::{cell::Cell, collections::BTreeMap, rc::Rc};

use leasehold::{Fence, Mode, Owner, ResourceName, env::Moment};
use leasehold_testing::history::{Held, conflicting};
use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};

/// The number of leases of one history, besides those of before that matter to them.
const LEASES: usize = 20;

/// A lock that does one thing after the other.
#[derive(Clone, Debug, Default)]
struct Lock {
    holders: BTreeMap<usize, Ask>,
    /// The number of leases that it has granted.
    granted: usize,
    /// The fences that it is to give out, the next one at the end.
    fences: Vec<Fence>,
    /// The last lease that it granted, with the first answer that told its fence.
    last: Option<Ask>,
    /// The leases that end after so many grants.
    due: Rc<[Vec<usize>]>,
    /// The number of these that have ended since the last grant.
    ended: usize,
    /// The number of steps that were tried, in all orders.
    steps: Rc<Cell<usize>>,
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
    asked: Moment,
    answered: Moment,
    /// The moment until which the store may have it, so that its owner may re-enter it.
    kept_until: Moment,
}

#[derive(Clone, Debug)]
enum Step {
    Acquire(Ask),
    /// The end of a lease, which was released or has expired.
    End(usize),
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
        // An end that is due can come at no other time: without it, the rest of the search would be in vain.
        if self.ended < self.due[self.granted].len() {
            return false;
        }
        let own = |other: &Ask| other.owner.is_some() && other.owner == ask.owner;
        let entered = |other: &Ask| own(other) && [other.mode, ask.mode] == [Mode::Exclusive; 2];
        let others = self.holders.values().filter(|other| !entered(other)).map(|other| (other, other.mode));
        if conflicting(ask.mode, others).next().is_some() {
            return false;
        }
        let last = self.last.filter(|last| last.fence == ask.fence);
        // While an owner holds, nobody else gets a fence.
        let is_entered =
            |other: &Ask| entered(other) && other.fence == ask.fence && ask.asked <= other.kept_until;
        // On a quorum, readers that ask at one time may get one fence.
        let is_beside = |last: Ask| [last.mode, ask.mode] == [Mode::Shared; 2] && ask.asked <= last.answered;
        let repeats = last.is_some() && self.holders.values().any(is_entered) || last.is_some_and(is_beside);
        if !repeats && self.fences.pop() != Some(ask.fence) {
            return false;
        }
        let answered = last.map_or(ask.answered, |last| last.answered.min(ask.answered));
        self.granted += 1;
        self.ended = 0;
        self.last = Some(Ask { answered, ..ask });
        self.holders.insert(ask.who, ask);
        true
    }
}

impl SequentialSpec for Lock {
    type Op = Step;
    type Ret = Answer;

    fn invoke(&mut self, step: &Step) -> Answer {
        self.steps.set(self.steps.get() + 1);
        match *step {
            Step::Acquire(ask) if self.grants(ask) => Answer::Granted,
            // Ends with no grant in between commute; they are taken in order of their numbers.
            Step::End(who) if self.due[self.granted].get(self.ended) == Some(&who) => {
                self.ended += 1;
                self.holders.remove(&who);
                Answer::Ended
            }
            _ => Answer::Refused,
        }
    }
}

/// Returns false for a lease that is in no history: one without a fence, and one that was over when its holder heard of it and that
/// nobody could re-enter.
pub fn is_judged(lease: &Held) -> bool {
    lease.fence.is_some() && (lease.owner.is_some() || lease.ended() > lease.granted)
}

/// Divides the leases that are judged into histories of one resource.
pub fn histories<'a>(held: impl IntoIterator<Item = &'a Held>) -> Vec<Vec<&'a Held>> {
    let mut resources: BTreeMap<&ResourceName, Vec<&Held>> = BTreeMap::new();
    for lease in held.into_iter().filter(|lease| is_judged(lease)) {
        resources.entry(&lease.resource).or_default().push(lease);
    }
    let in_parts = |mut leases: Vec<&'a Held>| {
        leases.sort_by_key(|lease| (lease.fence, lease.granted));
        (0..leases.len()).step_by(LEASES).map(|from| part(&leases, from)).collect::<Vec<_>>()
    };
    resources.into_values().flat_map(in_parts).collect()
}

/// Returns the leases from this one on, and of those before them all that can make a difference to them: those that had not ended when
/// the first of them was granted. Leases of one fence stay together, for one may be a re-entry of the other.
fn part<'a>(leases: &[&'a Held], from: usize) -> Vec<&'a Held> {
    let (before, rest) = leases.split_at(from);
    let new = &rest[..LEASES.min(rest.len())];
    let first_granted = new.iter().map(|lease| lease.granted).min();
    let matters = |lease: &&Held| Some(lease.ended()) > first_granted || lease.fence == new[0].fence;
    let groups = before.chunk_by(|one, other| one.fence == other.fence);
    let held: Vec<_> = groups.filter(|group| group.iter().any(matters)).flatten().copied().collect();
    let are_readers = |one: &&Held, other: &&Held| {
        [one.mode, other.mode] == [Mode::Shared; 2] && other.fence != new[0].fence
    };
    held.chunk_by(are_readers).flat_map(farthest).chain(new.iter().copied()).collect()
}

/// Returns the lease that ends last and the one that was asked for last: of readers in a row, the others are in nobody's way besides.
fn farthest<'a, 'b>(row: &'b [&'a Held]) -> impl Iterator<Item = &'a Held> + 'b {
    let ends_last = row.iter().copied().max_by_key(|lease| lease.ended());
    let asked_last = row.iter().copied().max_by_key(|lease| lease.asked);
    row.iter().copied().filter(move |lease| [ends_last, asked_last].contains(&Some(*lease)))
}

/// Returns true if the checker accepts this history of one resource.
pub fn is_that_of_a_lock(history: &[&Held]) -> bool {
    search(history).0
}

/// Returns true if the checker accepts this history, and the number of steps that it tried.
pub fn search(history: &[&Held]) -> (bool, usize) {
    let mut leases = history.to_vec();
    leases.sort_by_key(|lease| (lease.fence, lease.granted));
    // A lease that was over before its answer came held at some time, but nobody knows when it ended.
    let is_late = |lease: &Held| lease.ended() <= lease.granted;
    let ended = |lease: &Held| if is_late(lease) { lease.asked } else { lease.ended() };
    let (mut events, mut due) = (Vec::new(), vec![Vec::new(); leases.len() + 1]);
    for (who, lease) in leases.iter().enumerate() {
        events.extend([(lease.asked, 0, who), (ended(lease), 1, who), (lease.granted, 2, who)]);
        let before = |other: &&Held| {
            let is_own = lease.owner.is_some() && (other.fence, &other.owner) == (lease.fence, &lease.owner);
            other.granted < ended(lease) || is_own
        };
        let after = leases.iter().rposition(before).map_or(0, |last| last + 1);
        due[after.max(who + 1)].push(who);
    }
    // At one moment what begins comes before what is answered: it may have been the first.
    events.sort_unstable();
    // The ends are answered after all else: they may come as late as one likes. One that may come before the answer of its lease has
    // a thread of its own; with more of them than that, the checker takes sixteen times as long.
    let thread_of_end = |who: usize| if is_late(leases[who]) { leases.len() + who } else { who };
    let asks = asks(&leases);
    let mut fences: Vec<_> = asks.iter().map(|ask| ask.fence).rev().collect();
    fences.dedup();
    let steps = Rc::new(Cell::new(0));
    let lock = Lock { fences, due: due.into(), steps: Rc::clone(&steps), ..Lock::default() };
    let mut tester = LinearizabilityTester::new(lock);
    let of_ends = (0..leases.len()).map(|who| (3, who));
    for (kind, who) in events.into_iter().map(|(_, kind, who)| (kind, who)).chain(of_ends) {
        let taken = match kind {
            0 => tester.on_invoke(who, Step::Acquire(asks[who])),
            1 => tester.on_invoke(thread_of_end(who), Step::End(who)),
            2 => tester.on_return(who, Answer::Granted),
            _ => tester.on_return(thread_of_end(who), Answer::Ended),
        };
        if taken.is_err() {
            return (false, 0);
        }
    }
    let is_accepted = tester.is_consistent();
    (is_accepted, steps.get())
}

/// What is asked for, in the order of the leases.
fn asks(leases: &[&Held]) -> Vec<Ask> {
    let owners: Vec<_> = leases.iter().filter_map(|lease| lease.owner.as_ref()).collect();
    let number = |owner: &Owner| owners.iter().position(|other| *other == owner);
    let ask = |(who, lease): (usize, &&Held)| Ask {
        who,
        mode: lease.mode,
        owner: lease.owner.as_ref().and_then(number),
        fence: lease.fence.unwrap_or(Fence::new(0)),
        asked: lease.asked,
        answered: lease.granted,
        kept_until: kept_until(lease),
    };
    leases.iter().enumerate().map(ask).collect()
}

/// Returns the moment until which a store may have a lease: for a TTL from the last renewal, which may have been under way when its
/// holder stopped, and took no longer than another TTL.
pub fn kept_until(lease: &Held) -> Moment {
    lease.stopped + lease.ttl + lease.ttl
}

/// Returns the number of histories that the checker accepted, or the first one that it refused.
pub fn judge<'a>(held: impl IntoIterator<Item = &'a Held>) -> Result<usize, String> {
    let histories = histories(held);
    match histories.iter().find(|history| !is_that_of_a_lock(history)) {
        Some(refused) => Err(format!("no history of a lock with fences: {refused:#?}")),
        None => Ok(histories.len()),
    }
}
