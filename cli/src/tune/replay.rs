//! `leasehold tune replay`: the requests that an application recorded, simulated with other settings.

use std::{fs, path::PathBuf, process::ExitCode};

use leasehold::ConfigError;
use leasehold_tuning::{Report, Workload, simulate};
use serde_json::{Value, json};

use super::{
    chart::chart,
    figures::{SPENT, beside},
    input::{Profile, SettingChanges, check_writable, write},
    svg::picture,
};
use crate::{Failure, print};

/// Simulates the requests that an application recorded, and shows how it goes beside how it went
#[derive(clap::Args)]
#[command(after_help = "Example:\n  leasehold tune replay monday.trace")]
pub(crate) struct Options {
    /// The trace, as the recorder of the library writes it
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// The settings that are tried, a config.toml; of [store] only the layout and the timeouts count [default: the defaults]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    changes: SettingChanges,
    #[command(flatten)]
    profile: Profile,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Draw the waits as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let config = match &options.config {
        Some(file) => fs::read_to_string(file)
            .map_err(|error| format!("cannot read the configuration {}: {error}", file.display()))?,
        None => String::new(),
    };
    let workload = Workload::from_trace(&options.trace, &config, &options.changes.texts()).map_err(
        |error| match error {
            // The trace is the only file that it reads.
            ConfigError::Io { path, source } => {
                format!("cannot read the trace {}: {source}", path.display()).into()
            }
            error => Failure::from(error),
        },
    )?;
    check_writable(options.svg.as_ref())?;
    let mut replayed = simulate(&workload, &options.profile.read()?)?;
    let recorded = workload.recorded().map(|recorded| named(recorded, "recorded"));
    if recorded.is_some() {
        replayed = named(replayed, "replayed");
    }
    if let Some(file) = &options.svg {
        let both: Vec<&Report> = recorded.iter().chain([&replayed]).collect();
        write(file, &picture(&both))?;
    }
    if options.json {
        let recorded = recorded.as_ref().map(without_spent).transpose()?;
        print::pretty_json(&json!({ "recorded": recorded, "replayed": replayed }))?;
        return Ok(ExitCode::SUCCESS);
    }
    print::lines(&beside(recorded.as_ref(), &replayed))?;
    for report in recorded.iter().chain([&replayed]) {
        print::lines(&format!("\n{}", chart(report)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn named(report: Report, name: &str) -> Report {
    let mut report = report;
    report.name = name.to_owned();
    report
}

/// Returns what a trace can tell: nothing of servers, nor of who was served alike.
fn without_spent(report: &Report) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(report)?;
    if let Value::Object(fields) = &mut value {
        fields.retain(|field, _| !SPENT.contains(&field.as_str()));
    }
    Ok(value)
}
