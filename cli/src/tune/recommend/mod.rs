//! `leasehold tune recommend`: a search for the settings that serve a goal best.

mod budget;
mod picture;
mod shown;
mod watch;

use std::{path::PathBuf, process::ExitCode};

use leasehold_tuning::{Goal, Limit, Search, recommend};

use self::{
    budget::SearchBudget,
    shown::{fragment, text},
    watch::SearchWatch,
};
use super::input::{Profile, SettingChanges, check_writable, write};
use crate::{Failure, outcome::told_with, print};

/// The help behind the options. As a part of the description it would have clap spread the options over two screens.
const MORE: &str = "\
Prints the best setting as a fragment of config.toml, what is predicted for it, for the default and for the presets, what it \
costs to be wrong, and what cannot be had together. Ctrl-C ends the search with the best so far; a second one ends the \
command. Exits with 1 if no setting was found that keeps all limits; then the nearest one is shown.

Example:
  leasehold tune recommend --workload sale.toml --for success --limit 'p99 wait <= 60ms'";

/// Searches the settings for a workload, in simulations: pauses, attempts, jitter, wait, queue, TTL and hand-overs
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Options {
    /// The workload; its own settings are one of those that are compared
    #[arg(long, value_name = "FILE")]
    workload: PathBuf,
    #[command(flatten)]
    changes: SettingChanges,
    #[command(flatten)]
    profile: Profile,
    /// What shall be as good as it can be: success, latency (the 99th percentile of waits), or server-load (the server's time
    /// for an acquisition)
    #[arg(long = "for", value_name = "GOAL")]
    goal: Goal,
    /// What has to be kept, with each seed; may be given several times: 'p99 wait <= 200ms', 'success >= 95%'. Others are p50
    /// wait, commands, server time and wasted. Without a limit of success at least as many requests have to be served as
    /// with the settings of the workload
    #[arg(long = "limit", value_name = "LIMIT")]
    limits: Vec<Limit>,
    /// The number of simulations, 100 or more, or a time such as 30s or 5m, with which a seed does not repeat
    #[arg(long, default_value = "1000")]
    budget: SearchBudget,
    /// The seed of the search: the same one leads to the same answer
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the setting to this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Draw what cannot be had together as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let workload = options.changes.read(&options.workload)?;
    let profile = options.profile.read()?;
    check_writable(options.output.as_ref())?;
    check_writable(options.svg.as_ref())?;
    let mut search = Search::new(options.goal);
    search.limits.clone_from(&options.limits);
    search.seed = options.seed;
    search.simulations = options.budget.simulations(&workload, &profile)?;
    let mut watch = SearchWatch::start(options.budget.time(), search.simulations)?;
    let found = recommend(&workload, &profile, &search, |progress| watch.see(progress))?;
    watch.end();
    if let Some(file) = &options.output {
        write(file, &fragment(&found))?;
    }
    if let Some(file) = &options.svg {
        write(file, &picture::svg(&workload.name, &found))?;
    }
    told_with(
        !found.is_within_limits,
        match options.json {
            true => print::pretty_json(&found),
            false => print::lines(&text(&workload.name, options.goal, &found)),
        },
    )
}
