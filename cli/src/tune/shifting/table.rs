//! The table of the settings that were tried, best first.

use serde::Serialize;

use super::load::{Load, Outcome};

/// A setting, and how it did in each repetition, one or more.
#[derive(Serialize)]
pub(super) struct Tried {
    pub(super) setting: String,
    pub(super) runs: Vec<Outcome>,
}

impl Tried {
    /// Returns a figure of all repetitions: the smallest, the median, and the largest.
    fn figure(&self, of: impl Fn(&Outcome) -> f64) -> [f64; 3] {
        let mut values: Vec<_> = self.runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let (first, last) = (values.first().copied(), values.last().copied());
        let middle = |place: usize| values.get(place).copied().unwrap_or_default();
        let median = f64::midpoint(middle(values.len().saturating_sub(1) / 2), middle(values.len() / 2));
        [first.unwrap_or_default(), median, last.unwrap_or_default()]
    }

    /// Returns the median, and the range if there were repetitions that differ.
    fn cell(&self, of: impl Fn(&Outcome) -> f64, unit: &str, digits: usize) -> String {
        let [smallest, median, largest] = self.figure(of);
        let median = format!("{median:.digits$}{unit}");
        match smallest == largest {
            true => median,
            false => format!("{median} ({smallest:.digits$} – {largest:.digits$})"),
        }
    }

    fn total(&self) -> f64 {
        self.figure(|it| it.total() as f64)[1]
    }
}

/// Returns the table in Markdown, and a line that compares the best tuner with the best fixed setting.
pub(super) fn table(load: &Load, tried: &[Tried]) -> String {
    let mut order: Vec<&Tried> = tried.iter().collect();
    order.sort_by(|one, other| other.total().total_cmp(&one.total()));
    let phases = load.phases();
    let heads = ["setting".to_owned(), "in all".to_owned(), "p99 of all".to_owned()];
    let heads = heads.into_iter().chain(phases.iter().map(|phase| phase.name.to_owned()));
    let mut rows: Vec<Vec<String>> = vec![heads.chain(["changes a minute".to_owned()]).collect()];
    rows.push(vec!["---".to_owned(); rows[0].len()]);
    rows.extend(order.iter().map(|it| row(it)));
    let lines: String = rows.iter().map(|row| format!("| {} |\n", row.join(" | "))).collect();
    let useful: Vec<_> =
        phases.iter().map(|phase| format!("{} {} ms", phase.name, phase.useful.as_millis())).collect();
    format!(
        "served in time ({}), and the 90th percentile of the waits of those that were served; changes of each process\n\n{lines}{}",
        useful.join(", "),
        verdict(&order).unwrap_or_default()
    )
}

fn row(tried: &Tried) -> Vec<String> {
    let phase = |phase: usize| {
        let in_time = tried.cell(|it| it.in_time[phase] as f64, "", 0);
        format!("{in_time}, {}", tried.cell(|it| it.p90[phase] as f64, " ms", 0))
    };
    let mut row = vec![
        tried.setting.clone(),
        tried.cell(|it| it.total() as f64, "", 0),
        tried.cell(|it| it.p99 as f64, " ms", 0),
    ];
    row.extend((0..4).map(phase));
    row.push(tried.cell(|it| it.changes, "", 1));
    row
}

/// Compares the best tuner with the best fixed setting, and with the fixed setting of the shortest waits; `None` if one of them
/// did not run.
fn verdict(order: &[&Tried]) -> Option<String> {
    let is_tuner = |it: &&&Tried| it.setting.starts_with("tuner");
    let tuner = order.iter().find(is_tuner)?;
    let fixed = order.iter().find(|it| !is_tuner(it))?;
    let p99 = |it: &Tried| it.figure(|it| it.p99 as f64)[1];
    let shorter = order.iter().filter(|it| !is_tuner(it) && p99(it) < p99(tuner)).count();
    Some(format!(
        "\n{}: {:+.1} % in time compared with the best fixed setting, {}; {shorter} fixed settings have a shorter p99\n",
        tuner.setting,
        (tuner.total() / fixed.total() - 1.0) * 100.0,
        fixed.setting,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(setting: &str, in_time: &[usize], p99: u64) -> Tried {
        let outcome = |it: &usize| Outcome { in_time: [*it, 1, 0, 0], p99, p90: [5, 6, 7, 8], changes: 1.5 };
        Tried { setting: setting.to_owned(), runs: in_time.iter().map(outcome).collect() }
    }

    #[test]
    fn the_table_has_the_best_first_with_the_median_and_the_range() {
        let all =
            [tried("800ms, 4", &[99], 800), tried("4s, 1", &[9], 90), tried("tuner", &[90, 119, 200], 2_000)];
        let shown = table(&Load { phases: 1.0, times: 1.0 }, &all);
        let lines: Vec<_> = shown.lines().collect();
        assert!(lines[0].starts_with("served in time (idle 2400 ms, sale 800 ms,"), "{shown}");
        assert_eq!(
            lines[2],
            "| setting | in all | p99 of all | idle | sale | recovery | slow server | changes a minute |"
        );
        assert_eq!(
            lines[4],
            "| tuner | 120 (91 – 201) | 2000 ms | 119 (90 – 200), 5 ms | 1, 6 ms | 0, 7 ms | 0, 8 ms | 1.5 |"
        );
        assert!(lines[5].starts_with("| 800ms, 4 | 100 | 800 ms | 99, 5 ms |"), "{shown}");
        assert_eq!(
            lines[8],
            "tuner: +20.0 % in time compared with the best fixed setting, 800ms, 4; 2 fixed settings have a shorter p99"
        );
    }

    #[test]
    fn without_a_fixed_setting_nothing_is_compared() {
        let shown = table(&Load { phases: 1.0, times: 1.0 }, &[tried("tuner", &[1, 2], 3)]);
        assert_eq!(shown.lines().count(), 5, "{shown}");
        assert!(shown.contains("(2 – 3) | 3 ms |"), "{shown}");
    }
}
