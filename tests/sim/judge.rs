//! Judge of written histories: gives each to an external checker, and says whether it is that of a lock with fences. A history with every
//! request also has to have a reason for each refusal.
//!
//! `cargo run --release -p leasehold-sim --bin judge -- DIR` reads all files `NAME-NUMBER.jsonl` of a folder. Its table counts as left out
//! the leases that are in no history: those around the time in which the store may forget, those without a fence, and those that were over
//! when their holder heard of them and that nobody could re-enter.

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use leasehold_sim::files::judge;

/// Gives histories of leases to a linearizability checker.
#[derive(Parser)]
#[command(name = "judge")]
struct Arguments {
    /// Files of histories (JSON lines), or folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match judge(&Arguments::parse().paths) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("judge: {error}");
            ExitCode::FAILURE
        }
    }
}
