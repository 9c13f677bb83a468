//! Recovery of a quorum's node: the conditions under which one that may have forgotten counts again, and its lessons.
//!
//! It follows the recovery of Viewstamped Replication (Liskov and Cowling, "Viewstamped Replication Revisited", 2012,
//! §4.3): a node that may have forgotten does not count until it knows again what a majority of the others know. Here
//! that is one number, the largest fence. Leases need no teaching, because they end by themselves within the longest TTL.
//!
//! A node keeps a record of its recovery. Every client therefore sees the recovery, and sees with every vote that the
//! record is still there.

use std::time::Duration;

use crate::core::{AHEAD_AT_MOST, Fence, abstains_for, majority};

/// One incarnation of a node. A restart begins another one, which may have forgotten acknowledged writes of the earlier one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Incarnation {
    /// The identifier, different after each start.
    pub id: String,
    /// The time for which it has been observed, by a clock that was not stepped meanwhile, and never overstated. A node
    /// itself only reports what its wall clock says, and a quorum replaces that.
    pub age: Duration,
    /// True if it forgets nothing that it acknowledged, however it ends. Its record of recovery proves that it has not
    /// been emptied: see [`Recovered`].
    pub durable: bool,
}

/// The record that a node keeps of its recovery. It is gone when the node forgets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recovered {
    /// The incarnation that was taught.
    pub incarnation: String,
    /// True if that incarnation was durable.
    pub durable: bool,
    /// The fence that it was taught. Fences up to this one were given out before the recovery.
    pub fence: Fence,
}

/// The report of a node on its recovery.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Report {
    /// The current incarnation.
    pub incarnation: Incarnation,
    /// The record of its recovery, if any.
    pub recovered: Option<Recovered>,
    /// The last fence that it gave out or was told, or a larger one.
    pub last: Fence,
    /// The node's time, as the smallest fence that it could give out.
    pub clock: Fence,
}

/// The reason why no node can be taught yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotYet {
    /// The nodes that may have forgotten have not been up for long enough: leases that they forgot may still be valid.
    /// Carries the shortest time left.
    Young(Duration),
    /// The nodes that have not forgotten are no majority, and not all of the others have answered.
    Missing,
}

impl Incarnation {
    /// Returns true if this incarnation knows all that it ever knew, according to its record.
    pub fn has_recovered(&self, written: Option<&Recovered>) -> bool {
        written.is_some_and(|written| written.incarnation == self.id || written.durable && self.durable)
    }
}

impl Recovered {
    /// Returns true if a grant of this fence counts, because it was given out after the recovery.
    pub fn covers(&self, fence: Option<Fence>) -> bool {
        fence.is_none_or(|fence| fence > self.fence)
    }
}

/// Returns the nodes to teach now, each with its lesson. `None` stands for a node that has not answered, and `spent` is
/// the time since the nodes were asked. The list is empty if there is nothing to teach.
///
/// A fence that was given out is known to a majority. Every majority of nodes that have not forgotten therefore knows the
/// largest. Without such a majority, but with an answer of *every* node, no fence can be larger than the fastest of all
/// clocks plus the largest lead of a node over its own clock. A deployment also begins in that way. Nodes that have just
/// been started count only then, and only if `fresh_start` says that there is nothing to forget and no node has a record.
///
/// Nodes must have been observed for `max_ttl` *before* they were asked. Everything that an earlier incarnation helped to grant
/// was given out by then, and is known to the others.
///
/// # Errors
/// [`NotYet`] when a node may have forgotten, and none can be taught yet.
pub fn lessons(
    reports: &[Option<Report>],
    spent: Duration,
    max_ttl: Duration,
    fresh_start: bool,
) -> Result<Vec<(usize, Recovered)>, NotYet> {
    let answered = || reports.iter().flatten();
    let knows = |report: &&Report| report.incarnation.has_recovered(report.recovered.as_ref());
    let knowing = answered().filter(knows).count();
    let all = answered().count() == reports.len();
    let first_start = fresh_start && all && answered().all(|report| report.recovered.is_none());
    let left = |report: &Report| match first_start || planted!("a node votes as soon as it is up") {
        true => Duration::ZERO,
        false => abstains_for(report.incarnation.age.saturating_sub(spent), max_ttl),
    };
    let forgetful: Vec<(usize, &Report)> = (0..)
        .zip(reports)
        .filter_map(|(node, report)| Some((node, report.as_ref()?)))
        .filter(|(_, report)| !knows(report))
        .collect();
    let fence = if knowing >= majority(reports.len()) {
        answered().filter(knows).map(|report| report.last).max()
    } else if !all {
        return if forgetful.is_empty() { Ok(Vec::new()) } else { Err(NotYet::Missing) };
    } else {
        // The largest that a node may have given out without having been told a larger one.
        let lead = u64::try_from(AHEAD_AT_MOST.as_micros()).unwrap_or(u64::MAX);
        let led = |report: &Report| Fence::new(report.clock.get().saturating_add(lead));
        answered().map(|report| report.last.max(led(report))).max()
    };
    let fence = fence.unwrap_or(Fence::new(0));
    match forgetful.iter().map(|(_, report)| left(report)).min() {
        Some(left) if !left.is_zero() => Err(NotYet::Young(left)),
        _ => {
            let old_enough = forgetful.iter().filter(|(_, report)| left(report).is_zero());
            Ok(old_enough.map(|(node, report)| (*node, lesson(report, fence))).collect())
        }
    }
}

