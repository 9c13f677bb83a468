//! One row of the table: what a scenario has cost.

use std::{collections::BTreeMap, fmt};

use leasehold_testing::history::Conflict;

use crate::load::{Report, micros_of};
use crate::outages::scenario::{FIRST_KEPT, Scenario, Seen};

/// What a scenario has cost, in words.
pub(crate) struct Row(Vec<String>);

impl Row {
    /// What stands above the rows.
    pub(crate) const HEAD: &str = "| scenario | load | outage | grants | histories accepted | conflicts | longest time without a grant, and when it \
                                   began from the outage | the same of one resource | leases lost | told late | refused \
                                   requests by error | keys left |\n\
                                   |---|---|---|---|---|---|---|---|---|---|---|---|";

    pub(crate) fn of(scenario: &Scenario, seen: &Seen, judged: &Result<usize, String>) -> Self {
        let (outage, load) = (seen.outage.1 - seen.outage.0, seen.load.1 - seen.load.0);
        let all = || seen.reports.iter().flat_map(|report| &report.held);
        let gap = |moments| longest_gap(moments, seen.load);
        let anywhere = gap(all().map(|held| micros_of(held.granted)).collect());
        let of_one = |resource| gap(seen.held(resource).iter().map(|held| micros_of(held.granted)).collect());
        let of_one = (0..FIRST_KEPT).map(of_one).max().unwrap_or_default();
        let in_words = |(long, from)| format!("{} from {}", seconds(long), after(from, seen.outage.0));
        Self(vec![
            scenario.name.replace('_', " "),
            seconds(load),
            seconds(outage),
            all().count().to_string(),
            judged.as_ref().map_or_else(|_| "refused".to_owned(), usize::to_string),
            overlaps(&seen.conflicts()),
            in_words(anywhere),
            in_words(of_one),
            losses(&seen.reports),
            seen.told_late().len().to_string(),
            counts(seen.reports.iter().flat_map(|report| &report.errors)),
            seen.left.len().to_string(),
        ])
    }

    /// Of a scenario that did not come to its end.
    pub(crate) fn nothing(scenario: &Scenario) -> Self {
        Self(vec![scenario.name.replace('_', " "), "did not come to its end".to_owned()])
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} |", self.0.join(" | "))
    }
}

fn seconds(micros: u64) -> String {
    format!("{:.1} s", micros as f64 / 1e6)
}

/// A moment as it is from the beginning of the outage.
fn after(moment: u64, outage: u64) -> String {
    format!("{:+.1} s", (moment as f64 - outage as f64) / 1e6)
}

/// The longest time between two of these moments, or the bounds; and when it began.
fn longest_gap(mut moments: Vec<u64>, (begin, end): (u64, u64)) -> (u64, u64) {
    moments.extend([begin, end]);
    moments.retain(|moment| (begin..=end).contains(moment));
    moments.sort_unstable();
    moments.windows(2).map(|two| (two[1] - two[0], two[0])).max().unwrap_or_default()
}

fn overlaps(conflicts: &[Conflict]) -> String {
    match conflicts.iter().map(|conflict| conflict.until.remaining(conflict.from)).max() {
        None => "0".to_owned(),
        Some(longest) => {
            format!("{}, at most {} ms", conflicts.len(), longest.as_micros().div_ceil(1_000))
        }
    }
}

fn losses(reports: &[Report]) -> String {
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    for reason in reports.iter().flat_map(Report::lost) {
        *reasons.entry(reason.as_str().to_owned()).or_default() += 1;
    }
    let found: u64 = reports.iter().map(|report| report.found_lost).sum();
    counts(reasons.iter().chain((found > 0).then_some((&"found lost when released".to_owned(), &found))))
}

/// The sums of these, with their names.
fn counts<'a>(counted: impl IntoIterator<Item = (&'a String, &'a u64)>) -> String {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, count) in counted {
        *sums.entry(name).or_default() += count;
    }
    let words: Vec<_> = sums.iter().map(|(name, count)| format!("{count} {name}")).collect();
    if words.is_empty() { "0".to_owned() } else { words.join(", ") }
}
