//! `leasehold tune check`: predictions beside measurements, as a table.

use std::{path::PathBuf, process::ExitCode};

use leasehold::{
    ConfigError,
    tuning::{Report, ServerProfile, Workload, simulate},
};
use serde::Serialize;

use super::{
    figures::{Figure, PREDICTED},
    fleet::measured,
    input::Source,
    measure::{Samples, measure},
    run::own_servers,
};
use crate::Failure;

/// The workloads that come with the command.
const INCLUDED: [&str; 9] = [
    include_str!("../../workloads/flash-sale.toml"),
    include_str!("../../workloads/nightly-job.toml"),
    include_str!("../../workloads/uncontended.toml"),
    include_str!("../../workloads/moderate.toml"),
    include_str!("../../workloads/heavy.toml"),
    include_str!("../../workloads/plain.toml"),
    include_str!("../../workloads/plain-long-pauses.toml"),
    include_str!("../../workloads/quorum.toml"),
    include_str!("../../workloads/zipf.toml"),
];

/// Predicts workloads, runs them on servers of our own, and shows how well the predictions hold
///
/// Servers and processes are started on this machine, so redis-server must be installed. It takes about 30 seconds for each
/// workload. Exits with 1 if a figure lies further away from its prediction than --within allows.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  leasehold tune check")]
pub(crate) struct Options {
    /// The workloads [default: those that come with the command]
    #[arg(value_name = "FILE")]
    workloads: Vec<PathBuf>,
    /// Only workloads with this in their name
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// The greatest difference that is a hit, in percent of what was measured
    #[arg(long, value_name = "PERCENT", default_value_t = 15.0)]
    within: f64,
    /// Take fewer samples of the servers
    #[arg(long)]
    quick: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// A prediction and what was measured.
#[derive(Serialize)]
struct Checked {
    profile: ServerProfile,
    predicted: Report,
    measured: Report,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let sources: Vec<_> = match options.workloads.is_empty() {
        true => INCLUDED.iter().map(|text| Source::Text((*text).to_owned())).collect(),
        false => options.workloads.iter().cloned().map(Source::File).collect(),
    };
    let workloads = sources.into_iter().map(|source| Ok((source.read(&[])?, source)));
    let mut workloads = workloads.collect::<Result<Vec<_>, ConfigError>>()?;
    workloads.retain(|(workload, _)| options.only.as_ref().is_none_or(|only| workload.name.contains(only)));
    let mut checked = Vec::new();
    for (number, (workload, source)) in (1..).zip(&workloads) {
        eprintln!("{number} of {}: {}", workloads.len(), workload.name);
        checked.push(check(workload, source, options.quick)?);
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&checked)?);
    } else {
        print!("{}", table(&checked, options.within));
    }
    let missed = checked.iter().flat_map(|it| PREDICTED.iter().map(|figure| difference(it, figure)));
    Ok(ExitCode::from(u8::from(missed.flatten().any(|percent| percent.abs() > options.within))))
}

/// Measures the servers, runs the workload, measures the servers again, and predicts with the mean of the two: a machine that has
/// other work to do is not the same from one minute to the next.
fn check(workload: &Workload, source: &Source, quick: bool) -> Result<Checked, Failure> {
    let (_servers, url) = own_servers(workload.nodes)?;
    let samples = if quick { Samples::QUICK } else { Samples::USUAL };
    let config = workload.config_on(&url, true)?;
    let profile = || actix::System::new().block_on(measure(&config, samples));
    let before = profile()?;
    let measured = measured(workload, source, &[], &url)?;
    let profile = mean(before, profile()?);
    let predicted = simulate(workload, &profile)?;
    Ok(Checked { profile, predicted, measured })
}

/// Returns the mean of two profiles.
fn mean(mut first: ServerProfile, second: ServerProfile) -> ServerProfile {
    let works = [
        (&mut first.call, second.call),
        (&mut first.wake, second.wake),
        (&mut first.granted, second.granted),
        (&mut first.refused, second.refused),
        (&mut first.queued, second.queued),
        (&mut first.taken_up, second.taken_up),
        (&mut first.released, second.released),
        (&mut first.handed_over, second.handed_over),
        (&mut first.handed_off, second.handed_off),
        (&mut first.renewed, second.renewed),
        (&mut first.idle, second.idle),
    ];
    for (first, second) in works {
        *first = f64::midpoint(*first, second);
    }
    for (first, second) in [(&mut first.round_trips, second.round_trips), (&mut first.late, second.late)] {
        first.extend(second);
        first.sort_by(f64::total_cmp);
    }
    first
}

/// Returns the difference of a prediction in percent of what was measured; `None` if neither was anything.
fn difference(checked: &Checked, figure: &Figure) -> Option<f64> {
    let (predicted, measured) = ((figure.of)(&checked.predicted), (figure.of)(&checked.measured));
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
            let (predicted, measured) = (figure.show(&it.predicted), figure.show(&it.measured));
            let mark = if is_hit { "" } else { " ✗" };
            row.push(format!("{predicted} / {measured} ({difference:+.0} %){mark}"));
        }
        rows.push(row);
    }
    let lines: Vec<_> = rows.iter().map(|row| format!("| {} |\n", row.join(" | "))).collect();
    format!(
        "prediction / measurement (difference)\n\n{}\n{hits} of {all} figures within {within} %\n",
        lines.concat()
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_mean_of_two_profiles_is_a_profile_between_them() {
        let (mut first, mut second) = (ServerProfile::default(), ServerProfile::default());
        (first.call, second.call) = (4.0, 8.0);
        (first.late, second.late) = (vec![1.0, 3.0], vec![2.0, 9.0]);
        let mean = mean(first, second);
        mean.check().unwrap();
        assert_eq!((mean.call, mean.late), (6.0, vec![1.0, 2.0, 3.0, 9.0]));
    }

    #[test]
    fn all_workloads_that_come_with_the_command_are_valid_and_have_names_of_their_own() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/workloads");
        assert_eq!(fs::read_dir(folder).unwrap().count(), INCLUDED.len());
        let names = INCLUDED.map(|text| Workload::from_toml(text, &[]).unwrap().name);
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(different.len(), INCLUDED.len(), "{names:?}");
    }
}
