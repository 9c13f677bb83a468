//! `leasehold tune compare`: two workloads, or one with two settings, beside each other.

use std::{path::PathBuf, process::ExitCode};

use leasehold_tuning::{Workload, simulate};

use super::{
    input::{Profile, SettingChanges},
    simulate::ReportShown,
};
use crate::Failure;

/// Predicts how two workloads run, and shows them beside each other
#[derive(clap::Args)]
#[command(after_help = "Example:\n  leasehold tune compare before.toml after.toml")]
pub(crate) struct Options {
    /// The first workload
    #[arg(value_name = "A.toml")]
    first: PathBuf,
    /// The second workload, which may be the same with --set
    #[arg(value_name = "B.toml")]
    second: PathBuf,
    /// Changes of the second workload
    #[command(flatten)]
    changes: SettingChanges,
    #[command(flatten)]
    profile: Profile,
    #[command(flatten)]
    shown: ReportShown,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let profile = options.profile.read()?;
    let set = options.changes.set();
    let first = Workload::from_file(&options.first, &[])?;
    let second = options.changes.read(&options.second)?;
    options.shown.check()?;
    let (first, mut second) = (simulate(&first, &profile)?, simulate(&second, &profile)?);
    if first.name == second.name {
        let set: Vec<_> = set.iter().map(|(key, value)| format!("{key}={value}")).collect();
        second.name =
            format!("{}, {}", second.name, if set.is_empty() { "again".to_owned() } else { set.join(", ") });
    }
    options.shown.show(&[&first, &second])?;
    Ok(ExitCode::SUCCESS)
}
