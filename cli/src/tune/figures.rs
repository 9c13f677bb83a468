//! The figures of reports as rows of a table, one column for each report.

use std::fmt::Write;

use leasehold_tuning::Report;

/// A figure of a report.
struct TableFigure {
    name: &'static str,
    of: fn(&Report) -> f64,
    shown: fn(f64) -> String,
}

/// The figures that are shown, in their order.
const FIGURES: [TableFigure; 14] = [
    TableFigure { name: "success rate", of: |report| report.success_rate, shown: percent },
    TableFigure { name: "wait p50", of: |report| report.waited.p50, shown: time },
    TableFigure { name: "wait p99", of: |report| report.waited.p99, shown: time },
    TableFigure { name: "commands an acquisition", of: |report| report.commands, shown: number },
    TableFigure { name: "server time an acquisition", of: |report| report.server_time, shown: time },
    TableFigure { name: "requests", of: |report| report.requests as f64, shown: whole },
    TableFigure { name: "granted", of: |report| report.granted as f64, shown: whole },
    TableFigure { name: "wait mean", of: |report| report.waited.mean, shown: time },
    TableFigure { name: "wait longest", of: |report| report.waited.max, shown: time },
    TableFigure { name: "wait in vain p50", of: |report| report.waited_in_vain.p50, shown: time },
    TableFigure { name: "attempts an acquisition", of: |report| report.attempts, shown: number },
    TableFigure { name: "attempts wasted", of: |report| report.wasted, shown: percent },
    TableFigure { name: "server load, cores", of: |report| report.server_load, shown: number },
    TableFigure { name: "fairness (Jain)", of: |report| report.fairness, shown: number },
];

/// The fields of a report that a trace cannot fill, and the names of their figures in a table.
pub(crate) const SPENT: [&str; 6] =
    ["commands", "server_time_seconds", "server_load", "attempts", "wasted", "fairness"];
const NOT_RECORDED: [&str; 6] = [
    "commands an acquisition",
    "server time an acquisition",
    "server load, cores",
    "attempts an acquisition",
    "attempts wasted",
    "fairness (Jain)",
];

/// Returns the table of these reports. With two of them it also has the second in shares of the first.
pub(crate) fn table(reports: &[&Report]) -> String {
    aligned(&rows(reports))
}

fn rows(reports: &[&Report]) -> Vec<Vec<String>> {
    let mut rows = vec![heads(reports)];
    for figure in &FIGURES {
        let mut row = vec![figure.name.to_owned()];
        row.extend(reports.iter().map(|report| (figure.shown)((figure.of)(report))));
        if let [first, second] = reports {
            row.push(ratio((figure.of)(first), (figure.of)(second)));
        }
        rows.push(row);
    }
    let kinds: std::collections::BTreeSet<_> =
        reports.iter().flat_map(|report| report.others.keys()).collect();
    for kind in kinds {
        let count = |report: &&Report| report.others.get(kind).map_or(0, |count| *count).to_string();
        rows.push([format!("not granted: {kind}")].into_iter().chain(reports.iter().map(count)).collect());
    }
    rows
}

/// Returns the table of what was recorded and of what it comes to with other settings. What a trace does not tell is left empty.
pub(crate) fn beside(recorded: Option<&Report>, replayed: &Report) -> String {
    let Some(recorded) = recorded else { return table(&[replayed]) };
    let is_empty = |name: &str| NOT_RECORDED.contains(&name);
    let mut rows = rows(&[recorded, replayed]);
    for row in rows.iter_mut().filter(|row| is_empty(&row[0])) {
        row[1] = String::new();
        row.truncate(3);
    }
    aligned(&rows)
}

fn heads(reports: &[&Report]) -> Vec<String> {
    let mut heads = vec![String::new()];
    heads.extend(reports.iter().map(|report| report.name.clone()));
    if reports.len() == 2 {
        heads.push("ratio".to_owned());
    }
    heads
}

/// Returns rows as text whose columns stand below each other: the first to the left, the others to the right.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            // Writing to a string cannot fail.
            let _ = match column {
                0 => write!(line, "{cell:<width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn ratio(first: f64, second: f64) -> String {
    if first > 0.0 { format!("{:.2}", second / first) } else { String::new() }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn number(number: f64) -> String {
    format!("{number:.3}")
}

fn whole(number: f64) -> String {
    format!("{number:.0}")
}

/// Formats microseconds in the unit that suits them.
pub(crate) fn time(micros: f64) -> String {
    match micros {
        0.0..1_000.0 => format!("{micros:.0} µs"),
        1_000.0..10_000.0 => format!("{:.2} ms", micros / 1e3),
        10_000.0..1_000_000.0 => format!("{:.0} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_the_unit_that_suits_them() {
        let shown = [0.0, 999.0, 1_230.0, 45_600.0, 1_500_000.0].map(time);
        assert_eq!(shown, ["0 µs", "999 µs", "1.23 ms", "46 ms", "1.50 s"]);
    }

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [vec!["a", "1"], vec!["long", "µµµ"]];
        let rows = rows.map(|row| row.into_iter().map(str::to_owned).collect());
        assert_eq!(aligned(&rows), "a       1\nlong  µµµ\n");
    }
}
