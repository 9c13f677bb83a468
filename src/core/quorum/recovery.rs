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

/// One incarnation of a node. A restart begins another one, which may have forgotten acknowledged writes of the earlier
/// one.
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

    const MAX_TTL: Duration = Duration::from_secs(10);
    const OLD: Duration = Duration::from_secs(20);

    fn recovered(durable: bool, fence: u64) -> Recovered {
        Recovered { incarnation: "i".to_owned(), durable, fence: Fence::new(fence) }
    }

    fn report(age: Duration, taught: Option<u64>, last: u64, clock: u64) -> Option<Report> {
        let incarnation = Incarnation { id: "i".to_owned(), age, durable: false };
        let (last, clock) = (Fence::new(last), Fence::new(clock));
        Some(Report { incarnation, recovered: taught.map(|fence| recovered(false, fence)), last, clock })
    }

    fn taught(reports: &[Option<Report>], fresh_start: bool) -> Result<Vec<(usize, u64)>, NotYet> {
        let lessons = lessons(reports, Duration::ZERO, MAX_TTL, fresh_start)?;
        Ok(lessons.into_iter().map(|(node, lesson)| (node, lesson.fence.get())).collect())
    }

    #[test]
    fn a_node_that_is_not_young_is_taught_what_a_majority_of_those_that_have_not_forgotten_know() {
        let (first, second) = (report(OLD, Some(1), 70, 5), report(OLD, Some(1), 90, 5));
        let reports = |forgetful| [first.clone(), second.clone(), forgetful];
        assert_eq!(taught(&reports(report(OLD, None, 3, 5)), false), Ok(vec![(2, 90)]));
        assert_eq!(taught(&reports(None), false), Ok(vec![]));
        assert_eq!(taught(&[first.clone(), None, report(OLD, None, 3, 5)], false), Err(NotYet::Missing));
        let young = reports(report(Duration::from_secs(4), None, 3, 5));
        let not_yet = Err(NotYet::Young(Duration::from_millis(6_102)));
        assert_eq!((taught(&young, false), taught(&young, true)), (not_yet.clone(), not_yet));
    }

    #[test]
    fn without_a_majority_that_knows_all_nodes_are_needed_and_the_fastest_clock_counts() {
        let nodes = [report(OLD, None, 1, 5), report(OLD, Some(1), 2, 500), report(OLD, None, 3, 40)];
        assert_eq!(taught(&nodes, false), Ok(vec![(0, 1_000_500), (2, 1_000_500)]));
        let [first, second, third] = nodes;
        assert_eq!(taught(&[first.clone(), None, third.clone()], false), Err(NotYet::Missing));
        let young = report(Duration::from_secs(4), None, 3, 40);
        assert_eq!(taught(&[first, second, young], false), Ok(vec![(0, 1_000_500)]));
    }

    #[test]
    fn a_first_start_needs_all_nodes_and_none_that_has_recovered() {
        let young = || report(Duration::from_secs(1), None, 3, 5);
        let lesson = 1_000_005;
        assert_eq!(taught(&[young(), young()], true), Ok(vec![(0, lesson), (1, lesson)]));
        assert!(taught(&[young(), young()], false).is_err());
        assert!(taught(&[young(), None], true).is_err());
        let seasoned = report(OLD, Some(1), 2, 5);
        assert!(taught(&[young(), young(), seasoned], true).is_err());
    }

    #[test]
    fn a_durable_node_counts_after_a_restart_unless_it_is_empty() {
        let after = Incarnation { id: "later".to_owned(), age: Duration::ZERO, durable: true };
        assert!(after.has_recovered(Some(&recovered(true, 7))));
        assert!(!after.has_recovered(Some(&recovered(false, 7))));
        assert!(!after.has_recovered(None));
        assert!(!Incarnation { durable: false, ..after }.has_recovered(Some(&recovered(true, 7))));
    }

    #[test]
    fn a_grant_from_before_the_recovery_does_not_count() {
        let covers = |fence| recovered(false, 7).covers(fence);
        assert!(!covers(Some(Fence::new(7))) && covers(Some(Fence::new(8))) && covers(None));
    }
}
