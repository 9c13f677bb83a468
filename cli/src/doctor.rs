//! `leasehold doctor`: the examination of a deployment, for people or as JSON, with an exit code for scripts.

use std::process::ExitCode;

use leasehold_doctor::{Diagnosis, Severity};
use serde::Serialize;

use crate::{
    Failure,
    outcome::told_with,
    print,
    settings::{self, Source},
};

/// Examines the servers that the configuration leads to, and says what is wrong and what to do
///
/// Exits with 0 if nothing worse than a notice was found, with 1 if a warning or something critical was, and with 2 if the
/// configuration is wrong.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  leasehold doctor\n  leasehold doctor --store redis://127.0.0.1:6379 --json"
)]
pub(crate) struct Options {
    #[command(flatten)]
    source: Source,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Exit with 1 only from this severity on
    #[arg(long, value_name = "SEVERITY", default_value = "warning")]
    fail_on: FailOn,
}

/// The least severity that makes the command fail.
#[derive(Clone, Copy, clap::ValueEnum)]
enum FailOn {
    Notice,
    Warning,
    Critical,
}

impl From<FailOn> for Severity {
    fn from(least: FailOn) -> Self {
        match least {
            FailOn::Notice => Self::Notice,
            FailOn::Warning => Self::Warning,
            FailOn::Critical => Self::Critical,
        }
    }
}

pub(crate) fn run(options: Options) -> Result<ExitCode, Failure> {
    let config = options.source.config()?;
    let diagnosis = actix::System::new().block_on(leasehold_doctor::examine(&config))?;
    let worst = diagnosis.worst();
    told_with(
        worst >= Some(options.fail_on.into()),
        match options.json {
            true => {
                print::pretty_json(&Shown { worst, configuration: config.sources(), diagnosis: &diagnosis })
            }
            false => print::lines(&format!("configured by: {}\n{diagnosis}", settings::in_words(&config))),
        },
    )
}

/// A diagnosis as JSON.
#[derive(Serialize)]
struct Shown<'a> {
    worst: Option<Severity>,
    /// The sources of the configuration; none of them means the defaults.
    configuration: &'a [String],
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
}
