//! The recovery of runs that did not end: the next runner runs their ticks again, if the schedule says so.

use super::{
    plan::Rules,
    tick::{Entry, Outcome},
};

/// The policy for runs that did not end: their process died, was cut off from the store, or was stopped while they ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recover {
    /// They are not run again: each tick runs at most once.
    #[default]
    Skip,
    /// The next runner runs such a tick again, before it goes on with the plan. **A tick may then run more than once**: if a process
    /// dies after its work, or the store is away then, the store does not know that the work was done. With an
    /// [`overlap`](super::Schedule::overlap) of 1 this concerns the last run of a runner alone; with more of them also runs before it
    /// whose end could not be written. The work of a process that was frozen goes on until its next await; the larger fence of the
    /// later attempt is for that.
    Again {
        /// The largest number of times that one tick is run again, from 1 to 100.
        at_most: u32,
    },
}

/// Returns the first run that is to be repeated by the runner with this fence, if it is neither over nor repeated already.
///
/// Only the runs of the runner before are repeated. A runner that has gone on with the plan since then left them as they are: its version,
/// or its options, did not have the policy. Where runs do not overlap, one that its own runner has followed by another is over.
pub(super) fn unfinished<'a>(
    runs: impl DoubleEndedIterator<Item = &'a Entry> + Clone,
    fence: u64,
    rules: &Rules,
    is_over: impl Fn(&Entry) -> bool,
) -> Option<&'a Entry> {
    let earlier = |run: &Entry| run.fence.filter(|its| *its < fence);
    let of_the_plan = runs.clone().filter(|run| run.repeats == 0 && !run.asked);
    let went_on = of_the_plan.filter_map(earlier).max();
    let is_repeated = |run: &Entry| {
        let is_same = |other: &Entry| (other.scheduled_for, other.asked) == (run.scheduled_for, run.asked);
        runs.clone().any(|other| is_same(other) && other.repeats > run.repeats)
    };
    let is_followed = |run: &Entry| {
        rules.at_once == 1 && runs.clone().any(|other| other.fence == run.fence && other.number > run.number)
    };
    runs.clone().rev().find(|run| {
        earlier(run).is_some()
            && run.fence >= went_on
            && run.repeats < rules.repeats
            && !is_followed(run)
            && matches!(run.outcome(), None | Some(Outcome::Stopped))
            && !is_repeated(run)
            && !is_over(run)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: u64, fence: u64, outcome: Option<Outcome>) -> Entry {
        let ended = outcome.map(|outcome| (1, serde_json::to_value(outcome).unwrap()));
        Entry { number, scheduled_for: 100 * number, fence: Some(fence), ended, ..Entry::default() }
    }

    fn again(of: &Entry, number: u64, fence: u64, outcome: Option<Outcome>) -> Entry {
        Entry { scheduled_for: of.scheduled_for, repeats: of.repeats + 1, ..run(number, fence, outcome) }
    }

    /// Returns the number of the run that the runner with this fence repeats, of these from the first to the last, of which so
    /// many may go on at once.
    fn repeated(runs: &[Entry], fence: u64, repeats: u32, at_once: usize) -> Option<u64> {
        let rules = Rules { at_once, repeats, ..Rules::each_second() };
        unfinished(runs.iter().rev(), fence, &rules, |_| false).map(|run| run.number)
    }

    #[test]
    fn the_runs_of_the_runner_before_that_did_not_end_are_repeated_the_earliest_first() {
        let done = Some(Outcome::Done);
        let mut runs = vec![run(1, 3, done.clone()), run(2, 3, None), run(3, 3, Some(Outcome::Stopped))];
        assert_eq!(repeated(&runs, 3, 1, 2), None, "they go on");
        assert_eq!(repeated(&runs, 7, 1, 2), Some(2));
        runs.push(again(&runs[1], 4, 7, None));
        assert_eq!(repeated(&runs, 7, 1, 2), Some(3));
        assert_eq!(repeated(&runs, 9, 1, 2), Some(3), "the one before has not gone on with the plan");
        runs.push(again(&runs[2], 5, 7, done));
        assert_eq!(repeated(&runs, 7, 1, 2), None);
        assert_eq!(repeated(&runs, 9, 1, 2), None, "the fourth was the last try of its tick");
        assert_eq!(repeated(&runs, 9, 2, 2), Some(4));
        runs.push(again(&runs[3], 6, 9, None));
        assert_eq!(repeated(&runs, 11, 2, 2), None);
    }

    #[test]
    fn where_runs_do_not_overlap_a_run_that_its_runner_has_followed_by_another_is_over() {
        let mut runs = vec![run(1, 3, None), run(2, 3, None)];
        assert_eq!((repeated(&runs, 7, 9, 1), repeated(&runs, 7, 9, 2)), (Some(2), Some(1)));
        runs.push(run(3, 3, Some(Outcome::Done)));
        assert_eq!(repeated(&runs, 7, 9, 1), None, "the ends of the others could not be written");
    }

    #[test]
    fn runs_that_failed_or_were_left_by_a_runner_that_went_on_are_not_repeated() {
        let failed = |outcome| repeated(&[run(1, 3, Some(outcome))], 7, 9, 1);
        assert_eq!(failed(Outcome::failed("no paper")), None);
        assert_eq!(failed(Outcome::TimedOut), None);
        let runs = [run(1, 3, None), run(2, 5, Some(Outcome::Done))];
        assert_eq!(repeated(&runs, 7, 9, 1), None);
        let asked = Entry { asked: true, ..run(2, 5, Some(Outcome::Done)) };
        assert_eq!(
            repeated(&[run(1, 3, None), asked], 7, 9, 1),
            Some(1),
            "a run that was asked for is not of the plan"
        );
        let without_fences = Entry { fence: None, ..run(1, 0, None) };
        assert_eq!(repeated(&[without_fences], 7, 9, 1), None, "nobody knows whose it is");
    }
}
