//! `leasehold tune simulate`: the prediction of how a workload runs.

use std::{path::PathBuf, process::ExitCode};

use leasehold_tuning::{Report, simulate};

use super::{
    chart::chart,
    figures::table,
    input::{Profile, SettingChanges, check_writable, write},
    svg::picture,
};
use crate::{Failure, print};

/// Predicts how a workload runs: the real lock manager in virtual time, with a server as it was measured
#[derive(clap::Args)]
#[command(after_help = "Example:\n  leasehold tune simulate --workload sale.toml --set lease.ttl=10s")]
pub(crate) struct Options {
    /// The workload, with the settings that are tried on it
    #[arg(long, value_name = "FILE")]
    workload: PathBuf,
    #[command(flatten)]
    changes: SettingChanges,
    #[command(flatten)]
    profile: Profile,
    #[command(flatten)]
    shown: ReportShown,
}

/// The form in which a report is shown.
#[derive(clap::Args)]
pub(crate) struct ReportShown {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Draw the waits as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let workload = options.changes.read(&options.workload)?;
    options.shown.check()?;
    let report = simulate(&workload, &options.profile.read()?)?;
    options.shown.show(&[&report])?;
    Ok(ExitCode::SUCCESS)
}

impl ReportShown {
    /// Fails if the picture cannot be written.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        check_writable(self.svg.as_ref())
    }

    /// Shows reports beside each other.
    pub(crate) fn show(&self, reports: &[&Report]) -> Result<(), Failure> {
        if let Some(file) = &self.svg {
            write(file, &picture(reports))?;
        }
        if self.json {
            return match reports {
                [one] => print::pretty_json(one),
                several => print::pretty_json(several),
            };
        }
        print::lines(&table(reports))?;
        reports.iter().try_for_each(|report| print::lines(&format!("\n{}", chart(report))))
    }
}