fn lesson(report: &Report, fence: Fence) -> Recovered {
    let Incarnation { id, durable, .. } = &report.incarnation;
    // Grants that the node has already given out by itself do not count either.
    Recovered { incarnation: id.clone(), durable: *durable, fence: fence.max(report.last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(60);
    const OLD: Duration = Duration::from_secs(3_600);

    /// A node that was taught, or was not, with its largest fence.
    fn node(id: &str, recovered: Option<&str>, age: Duration, last: u64) -> Option<Report> {
        let written =
            |id: &str| Recovered { incarnation: id.to_owned(), durable: false, fence: Fence::new(1) };
        Some(Report {
            incarnation: Incarnation { id: id.to_owned(), age, durable: false },
            recovered: recovered.map(written),
            last: Fence::new(last),
            clock: Fence::new(1_000),
        })
    }

    fn taught(
        reports: &[Option<Report>],
        spent: Duration,
        fresh_start: bool,
    ) -> Result<Vec<(usize, u64)>, NotYet> {
        let lessons = lessons(reports, spent, TTL, fresh_start)?;
        Ok(lessons.into_iter().map(|(node, lesson)| (node, lesson.fence.get())).collect())
    }

    #[test]
    fn an_incarnation_knows_what_it_was_taught_or_what_a_durable_one_before_it_was() {
        let incarnation = |durable| Incarnation { id: "b".to_owned(), age: OLD, durable };
        let record =
            |id: &str, durable| Recovered { incarnation: id.to_owned(), durable, fence: Fence::new(1) };
        for (now, written, expected) in [
            (false, None, false),
            (true, None, false),
            (false, Some(record("b", false)), true),
            (false, Some(record("a", true)), false),
            (true, Some(record("a", false)), false),
            (true, Some(record("a", true)), true),
        ] {
            assert_eq!(incarnation(now).has_recovered(written.as_ref()), expected, "{now} {written:?}");
        }
        let covers = |fence: Option<u64>| record("b", false).covers(fence.map(Fence::new));
        assert_eq!(
            [covers(None), covers(Some(1)), covers(Some(2)), covers(Some(0))],
            [true, false, true, false]
        );
    }

    #[test]
    fn a_node_that_may_have_forgotten_is_taught_what_a_majority_of_the_others_know() {
        let (first, second) = (node("a", Some("a"), OLD, 7), node("b", Some("b"), OLD, 9));
        let restarted = |age, last| [first.clone(), second.clone(), node("c", Some("before"), age, last)];
        assert_eq!(taught(&restarted(OLD, 3), Duration::ZERO, false), Ok(vec![(2, 9)]));
        assert_eq!(
            taught(&restarted(OLD, 12), Duration::ZERO, false),
            Ok(vec![(2, 12)]),
            "its own do not count"
        );
        let left = abstains_for(TTL, TTL);
        assert_eq!(taught(&restarted(TTL, 3), Duration::ZERO, false), Err(NotYet::Young(left)));
        let enough = TTL + left;
        assert_eq!(taught(&restarted(enough, 3), Duration::ZERO, false), Ok(vec![(2, 9)]));
        let second_late = Err(NotYet::Young(Duration::from_secs(1)));
        assert_eq!(
            taught(&restarted(enough, 3), Duration::from_secs(1), false),
            second_late,
            "when it was asked"
        );
        assert_eq!(taught(&[first, second, None], Duration::ZERO, false), Ok(vec![]), "nothing to teach");
    }

    #[test]
    fn of_several_that_may_have_forgotten_those_that_are_old_enough_are_taught() {
        let known = |id| node(id, Some(id), OLD, 9);
        let reports = [known("a"), node("b", None, OLD, 1), known("c"), node("d", None, TTL, 1), known("e")];
        assert_eq!(taught(&reports, Duration::ZERO, false), Ok(vec![(1, 9)]));
    }

    #[test]
    fn without_a_majority_that_knows_all_have_to_answer() {
        let forgetful = |id, age| node(id, None, age, 5);
        let two = [node("a", Some("a"), OLD, 9), forgetful("b", OLD), None];
        assert_eq!(taught(&two, Duration::ZERO, false), Err(NotYet::Missing));
        assert_eq!(taught(&two, Duration::ZERO, true), Err(NotYet::Missing));
        assert_eq!(taught(&[node("a", Some("a"), OLD, 9), None, None], Duration::ZERO, false), Ok(vec![]));
        let lead = AHEAD_AT_MOST.as_micros() as u64;
        let all = |age| [forgetful("a", age), forgetful("b", age), node("c", None, age, 9)];
        let ahead = 1_000 + lead;
        assert_eq!(taught(&all(OLD), Duration::ZERO, false), Ok(vec![(0, ahead), (1, ahead), (2, ahead)]));
        assert!(matches!(taught(&all(Duration::ZERO), Duration::ZERO, false), Err(NotYet::Young(_))));
        assert_eq!(
            taught(&all(Duration::ZERO), Duration::ZERO, true).map(|taught| taught.len()),
            Ok(3),
            "a first start"
        );
        let one_was_taught = [
            forgetful("a", Duration::ZERO),
            forgetful("b", Duration::ZERO),
            node("c", Some("x"), Duration::ZERO, 9),
        ];
        assert!(
            matches!(taught(&one_was_taught, Duration::ZERO, true), Err(NotYet::Young(_))),
            "it is no first one"
        );
    }
}
