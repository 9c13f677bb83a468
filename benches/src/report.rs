//! Tables of what was found, in Markdown that is aligned for the eye as well.

use crate::summary::{Row, Summary, median, spread};

const TURNS: [&str; 11] = [
    "",
    "turns/s (min–max)",
    "× raw",
    "p50 µs",
    "p99 µs",
    "longest ms",
    "commands/turn",
    "client µs/turn",
    "server µs/turn",
    "turns of a caller, × mean",
    "longest wait ms",
];

const RENEWED: [&str; 5] = ["", "lost", "KiB/lease", "client cores", "server cores"];

/// The rate after the start, and the time of the processors in percent of one.
const PROCESSORS: [&str; 7] = [
    "",
    "first ½ s turns/s (min–max)",
    "manager %",
    "callers %",
    "other threads %",
    "redis-server %",
    "idle cores",
];

/// A workload as a headline and two tables: results, and processors.
pub(crate) fn table(summary: &Summary) -> String {
    let head = if summary.renewed { RENEWED.as_slice() } else { &TURNS };
    let line = if summary.renewed { renewed } else { turns };
    let mut cells = vec![head.iter().map(ToString::to_string).collect()];
    cells.extend(summary.lockers.iter().map(|row| line(summary, row)));
    let mut text = format!("### {}: {}\n\n{}", summary.name, summary.about, aligned(&cells));
    let mut cells = vec![PROCESSORS.map(ToOwned::to_owned).to_vec()];
    cells.extend(summary.lockers.iter().map(processors));
    text += &format!("\n{}", aligned(&cells));
    for Row { locker, dropped, left, .. } in summary.lockers.iter().filter(|row| row.dropped + row.left > 0) {
        let dropped = grouped(dropped.to_string());
        text +=
            &format!("\n{}: {dropped} acquisitions dropped, {left} resources stayed locked\n", locker.name());
    }
    for row in summary.lockers.iter().filter(|row| row.violations + row.failures > 0) {
        let Row { locker, violations, failures, first_failure, .. } = row;
        let first = first_failure.as_deref().unwrap_or("-");
        let name = locker.name();
        text +=
            &format!("\n{name}: {violations} violations of exclusion, {failures} failures, first: {first}\n");
    }
    text
}

fn turns(summary: &Summary, row: &Row) -> Vec<String> {
    let fewest = number(median(&row.fewest));
    vec![
        row.locker.name().to_owned(),
        with_spread(&row.turns_a_second),
        optional(summary.ratio_to_raw(row)),
        number(median(&row.p50_us)),
        number(median(&row.p99_us)),
        number(median(&row.longest_us) / 1e3),
        optional(row.commands),
        number(median(&row.client_us)),
        number(median(&row.server_us)),
        format!("{fewest}–{}", number(median(&row.most))),
        number(median(&row.longest_wait_us) / 1e3),
    ]
}

fn renewed(_: &Summary, row: &Row) -> Vec<String> {
    vec![
        row.locker.name().to_owned(),
        row.lost.to_string(),
        number(median(&row.bytes_a_lease) / 1024.0),
        format!("{:.4}", median(&row.client_cores)),
        format!("{:.4}", median(&row.server_cores)),
    ]
}

fn processors(row: &Row) -> Vec<String> {
    let percent = |cores: &[f64]| number(median(cores) * 100.0);
    vec![
        row.locker.name().to_owned(),
        with_spread(&row.first_turns_a_second),
        percent(&row.manager_cores),
        percent(&row.caller_cores),
        percent(&row.other_cores),
        percent(&row.server_cores),
        number(median(&row.idle_cores)),
    ]
}

/// The median, the least and the most; nothing if nothing was measured.
fn with_spread(figures: &[f64]) -> String {
    let (middle, (least, most)) = (median(figures), spread(figures));
    if middle.is_nan() {
        return number(middle);
    }
    format!("{} ({}–{})", number(middle), number(least), number(most))
}

fn optional(figure: Option<f64>) -> String {
    number(figure.unwrap_or(f64::NAN))
}

/// Three digits that count, or all of a whole number, with commas.
fn number(figure: f64) -> String {
    match figure {
        // For instance of what was shared out among no turns.
        _ if !figure.is_finite() => "-".to_owned(),
        _ if figure >= 100.0 => grouped(format!("{figure:.0}")),
        _ if figure >= 10.0 => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}

pub(crate) fn grouped(mut digits: String) -> String {
    let mut place = digits.len();
    while place > 3 {
        place -= 3;
        digits.insert(place, ',');
    }
    digits
}

pub(crate) fn aligned(cells: &[Vec<String>]) -> String {
    let columns = cells.first().map_or(0, Vec::len);
    let width = |column: usize| cells.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(|column| width(column).max(2)).collect();
    let line = |cells: &[String]| {
        let first = format!("| {:<1$} ", cells[0], widths[0]);
        let others = cells.iter().zip(&widths).skip(1).map(|(cell, width)| format!("| {cell:>width$} "));
        first + &others.collect::<String>() + "|\n"
    };
    let rule: String = widths
        .iter()
        .enumerate()
        .map(|(column, width)| match column {
            0 => format!("|{}", "-".repeat(width + 2)),
            _ => format!("|{}:", "-".repeat(width + 1)),
        })
        .collect();
    let body: String = cells.iter().skip(1).map(|cells| line(cells)).collect();
    format!("{}{rule}|\n{body}", line(&cells[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_count() {
        let shown = [1_234_567.8, 999.6, 12.34, 1.234, 0.0].map(number);
        assert_eq!(shown, ["1,234,568", "1,000", "12.3", "1.23", "0.00"]);
        assert_eq!(number(f64::NAN), "-");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let cells = [["", "a"], ["name", "1.00"]].map(|line| line.map(ToOwned::to_owned).to_vec());
        assert_eq!(aligned(&cells), "|      |    a |\n|------|-----:|\n| name | 1.00 |\n");
    }
}
