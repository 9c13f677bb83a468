//! The input of simulations and runs: a workload with changed settings, and the profile of a server.

use std::{
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use clap::Args;
use leasehold::ConfigError;
use leasehold_tuning::{ServerProfile, Workload};

use crate::Failure;

/// Settings that are changed on the command line.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SettingChanges {
    /// Change a setting, or a key of the workload; may be given several times: backoff.initial=80ms, arrivals.rate=300
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
}

/// The profile of a server.
#[derive(Args, Clone, Debug)]
pub(crate) struct Profile {
    /// The server's profile, as `tune measure` writes it [default: a Redis server on the same machine]
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
}

impl SettingChanges {
    /// Returns the changed keys, with their values.
    pub(crate) fn set(&self) -> &[(String, String)] {
        &self.set
    }

    /// Returns the same as texts.
    pub(crate) fn texts(&self) -> Vec<(&str, &str)> {
        self.set.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
    }

    /// Reads the workload in this file, with these keys changed.
    pub(crate) fn read(&self, file: &Path) -> Result<Workload, ConfigError> {
        Workload::from_file(file, &self.texts())
    }
}

impl Profile {
    /// Reads the profile.
    pub(crate) fn read(&self) -> Result<ServerProfile, Failure> {
        let Some(file) = &self.profile else { return Ok(ServerProfile::default()) };
        let text = fs::read_to_string(file)
            .map_err(|error| format!("cannot read the profile {}: {error}", file.display()))?;
        Ok(ServerProfile::from_toml(&text).map_err(|error| format!("{}: {error}", file.display()))?)
    }
}

/// Fails if a file that was asked for cannot be written: sooner than after the work for it. Leaves everything as it is.
pub(crate) fn check_writable(file: Option<&PathBuf>) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    let is_new = OpenOptions::new().write(true).create_new(true).open(file).map(drop);
    let checked = match is_new {
        Ok(()) => fs::remove_file(file),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => is_writable(file),
        Err(error) => Err(error),
    };
    checked.map_err(|error| cannot_write(file, &error))
}

fn is_writable(file: &Path) -> io::Result<()> {
    let about = fs::metadata(file)?;
    // To open a pipe and to close it again is the end for its reader.
    if about.is_file() || about.is_dir() {
        OpenOptions::new().write(true).open(file).map(drop)
    } else {
        Ok(())
    }
}

/// Writes a file that was asked for.
pub(crate) fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|error| cannot_write(file, &error))
}

fn cannot_write(file: &Path, error: &io::Error) -> Failure {
    format!("cannot write {}: {error}", file.display()).into()
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE, such as backoff.initial=80ms")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
