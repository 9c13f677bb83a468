//! `leasehold tune measure`: the profile of a real server, for simulations.

use std::{path::PathBuf, process::ExitCode};

use leasehold_tuning::servers::{Samples, addresses, measure};

use super::{
    figures::time,
    input::{check_writable, write},
};
use crate::{Failure, print, settings};

/// Measures a server for about ten seconds: round trips, and its processor time for each kind of command
///
/// It takes locks below a prefix of its own, one after the other, and releases them. They end within a minute in any case.
/// Other load on the server makes the figures too large.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  leasehold tune measure --store redis://127.0.0.1:6379")]
pub(crate) struct Options {
    #[command(flatten)]
    source: settings::Source,
    /// Write the profile to this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Take fewer samples: about a second, for a rough profile
    #[arg(long)]
    quick: bool,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let config = options.source.config()?;
    addresses(config.store.url.reveal()).map_err(|error| format!("--store: {error}"))?;
    check_writable(options.output.as_ref())?;
    let samples = if options.quick { Samples::QUICK } else { Samples::USUAL };
    let profile = actix::System::new().block_on(measure(&config, samples))?;
    let text = profile.to_toml();
    match &options.output {
        Some(file) => write(file, &text)?,
        None => print::lines(&text)?,
    }
    let middle = profile.round_trips[profile.round_trips.len() / 2];
    eprintln!(
        "round trip {} in the median; the server takes {} for an acquisition and {} for a release",
        time(middle),
        time(profile.wake + profile.call + profile.granted),
        time(profile.wake + profile.call + profile.released),
    );
    Ok(ExitCode::SUCCESS)
}
