//! The distribution of waits as a small chart for a terminal.

use std::fmt::Write;

use leasehold_tuning::Report;

use super::figures::{aligned, time};

/// The length of the longest bar, in characters.
const LENGTH: f64 = 40.0;
/// The largest number of bars.
const BARS: usize = 10;
/// The parts of a character, an eighth each.
const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Returns the chart: for each range of waits the share of the granted requests in it. Ranges double.
pub(crate) fn chart(report: &Report) -> String {
    let waits = &report.waited.percentiles;
    let (Some(least), Some(most)) = (waits.first(), waits.last()) else {
        return "no request was granted\n".to_owned();
    };
    let mut limits = vec![nice_below(least.max(1.0))];
    while limits.last().is_some_and(|limit| limit <= most) {
        let next = limits.last().map_or(1.0, |limit| limit * 2.0);
        limits.push(next);
    }
    let factor = 2.0_f64.powf((limits.len() as f64 / BARS as f64).ceil().max(1.0));
    let (mut rows, mut from) = (Vec::new(), limits[0]);
    while from <= *most {
        let to = from * factor;
        let share = waits.iter().filter(|wait| (from..to).contains(&wait.max(1.0))).count() as f64;
        let share = share / waits.len() as f64;
        rows.push(vec![
            format!("{} – {}", time(from), time(to)),
            format!("{:.0} %", share * 100.0),
            bar(share),
        ]);
        from = to;
    }
    let widest = rows.iter().map(|row| row[2].chars().count()).max().unwrap_or(0);
    // Bars begin at the left, also in a column that is aligned to the right.
    rows.iter_mut().for_each(|row| row[2] = format!("{:<widest$}", row[2]));
    let mut text = format!("waits of granted requests, {}\n", report.name);
    // Writing to a string cannot fail.
    let _ = write!(text, "{}", aligned(&rows));
    text
}

fn bar(share: f64) -> String {
    let eighths = (share * LENGTH * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

/// Returns the largest of 1, 2, 5, 10, 20, … that is not larger.
fn nice_below(number: f64) -> f64 {
    let ten = 10.0_f64.powf(number.log10().floor());
    let steps = [5.0, 2.0, 1.0].map(|step| step * ten);
    steps.into_iter().find(|step| *step <= number).unwrap_or(ten)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_eighths_and_limits_are_round() {
        assert_eq!([bar(0.0), bar(0.5 / LENGTH), bar(2.25 / LENGTH)], ["", "▌", "██▎"]);
        assert_eq!([1.0, 3.0, 60.0, 99.0, 100.0].map(nice_below), [1.0, 2.0, 50.0, 50.0, 100.0]);
    }
}
