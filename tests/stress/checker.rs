//! Checks the histories of all processes together.

use std::collections::BTreeMap;

use super::{
    history::{Held, Report, Taken},
    worker::{PERMITS, RESOURCES},
};

/// What was seen, in words; or every violation.
pub(crate) fn check(reports: &[Report]) -> Result<String, Vec<String>> {
    let mut violations = Vec::new();
    let mut modes: BTreeMap<Taken, usize> = BTreeMap::new();
    for resource in 0..RESOURCES {
        let all = reports.iter().flat_map(|report| &report.held);
        let held: Vec<&Held> = all.filter(|held| held.resource == resource).collect();
        if held.is_empty() {
            violations.push(format!("nobody ever got resource {resource}"));
        }
        for lease in &held {
            *modes.entry(lease.taken).or_default() += 1;
        }
        conflicts(&held, &mut violations);
        fences(&held, &mut violations);
    }
    let sum = |count: fn(&Report) -> u64| reports.iter().map(count).sum::<u64>();
    let re_entries = reports.iter().flat_map(|report| &report.held).filter(|held| held.re_entered).count();
    let wanted = [Taken::Everything, Taken::Shared, Taken::Permits(1), Taken::Permits(3)];
    for taken in wanted.iter().filter(|taken| !modes.contains_key(taken)) {
        violations.push(format!("nobody ever got {taken:?}"));
    }
    if re_entries == 0 {
        violations.push("nobody ever re-entered".to_owned());
    }
    if !violations.is_empty() {
        return Err(violations);
    }
    let (refused, cancelled, lost) =
        (sum(|report| report.refused), sum(|report| report.cancelled), sum(|report| report.lost));
    Ok(format!(
        "granted {modes:?}, of these {re_entries} re-entries and {lost} lost; refused {refused}, cancelled {cancelled}; \
         errors {:?}; no conflict, fences in order, no key left over",
        reports.iter().map(|report| &report.errors).filter(|errors| !errors.is_empty()).collect::<Vec<_>>()
    ))
}

/// No two conflicting leases are valid at once.
fn conflicts(held: &[&Held], violations: &mut Vec<String>) {
    let mut changes: Vec<(u64, bool, &Held)> = Vec::new();
    // One that ended in the microsecond in which it began was valid at no moment.
    for lease in held.iter().filter(|lease| lease.ended > lease.granted) {
        changes.push((lease.granted, true, lease));
        changes.push((lease.ended, false, lease));
    }
    // At the same microsecond an end comes before a beginning.
    changes.sort_by_key(|(at, begins, _)| (*at, *begins));
    let mut valid: Vec<&Held> = Vec::new();
    for (_, begins, lease) in changes {
        if !begins {
            valid.retain(|other| !std::ptr::eq(*other, lease));
            continue;
        }
        for other in valid.iter().filter(|other| conflict(other, lease)) {
            violations.push(format!("valid at once: {other:?} and {lease:?}"));
        }
        valid.push(lease);
        let permits: u32 =
            valid.iter().map(|held| if let Taken::Permits(k) = held.taken { k } else { 0 }).sum();
        if permits > PERMITS {
            violations.push(format!("{permits} permits of {PERMITS} at once: {valid:?}"));
        }
    }
}

fn conflict(one: &Held, other: &Held) -> bool {
    let same_owner = one.owner.is_some() && one.owner == other.owner;
    match (one.taken, other.taken) {
        (Taken::Everything, Taken::Everything) => !same_owner,
        (Taken::Everything, _) | (_, Taken::Everything) => true,
        _ => false,
    }
}

/// A lease that was asked for after another had been granted has the larger fence.
fn fences(held: &[&Held], violations: &mut Vec<String>) {
    let mut by_grant: Vec<&&Held> = held.iter().collect();
    by_grant.sort_by_key(|lease| lease.granted);
    let mut by_question: Vec<&&Held> = held.iter().filter(|lease| !lease.re_entered).collect();
    by_question.sort_by_key(|lease| lease.asked);
    let mut granted = by_grant.into_iter().peekable();
    let mut largest = 0;
    for lease in by_question {
        while let Some(earlier) = granted.next_if(|earlier| earlier.granted < lease.asked) {
            largest = largest.max(earlier.fence);
        }
        if lease.fence <= largest {
            violations.push(format!("a fence of {largest} was granted before {lease:?} was asked for"));
        }
    }
}
