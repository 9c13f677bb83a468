//! The configuration of a command: `config.toml`, the environment, and the address of a store on the command line.

use std::path::PathBuf;

use clap::Args;
use leasehold::{Config, ConfigError, StoreUrl};

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

    /// Returns the words that say the same again, without a password. It has to be added.
    pub(crate) fn typed(&self) -> Vec<String> {
        let file = self.config.iter().map(|file| format!("--config={}", file.display()));
        let store = self.store.iter().map(|url| format!("--store={}", StoreUrl::from(url.as_str())));
        file.chain(store).collect()
    }
}
