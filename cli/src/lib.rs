//! The command `leasehold`: it shows and changes who holds what, runs commands under locks, examines a deployment of them,
//! and predicts how settings behave under a workload. It is a library only so that tests can give it arguments.
//!
//! # Layout
//! [`settings`] is where the configuration comes from, which all commands share. [`locks`], [`elections`], [`schedules`] and [`partitions`] are
//! for operators, by the lock manager of [`looking`]; [`top`] is a live view for them, and [`serve`] a page for the browser.
//! [`run`] runs a command under a lock, [`doctor`] prints an examination, and [`tune`] has everything about choosing settings.
//! [`guard`] ends what a command has started if it is killed, [`print`] is the output, [`outcome`] the exit codes and errors, [`pace`] how often keys are walked over, [`usage`] and
//! [`shell`] what clap knows of the command. What they know of locks they know from the public interface of the library.

mod doctor;
mod elections;
mod guard;
mod locks;
mod looking;
mod outcome;
mod pace;
mod partitions;
mod print;
mod run;
mod schedules;
mod serve;
mod settings;
mod shell;
mod top;
mod tune;
mod usage;

use std::{error::Error, ffi::OsString, process::ExitCode};

use clap::{CommandFactory, Parser, Subcommand};

/// The reason why a command does not do its work.
type Failure = Box<dyn Error + Send + Sync>;

/// Shows and changes locks, runs commands under them, examines their deployment, and chooses settings for them
///
/// Exits with 0 if it is done, with 1 for a certain no (nothing is held, nothing was found), with 2 if it failed or was not
/// understood, and with 3 if a change may have been made or not. The help of a command says what else it has.
#[derive(Parser)]
#[command(name = "leasehold", version, long_version = usage::VERSION.as_str())]
#[command(
    after_help = "Example:\n  leasehold ls --store redis://127.0.0.1:6379 orders/\n  leasehold show orders/42"
)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Locks(locks::Command),
    Elections(elections::Options),
    Schedules(schedules::Options),
    Partitions(partitions::Options),
    Doctor(doctor::Options),
    Run(run::Options),
    Top(top::Options),
    Serve(serve::Options),
    Tune(tune::Options),
    Completions(shell::Completions),
    Man(shell::Man),
}

/// Exit code of a command that could not do its work; clap has the same for arguments that it does not understand.
const FAILED: u8 = 2;

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    let Options { command } = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => return usage::tell(&error),
    };
    let done = match command {
        Command::Locks(command) => locks::run(&command),
        Command::Elections(options) => elections::run(&options),
        Command::Schedules(options) => schedules::run(&options),
        Command::Partitions(options) => partitions::run(&options),
        Command::Doctor(options) => doctor::run(options),
        Command::Run(options) => run::run(options),
        Command::Top(options) => top::run(&options),
        Command::Serve(options) => serve::run(options),
        Command::Tune(options) => tune::run(options),
        Command::Completions(options) => shell::completions(&options, Options::command()),
        Command::Man(options) => shell::man(&options, Options::command()),
    };
    done.unwrap_or_else(|failure| outcome::failed(&failure))
}

/// Reads arguments, without the name of the program in front, and does nothing else.
///
/// # Errors
/// The line that the command tells of arguments which it does not understand; empty if they ask for help or the version.
#[doc(hidden)]
pub fn understood(arguments: &[OsString]) -> Result<(), String> {
    let name = OsString::from("leasehold");
    match Options::try_parse_from([&name].into_iter().chain(arguments)) {
        Ok(_) => Ok(()),
        Err(error) if usage::is_asked_for(&error) => Err(String::new()),
        Err(error) => Err(usage::line(&error, arguments)),
    }
}
