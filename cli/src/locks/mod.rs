//! The commands about locks: who holds what, who waits, and how an operator takes one back.

mod capacity;
mod force;
mod ls;
pub(crate) mod name;
mod release;
mod revoke;
mod show;
mod ticket;
mod watch;

use std::process::ExitCode;

use clap::Subcommand;

pub(crate) use self::ls::{ALL_THAT_CAN_BE, Page, Walked};
use crate::Failure;

/// The commands about locks.
#[derive(Subcommand)]
pub(crate) enum Command {
    Ls(ls::Options),
    Show(show::Options),
    Watch(watch::Options),
    Acquire(ticket::Asked),
    Renew(ticket::Renewed),
    Release(release::Options),
    Revoke(revoke::Options),
    ForceRelease(force::Options),
    Capacity(capacity::Options),
}

pub(crate) fn run(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Ls(options) => ls::run(options),
        Command::Show(options) => show::run(options),
        Command::Watch(options) => watch::run(options),
        Command::Acquire(options) => ticket::acquire(options),
        Command::Renew(options) => ticket::renew(options),
        Command::Release(options) => release::run(options),
        Command::Revoke(options) => revoke::run(options),
        Command::ForceRelease(options) => force::run(options),
        Command::Capacity(options) => capacity::run(options),
    }
}
