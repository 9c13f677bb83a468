//! The table of the settings that were tried, best first.

use leasehold_tuning::shifting::{LoadOutcome, ShiftingLoad};
use serde::Serialize;

use crate::summary::{median, spread};

/// Said instead of a comparison.
const NOT_WHOLE: &str = "\nSome settings did not run, so nothing is compared.\n";

/// A setting, and how it did in each repetition, one or more.
#[derive(Serialize)]
pub(super) struct Tried {
    pub(super) setting: String,
    pub(super) runs: Vec<LoadOutcome>,
}

impl Tried {
    /// Returns a figure of the repetitions that have it.
    fn figures(&self, of: impl Fn(&LoadOutcome) -> Option<f64>) -> Vec<f64> {
        self.runs.iter().filter_map(of).collect()
    }

    /// Returns the median, and the range if there were repetitions that differ.
    fn cell(&self, of: impl Fn(&LoadOutcome) -> Option<f64>, unit: &str, digits: usize) -> String {
        let figures = self.figures(of);
        let (middle, (least, most)) = (median(&figures), spread(&figures));
        match format!("{middle:.digits$}{unit}") {
            _ if middle.is_nan() => "–".to_owned(),
            middle if least == most => middle,
            middle => format!("{middle} ({least:.digits$} – {most:.digits$})"),
        }
    }

    fn total(&self) -> f64 {
        median(&self.figures(|it| Some(it.total() as f64)))
    }

    /// Returns the 99th percentile of waits; not a number if nobody was served.
    fn p99(&self) -> f64 {
        median(&self.figures(|it| it.p99_seconds))
    }
}

fn millis(seconds: Option<f64>) -> Option<f64> {
    seconds.map(|seconds| seconds * 1e3)
}

/// Returns the table in Markdown, and a line that compares the best tuner with the best fixed setting, unless some did not run.
pub(super) fn table(load: &ShiftingLoad, tried: &[Tried], is_whole: bool) -> String {
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
        if is_whole { verdict(&order) } else { Some(NOT_WHOLE.to_owned()) }.unwrap_or_default()
    )
}

fn row(tried: &Tried) -> Vec<String> {
    let phase = |phase: usize| {
        let in_time = tried.cell(|it| Some(it.in_time[phase] as f64), "", 0);
        format!("{in_time}, {}", tried.cell(|it| millis(it.p90_seconds[phase]), " ms", 0))
    };
    let mut row = vec![
        tried.setting.clone(),
        tried.cell(|it| Some(it.total() as f64), "", 0),
        tried.cell(|it| millis(it.p99_seconds), " ms", 0),
    ];
    row.extend((0..4).map(phase));
    row.push(tried.cell(|it| Some(it.changes_per_minute), "", 1));
    row
}

/// Compares the best tuner with the best fixed setting, and with the waits of all of them; `None` if one of them did not run, or
/// has served nobody.
fn verdict(order: &[&Tried]) -> Option<String> {
    let is_tuner = |it: &&&Tried| it.setting.starts_with("tuner");
    let tuner = order.iter().find(is_tuner)?;
    let fixed = order.iter().find(|it| !is_tuner(it)).filter(|it| it.total() > 0.0)?;
    if tuner.p99().is_nan() {
        return None;
    }
    let shorter = order.iter().filter(|it| !is_tuner(it) && it.p99() < tuner.p99()).count();
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

    fn tried(setting: &str, in_time: &[usize], p99: f64) -> Tried {
        let outcome = |it: &usize| LoadOutcome {
            in_time: [*it, 1, 0, 0],
            p99_seconds: Some(p99 / 1e3),
            p90_seconds: [Some(0.005), Some(0.006), Some(0.007), None],
            changes_per_minute: 1.5,
        };
        Tried { setting: setting.to_owned(), runs: in_time.iter().map(outcome).collect() }
    }

    #[test]
    fn the_table_has_the_best_first_with_the_median_and_the_range() {
        let all = [
            tried("800ms, 4", &[99], 800.0),
            tried("4s, 1", &[9], 90.0),
            tried("tuner", &[90, 119, 200], 2_000.0),
        ];
        let shown = table(&ShiftingLoad { phases: 1.0, times: 1.0 }, &all, true);
        let lines: Vec<_> = shown.lines().collect();
        assert!(lines[0].starts_with("served in time (idle 2400 ms, sale 800 ms,"), "{shown}");
        assert_eq!(
            lines[2],
            "| setting | in all | p99 of all | idle | sale | recovery | slow server | changes a minute |"
        );
        assert_eq!(
            lines[4],
            "| tuner | 120 (91 – 201) | 2000 ms | 119 (90 – 200), 5 ms | 1, 6 ms | 0, 7 ms | 0, – | 1.5 |"
        );
        assert!(lines[5].starts_with("| 800ms, 4 | 100 | 800 ms | 99, 5 ms |"), "{shown}");
        assert_eq!(
            lines[8],
            "tuner: +20.0 % in time compared with the best fixed setting, 800ms, 4; 2 fixed settings have a shorter p99"
        );
    }

    #[test]
    fn a_setting_that_serves_nobody_has_no_shorter_waits() {
        let nobody = || {
            let outcome = LoadOutcome {
                in_time: [0; 4],
                p99_seconds: None,
                p90_seconds: [None; 4],
                changes_per_minute: 0.0,
            };
            Tried { setting: "400ms, 1".to_owned(), runs: vec![outcome] }
        };
        let load = ShiftingLoad { phases: 1.0, times: 1.0 };
        let shown = table(&load, &[tried("tuner", &[9], 3.0), tried("4s, 1", &[4], 90.0), nobody()], true);
        assert!(
            shown.ends_with("best fixed setting, 4s, 1; 0 fixed settings have a shorter p99\n"),
            "{shown}"
        );
        assert!(shown.contains("| 400ms, 1 | 0 | – | 0, – |"), "{shown}");
        let shown = table(&load, &[tried("tuner", &[9], 3.0), nobody()], true);
        assert!(!shown.contains("compared with"), "{shown}");
        let shown = table(&load, &[tried("tuner", &[9], 3.0), tried("4s, 1", &[4], 90.0)], false);
        assert!(shown.ends_with("did not run, so nothing is compared.\n"), "{shown}");
    }

    #[test]
    fn without_a_fixed_setting_nothing_is_compared() {
        let shown = table(&ShiftingLoad { phases: 1.0, times: 1.0 }, &[tried("tuner", &[1, 2], 3.0)], true);
        assert_eq!(shown.lines().count(), 5, "{shown}");
        assert!(shown.contains("(2 – 3) | 3 ms |"), "{shown}");
    }
}
