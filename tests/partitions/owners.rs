//! The judgement of the owners of partitions: none beside another, none without a valid lease, and no partition without one for long.

use std::collections::BTreeMap;

use super::process::{TICK, TTL};
use crate::election::gaps::{Absence, Tick};

const SECOND: u64 = 1_000_000;

/// The time that a few owners may be later on a busy machine.
const LATE: u64 = 3 * SECOND;
/// The time in which an actor starts beside.
const HAND_OVER: u64 = 300_000;

/// The violations, and the hand-overs that took long.
#[derive(Debug, Default)]
pub(super) struct Violations {
    pub(super) all: Vec<String>,
    pub(super) hand_overs: usize,
    /// The hand-overs that took longer because another process than the owner had died or was frozen.
    pub(super) of_others: usize,
    /// Those that took longer than they may, by less than [`LATE`].
    pub(super) late: usize,
    /// The events to which these belong: those within two seconds are one.
    pub(super) events: usize,
}

/// Returns by how much longer nobody worked on a partition between two owners than is allowed: until the next look of the owner, or
/// until a TTL and a second after one of these died or froze meanwhile.
fn unowned(two: [Tick; 2], absent: &[Absence], stalls: &[(u64, u64)]) -> u64 {
    let (from, until) = (two[0].at, two[1].at);
    let died = absent.iter().filter(|absence| absence.from < until && absence.until > from);
    let died = died.map(|absence| absence.from.max(from)).max();
    let overlap = |&(start, end): &(u64, u64)| end.min(until).saturating_sub(start.max(from));
    let waits = if died.is_some() { TTL.as_micros() as u64 + SECOND } else { SECOND };
    let stalls = 2 * stalls.iter().map(overlap).sum::<u64>();
    let at_most = waits + 2 * TICK.as_micros() as u64 + HAND_OVER + stalls;
    (until - died.unwrap_or(from)).saturating_sub(at_most)
}

/// Finds two owners of a partition at one time, work without a valid lease, and times without an owner that are too long.
pub(super) fn judge(
    works: &mut BTreeMap<u32, Vec<Tick>>,
    refused: &[(u32, Tick)],
    absent: &[(usize, Absence)],
    stalls: &[(u64, u64)],
) -> Violations {
    let (mut found, mut moments) = (Violations::default(), Vec::new());
    let of_all: Vec<_> = absent.iter().map(|(_, it)| *it).collect();
    for (partition, refused) in refused {
        if refused.at < refused.until {
            found.all.push(format!("partition {partition}: a later owner had written: {refused:?}"));
        }
    }
    for (partition, work) in works {
        let named = |text: String| format!("partition {partition}: {text}");
        work.sort_by_key(|work| work.at);
        let invalid = work.iter().filter(|work| work.at >= work.until);
        found.all.extend(invalid.map(|work| named(format!("without a valid lease: {work:?}"))));
        for two in work.windows(2) {
            let same = two[0].fence == two[1].fence;
            if two[1].fence < two[0].fence || (same && two[0].process != two[1].process) {
                found.all.push(named(format!("two owners at once: {two:?}")));
            }
            if same {
                continue;
            }
            found.hand_overs += 1;
            let owner = two[0].process;
            let late = |absent: &[Absence]| unowned([two[0], two[1]], absent, stalls);
            let of_its_own: Vec<_> =
                absent.iter().filter(|(place, _)| *place == owner).map(|(_, it)| *it).collect();
            let by = late(&of_its_own);
            let text = || named(format!("no owner from {} to {}", two[0].at, two[1].at));
            match (by, late(&of_all)) {
                (0, _) => {}
                // The one for which it was given up has died, or was frozen.
                (_, 0) => found.of_others += 1,
                (_, by) if by > LATE - HAND_OVER => found.all.push(text()),
                _ => found.late += 1,
            }
            if by > 0 {
                moments.push(two[1].at);
            }
        }
    }
    moments.sort_unstable();
    found.events = moments.chunk_by(|one, next| next - one < 2 * SECOND).count();
    found
}

#[test]
fn the_judge_finds_two_owners_and_partitions_without_one() {
    let tick = |at: u64, process, fence| Tick { at: at * SECOND, until: (at + 2) * SECOND, fence, process };
    let judge = |work: &[Tick], refused: &[Tick], absent: &[(usize, u64)]| {
        let refused: Vec<_> = refused.iter().map(|refused| (7, *refused)).collect();
        let absent: Vec<_> =
            absent.iter().map(|(place, at)| (*place, Absence::killed(at * SECOND))).collect();
        let found = judge(&mut BTreeMap::from([(7, work.to_vec())]), &refused, &absent, &[]);
        (found.all.len(), found.late, found.of_others)
    };
    let moved = [tick(1, 0, 1), tick(2, 0, 1), tick(3, 1, 2)];
    assert_eq!(judge(&moved, &[], &[]), (0, 0, 0));
    assert_eq!(judge(&[tick(1, 0, 2), tick(2, 1, 1)], &[], &[]).0, 1, "the older one still works");
    assert_eq!(judge(&[tick(1, 0, 1), tick(2, 1, 1)], &[], &[]).0, 1, "one fence in two processes");
    assert_eq!(judge(&[Tick { until: SECOND, ..tick(1, 0, 1) }], &[], &[]).0, 1, "without a lease");
    assert_eq!(judge(&moved, &[tick(4, 0, 1)], &[]).0, 1, "refused under a lease that is valid");
    assert_eq!(judge(&moved, &[Tick { until: 4 * SECOND, ..tick(4, 0, 1) }], &[]).0, 0);
    let apart = |seconds: u64| [tick(1, 0, 1), tick(1 + seconds, 1, 2)];
    assert_eq!([4, 8].map(|seconds| judge(&apart(seconds), &[], &[])), [(0, 1, 0), (1, 0, 0)]);
    assert_eq!(judge(&apart(4), &[], &[(0, 2)]), (0, 0, 0), "its owner died");
    assert_eq!(judge(&apart(4), &[], &[(2, 2)]), (0, 0, 1), "another one died");
    assert_eq!(judge(&apart(9), &[], &[(0, 2)]), (1, 0, 0));
}
