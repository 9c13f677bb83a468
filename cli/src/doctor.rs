//! `leasehold doctor`: the examination of a deployment, for people or as JSON, with an exit code for scripts.

use std::process::ExitCode;

use leasehold::doctor::{self, Diagnosis, Finding, Severity};
use serde::Serialize;

use crate::{Failure, settings::Source};

/// Examines the servers that the configuration leads to, and says what is wrong and what to do
///
/// Exits with 0 if nothing worse than a notice was found, with 1 if a warning or something critical was, and with 2 if the
/// configuration is wrong.
#[derive(clap::Args)]
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
    // The trial of a lock starts a manager, which takes an actix system.
    let diagnosis = actix::System::new().block_on(doctor::examine(&config))?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&Shown::from(&diagnosis))?);
    } else {
        print!("{diagnosis}");
    }
    let fails = diagnosis.worst() >= Some(options.fail_on.into());
    Ok(ExitCode::from(u8::from(fails)))
}

/// A diagnosis as JSON.
#[derive(Serialize)]
struct Shown<'a> {
    deployment: &'a str,
    servers: &'a [String],
    worst: Option<&'static str>,
    findings: Vec<ShownFinding<'a>>,
}

#[derive(Serialize)]
struct ShownFinding<'a> {
    severity: &'static str,
    check: &'static str,
    server: Option<&'a str>,
    found: &'a str,
    advice: &'a str,
}

impl<'a> From<&'a Diagnosis> for Shown<'a> {
    fn from(diagnosis: &'a Diagnosis) -> Self {
        Self {
            deployment: &diagnosis.deployment,
            servers: &diagnosis.servers,
            worst: diagnosis.worst().map(Severity::as_str),
            findings: diagnosis.findings.iter().map(ShownFinding::from).collect(),
        }
    }
}

impl<'a> From<&'a Finding> for ShownFinding<'a> {
    fn from(finding: &'a Finding) -> Self {
        let Finding { severity, check, server, found, advice, .. } = finding;
        Self { severity: severity.as_str(), check, server: server.as_deref(), found, advice }
    }
}
