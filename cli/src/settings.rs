//! The configuration of a command: `config.toml`, the environment, and the address of a store on the command line.

use std::path::PathBuf;

use clap::Args;
use leasehold::{Config, ConfigError};

/// The place of a configuration, as every command takes it.
#[derive(Args)]
pub(crate) struct Source {
    /// The configuration file [default: the one that LEASEHOLD_CONFIG names, else config.toml if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The address of the store, in place of store.url
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

impl Source {
    /// Reads the configuration as an application would. Variables named `LEASEHOLD_…` override the file, and the address
    /// on the command line overrides both.
    pub(crate) fn config(&self) -> Result<Config, ConfigError> {
        let mut config = match &self.config {
            Some(file) => Config::from_file(file)?,
            None => Config::load()?,
        };
        if let Some(url) = &self.store {
            config.store.url = url.as_str().into();
            config.check()?;
        }
        Ok(config)
    }
}
