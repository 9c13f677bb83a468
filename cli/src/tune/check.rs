//! `leasehold tune check`: predictions beside measurements, as a table.

use std::{path::PathBuf, process::ExitCode};

use leasehold::ConfigError;
use leasehold_tuning::{Report, ServerProfile, Workload, simulate};
use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::Value;

use super::{
    figures::{Figure, PREDICTED, Spread},
    fleet::Run,
    input::Source,
    measure::{Samples, measure},
    run::own_servers,
};
use crate::{Failure, outcome::told_with, print};

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
/// workload and repetition. With more than one the median counts, and the smallest and the largest are shown. Exits with 1 if a
/// figure lies further away from its prediction than --within allows.
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
    /// How often each workload runs
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
    #[serde(serialize_with = "in_seconds")]
    profile: ServerProfile,
    predicted: Report,
    measured: Vec<Report>,
}

/// Writes a profile, whose times are microseconds, in seconds.
fn in_seconds<S: Serializer>(profile: &ServerProfile, to: S) -> Result<S::Ok, S::Error> {
    let fields = serde_json::to_value(profile).map_err(S::Error::custom)?;
    let seconds = |time: &Value| time.as_f64().map(|micros| micros / 1e6);
    let scaled = fields.as_object().into_iter().flatten().map(|(name, time)| match (name.as_str(), time) {
        // It is the share of a core.
        ("idle", share) => (name.clone(), share.clone()),
        (name, Value::Array(times)) => (format!("{name}_seconds"), times.iter().map(seconds).collect()),
        (name, time) => (format!("{name}_seconds"), seconds(time).into()),
    });
    to.collect_map(scaled)
}

impl Checked {
    /// Returns a figure of all repetitions, of which there is one at least.
    fn measured(&self, figure: &Figure) -> Option<Spread> {
        Spread::of(self.measured.iter().map(figure.of))
    }
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
        checked.push(check(workload, source, options)?);
    }
    let mut differences =
        checked.iter().flat_map(|it| PREDICTED.iter().filter_map(|figure| difference(it, figure)));
    let misses = differences.any(|percent| percent.abs() > options.within);
    told_with(
        misses,
        match options.json {
            true => print::pretty_json(&checked),
            false => print::lines(&table(&checked, options.within)),
        },
    )
}

/// Measures the servers before and after each run of the workload, and predicts with the mean of all profiles: a machine that
/// has other work to do is not the same from one minute to the next.
fn check(workload: &Workload, source: &Source, options: &Options) -> Result<Checked, Failure> {
    let (servers, url) = own_servers(workload.nodes)?;
    let samples = if options.quick { Samples::QUICK } else { Samples::USUAL };
    let config = workload.config_on(&url, true)?;
    let profile = || actix::System::new().block_on(measure(&config, samples));
    let mut profiles = vec![profile()?];
    let mut runs = Vec::new();
    for _ in 0..options.repetitions {
        runs.push(Run { workload, source, set: &[], url: &url, servers: &servers }.report()?);
        profiles.push(profile()?);
    }
    let profile = mean(profiles);
    let predicted = simulate(workload, &profile)?;
    Ok(Checked { profile, predicted, measured: runs })
}

/// Returns the mean of profiles, one or more.
fn mean(mut profiles: Vec<ServerProfile>) -> ServerProfile {
    let count = profiles.len() as f64;
    let of = |work: fn(&ServerProfile) -> f64| profiles.iter().map(work).sum::<f64>() / count;
    let mut mean = ServerProfile::default();
    mean.call = of(|profile| profile.call);
    mean.wake = of(|profile| profile.wake);
    mean.granted = of(|profile| profile.granted);
    mean.refused = of(|profile| profile.refused);
    mean.queued = of(|profile| profile.queued);
    mean.taken_up = of(|profile| profile.taken_up);
    mean.released = of(|profile| profile.released);
    mean.handed_over = of(|profile| profile.handed_over);
    mean.handed_off = of(|profile| profile.handed_off);
    mean.renewed = of(|profile| profile.renewed);
    mean.idle = of(|profile| profile.idle);
    let mut joined = |values: fn(&mut ServerProfile) -> &mut Vec<f64>| {
        let mut all: Vec<_> =
            profiles.iter_mut().flat_map(|profile| std::mem::take(values(profile))).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    mean.round_trips = joined(|profile| &mut profile.round_trips);
    mean.warm_round_trips = joined(|profile| &mut profile.warm_round_trips);
    mean.late = joined(|profile| &mut profile.late);
    mean
}

/// Returns the difference of a prediction in percent of what was measured; `None` if neither is anything.
fn difference(checked: &Checked, figure: &Figure) -> Option<f64> {
    let (predicted, measured) = ((figure.of)(&checked.predicted), checked.measured(figure)?.median);
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
fn cell(checked: &Checked, figure: &Figure) -> String {
    let predicted = figure.show(&checked.predicted);
    let Some(Spread { smallest, median, largest }) = checked.measured(figure) else { return predicted };
    let median = figure.shown(median);
    match checked.measured.len() {
        1 => format!("{predicted} / {median}"),
        _ => format!("{predicted} / {median}, {} – {}", figure.shown(smallest), figure.shown(largest)),
    }
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
        let mean = mean(vec![first, second]);
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
