//! The lessons that a quorum teaches nodes that may have forgotten: which, when, and whether a node counts after them.

use std::time::Duration;

use leasehold::{
    Fence,
    rules::{Incarnation, NotYet, Recovered, Report, lessons},
};

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
