//! `leasehold tune`: predictions of how settings behave under a workload, and measurements beside them.

mod chart;
mod compare;
mod figures;
mod input;
mod measure;
mod own_server;
mod recommend;
mod replay;
mod run;
mod simulate;
mod svg;

use std::process::ExitCode;

use clap::Subcommand;
use leasehold_tuning::servers::worker;

use crate::Failure;

/// Predicts how settings behave under a workload, and measures it
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  leasehold tune simulate --workload sale.toml\n  leasehold tune recommend --workload sale.toml --for success"
)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Measure(measure::Options),
    Simulate(simulate::Options),
    Compare(compare::Options),
    Recommend(recommend::Options),
    Replay(replay::Options),
    Run(run::Options),
    /// One process of a run; told what to do on its standard input
    #[command(hide = true)]
    Worker,
}

pub(crate) fn run(options: Options) -> Result<ExitCode, Failure> {
    match options.command {
        Command::Measure(options) => measure::run(&options),
        Command::Simulate(options) => simulate::run(&options),
        Command::Compare(options) => compare::run(&options),
        Command::Recommend(options) => recommend::run(&options),
        Command::Replay(options) => replay::run(&options),
        Command::Run(options) => run::run(&options),
        Command::Worker => worker().map(|()| ExitCode::SUCCESS),
    }
}
