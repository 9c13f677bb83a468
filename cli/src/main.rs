//! The command `leasehold`: it examines a deployment of locks, and predicts how settings behave under a workload.
//!
//! # Layout
//! [`settings`] is where the configuration comes from, which all commands share. [`doctor`] prints an examination, and
//! [`tune`] everything about choosing settings. [`top`] is a live view. What they know of locks they know from the public
//! interface of the library.

mod doctor;
mod settings;
mod top;
mod tune;

use std::{error::Error, process::ExitCode};

use clap::{Parser, Subcommand};

/// The reason why a command does not do its work.
type Failure = Box<dyn Error + Send + Sync>;

/// Examines deployments of locks, and chooses settings for them.
#[derive(Parser)]
#[command(name = "leasehold", version, about)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Doctor(doctor::Options),
    Top(top::Options),
    Tune(tune::Options),
}

/// Exit code of a command that could not do its work; clap has the same for arguments that it does not understand.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let Options { command } = Options::parse();
    let done = match command {
        Command::Doctor(options) => doctor::run(options),
        Command::Top(options) => top::run(&options),
        Command::Tune(options) => tune::run(options),
    };
    done.unwrap_or_else(|failure| {
        eprintln!("leasehold: {}", in_one_line(&*failure));
        ExitCode::from(FAILED)
    })
}

/// Formats an error with each of its sources that it does not mention itself.
fn in_one_line(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let text = error.to_string();
        if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
        source = error.source();
    }
    line
}
