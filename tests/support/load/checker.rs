//! Checks the history of one resource, and what holders were told.

use super::{
    PERMITS,
    history::{Held, Loss, Report, Taken},
};

/// Leases that were valid at once and must not have been.
pub(crate) struct Conflict {
    /// Since when, in microseconds since the host was started.
    pub(crate) from: u64,
    /// Until when.
    pub(crate) until: u64,
    /// Which ones.
    pub(crate) what: String,
}

/// Every moment at which conflicting leases of one resource began to be valid at once.
pub(crate) fn conflicts(held: &[&Held]) -> Vec<Conflict> {
    let mut found = Vec::new();
    let mut changes: Vec<(u64, bool, &Held)> = Vec::new();
    // One that ended in the microsecond in which it began was valid at no moment.
    for lease in held.iter().filter(|lease| lease.ended > lease.granted) {
        changes.push((lease.granted, true, lease));
        changes.push((lease.ended, false, lease));
    }
    // At the same microsecond an end comes before a beginning.
    changes.sort_by_key(|(at, begins, _)| (*at, *begins));
    let mut valid: Vec<&Held> = Vec::new();
    for (from, begins, lease) in changes {
        if !begins {
            valid.retain(|other| !std::ptr::eq(*other, lease));
            continue;
        }
        for other in valid.iter().filter(|other| conflict(other, lease)) {
            let until = lease.ended.min(other.ended);
            found.push(Conflict { from, until, what: format!("valid at once: {other:?} and {lease:?}") });
        }
        valid.push(lease);
        let permits: u32 =
            valid.iter().map(|held| if let Taken::Permits(k) = held.taken { k } else { 0 }).sum();
        if permits > PERMITS {
            let until = valid.iter().map(|held| held.ended).min().unwrap_or(from);
            let what = format!("{permits} permits of {PERMITS} at once: {valid:?}");
            found.push(Conflict { from, until, what });
        }
    }
    found
}

fn conflict(one: &Held, other: &Held) -> bool {
    let same_owner = one.owner.is_some() && one.owner == other.owner;
    match (one.taken, other.taken) {
        (Taken::Everything, Taken::Everything) => !same_owner,
        (Taken::Everything, _) | (_, Taken::Everything) => true,
        _ => false,
    }
}

/// The leases of one resource that were asked for after another had been granted, and have no larger fence.
pub(crate) fn fences(held: &[&Held]) -> Vec<String> {
    let mut found = Vec::new();
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
            found.push(format!("a fence of {largest} was granted before {lease:?} was asked for"));
        }
    }
    found
}

/// The leases that entered again, and have another fence than what their owner held then.
pub(crate) fn re_entries(held: &[&Held]) -> Vec<String> {
    let mut found = Vec::new();
    for lease in held.iter().filter(|lease| lease.re_entered) {
        for first in held.iter().filter(|first| is_held_by(first, lease)) {
            if first.fence != lease.fence {
                found.push(format!("re-entered with another fence: {lease:?} after {first:?}"));
            }
        }
    }
    found
}

/// Whether the owner of a lease held this one as well when it was granted.
fn is_held_by(first: &Held, lease: &Held) -> bool {
    first.owner == lease.owner
        && (first.granted..first.ended).contains(&lease.granted)
        && !std::ptr::eq(first, lease)
}

/// The leases of a process whose holders were told of the loss after the validity had ended.
///
/// Nobody can be told while the process gets no turn on a processor; that time is not counted.
pub(crate) fn told_late(report: &Report) -> Vec<&Held> {
    let late = report.lost().filter(|(_, loss)| loss.told > loss.valid_until + stalled(report, loss));
    late.map(|(held, _)| held).collect()
}

/// For how long nobody had a turn from when the holder was to be told until it was.
fn stalled(report: &Report, loss: &Loss) -> u64 {
    let stalls = report.stalls.iter();
    stalls.map(|&(from, until)| until.min(loss.told).saturating_sub(from.max(loss.due))).sum()
}
