//! `leasehold completions` and `leasehold man`: what shells and `man` know of the command.

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::Command;
use clap_complete::Shell;

use crate::Failure;

/// Writes completions for a shell to the standard output
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  leasehold completions bash > ~/.local/share/bash-completion/completions/leasehold"
)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// Writes the manual page to the standard output, or a page for each command into a folder
#[derive(clap::Args)]
#[command(after_help = "Example:\n  leasehold man | man -l -\n  leasehold man --to ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// The folder, which is made if it is not there
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

pub(crate) fn completions(options: &Completions, mut command: Command) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "leasehold", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(options: &Man, command: Command) -> Result<ExitCode, Failure> {
    match &options.to {
        Some(folder) => {
            let told = |error| format!("cannot write to {}: {error}", folder.display());
            fs::create_dir_all(folder).map_err(told)?;
            clap_mangen::generate_to(command, folder).map_err(told)?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command.disable_help_subcommand(true)).render(&mut page)?;
            io::stdout().write_all(&page)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
