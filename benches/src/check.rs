//! `leasehold-bench check`: predictions of `leasehold tune simulate` beside measurements, as a table.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use leasehold::{ConfigError, text::rough};
use leasehold_tuning::{
    Report, ServerProfile, Workload,
    servers::{Run, Samples, measure},
    simulate,
};
use serde::Serialize;

use crate::{
    Failure, WORKLOAD_WORKER,
    server::{Server, url_of},
    summary::{median, spread},
};

/// The folder of the workloads that come with the command `leasehold`.
const INCLUDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/workloads");

/// The figures that a prediction has to hit: the name, the figure, and how it is shown.
const PREDICTED: [PredictedFigure; 5] = [
    PredictedFigure {
        name: "success rate",
        of: |report| report.success_rate,
        shown: |it| format!("{:.1} %", it * 100.0),
    },
    PredictedFigure { name: "wait p50", of: |report| report.waited.p50, shown: time },
    PredictedFigure { name: "wait p99", of: |report| report.waited.p99, shown: time },
    PredictedFigure {
        name: "commands an acquisition",
        of: |report| report.commands,
        shown: |it| format!("{it:.3}"),
    },
    PredictedFigure { name: "server time an acquisition", of: |report| report.server_time, shown: time },
];

/// A figure of a report.
struct PredictedFigure {
    name: &'static str,
    of: fn(&Report) -> f64,
    shown: fn(f64) -> String,
}

/// Predicts workloads, runs them on servers of our own, and shows how well the predictions hold
///
/// Servers and processes are started on this machine, so redis-server must be installed. It takes about 30 seconds for each
/// workload and repetition. With more than one the median counts, and the smallest and the largest are shown. Exits with 1 if a
/// figure lies further away from its prediction than --within allows.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The workloads [default: those in cli/workloads]
    #[arg(value_name = "FILE")]
    workloads: Vec<PathBuf>,
    /// Only workloads with this in their name
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// The greatest difference that is a hit, in percent of what was measured
    #[arg(long, value_name = "PERCENT", default_value_t = 15.0)]
    within: f64,
    /// The number of runs of each workload
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    repetitions: u32,
    /// Take fewer samples of the servers
    #[arg(long)]
    quick: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// A prediction and what was measured, in each repetition.
#[derive(Serialize)]
struct Checked {
    profile: ServerProfile,
    predicted: Report,
    measured: Vec<Report>,
}

impl Checked {
    /// Returns a figure of all repetitions, of which there is one at least.
    fn measured(&self, figure: &PredictedFigure) -> Vec<f64> {
        self.measured.iter().map(figure.of).collect()
    }
}

/// Answers whether all predictions come near enough.
pub(crate) fn run(options: &Options) -> Result<bool, Failure> {
    let files = if options.workloads.is_empty() { included()? } else { options.workloads.clone() };
    let workloads = files.into_iter().map(|file| Ok((Workload::from_file(&file, &[])?, file)));
    let mut workloads = workloads.collect::<Result<Vec<_>, ConfigError>>()?;
    workloads.retain(|(workload, _)| options.only.as_ref().is_none_or(|only| workload.name.contains(only)));
    let mut checked = Vec::new();
    for (number, (workload, file)) in (1..).zip(&workloads) {
        eprintln!("{number} of {}: {}", workloads.len(), workload.name);
        checked.push(check(workload, file, options)?);
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&checked)?);
    } else {
        println!("{}", table(&checked, options.within));
    }
    let mut differences =
        checked.iter().flat_map(|it| PREDICTED.iter().filter_map(|figure| difference(it, figure)));
    Ok(differences.all(|percent| percent.abs() <= options.within))
}

/// Returns the files of the workloads that come with the command, in the order of their names.
fn included() -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(INCLUDED)?.map(|entry| Ok(entry?.path()));
    let mut files = entries.collect::<Result<Vec<_>, std::io::Error>>()?;
    files.sort();
    Ok(files)
}

/// Measures the servers before and after each run of the workload, and predicts with the mean of all profiles: a machine that
/// has other work to do is not the same from one minute to the next.
fn check(workload: &Workload, file: &Path, options: &Options) -> Result<Checked, Failure> {
    let servers = (0..workload.nodes).map(|_| Server::start()).collect::<Result<Vec<_>, _>>()?;
    let url = url_of(&servers);
    let samples = if options.quick { Samples::QUICK } else { Samples::USUAL };
    let config = workload.config_on(&url, true)?;
    let profile = || actix::System::new().block_on(measure(&config, samples));
    let mut profiles = vec![profile()?];
    let mut runs = Vec::new();
    let processes: Vec<_> = servers.iter().map(Server::process).collect();
    let run = Run { workload, file, set: &[], url: &url, servers: &processes, worker: &[WORKLOAD_WORKER] };
    for _ in 0..options.repetitions {
        runs.push(run.report()?);
        profiles.push(profile()?);
    }
    let profile = ServerProfile::mean(&profiles);
    let predicted = simulate(workload, &profile)?;
    Ok(Checked { profile, predicted, measured: runs })
}

/// Returns the difference of a prediction in percent of what was measured; `None` if neither is anything.
fn difference(checked: &Checked, figure: &PredictedFigure) -> Option<f64> {
    let (predicted, measured) = ((figure.of)(&checked.predicted), median(&checked.measured(figure)));
    match (predicted == measured, measured == 0.0) {
        (true, true) => None,
        (_, true) => Some(f64::INFINITY),
        _ => Some((predicted / measured - 1.0) * 100.0),
    }
}

/// Returns the table in Markdown: for each figure the prediction, what was measured, and the difference.
fn table(checked: &[Checked], within: f64) -> String {
    let heads = PREDICTED.iter().map(|figure| figure.name.to_owned());
    let mut rows: Vec<Vec<String>> = vec![["workload".to_owned()].into_iter().chain(heads).collect()];
    rows.push(vec!["---".to_owned(); rows[0].len()]);
    let (mut hits, mut all) = (0, 0);
    for it in checked {
        let mut row = vec![it.predicted.name.clone()];
        for figure in &PREDICTED {
            let difference = difference(it, figure).unwrap_or(0.0);
            let is_hit = difference.abs() <= within;
            hits += u32::from(is_hit);
            all += 1;
            let mark = if is_hit { "" } else { " ✗" };
            row.push(format!("{} ({difference:+.0} %){mark}", cell(it, figure)));
        }
        rows.push(row);
    }
    let lines: Vec<_> = rows.iter().map(|row| format!("| {} |\n", row.join(" | "))).collect();
    format!(
        "prediction / measurement (difference)\n\n{}\n{hits} of {all} figures within {within} %\n",
        lines.concat()
    )
}

/// Returns the prediction and what was measured, with its range if there were repetitions.
fn cell(checked: &Checked, figure: &PredictedFigure) -> String {
    let (shown, measured) = (figure.shown, checked.measured(figure));
    let both = format!("{} / {}", shown((figure.of)(&checked.predicted)), shown(median(&measured)));
    match (&measured[..], spread(&measured)) {
        ([_], _) => both,
        (_, (least, most)) => format!("{both}, {} – {}", shown(least), shown(most)),
    }
}

/// Formats microseconds.
fn time(micros: f64) -> String {
    rough(Duration::from_secs_f64(micros / 1e6)).to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn all_workloads_that_come_with_the_command_are_valid_and_have_names_of_their_own() {
        let files = included().unwrap();
        let names: BTreeSet<_> =
            files.iter().map(|file| Workload::from_file(file, &[]).unwrap().name).collect();
        assert_eq!((names.len(), files.len()), (9, 9), "{names:?}");
    }
}
