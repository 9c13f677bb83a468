//! The command `leasehold`: it examines a deployment of locks, runs commands under them, and predicts how settings behave.
//!
//! # Layout
//! [`settings`] is where the configuration comes from, which all commands share. [`doctor`] prints an examination, [`run`]
//! runs a command under a lock, and [`tune`] everything about choosing settings. What they know of locks they know from the
//! public interface of the library.

mod doctor;
mod run;
mod settings;
mod tune;

use std::{error::Error, process::ExitCode};

use clap::{Parser, Subcommand};

/// The reason why a command does not do its work.
type Failure = Box<dyn Error + Send + Sync>;

/// Examines deployments of locks, runs commands under them, and chooses settings.
#[derive(Parser)]
#[command(name = "leasehold", version, about)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Doctor(doctor::Options),
    Run(run::Options),
    Tune(tune::Options),
}

/// Exit code of a command that could not do its work; clap has the same for arguments that it does not understand.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let Options { command } = Options::try_parse().unwrap_or_else(run::refuse);
    let done = match command {
        Command::Doctor(options) => doctor::run(options),
        Command::Run(options) => run::run(options),
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
