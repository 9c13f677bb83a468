//! The configuration of a command: a file, the environment, and the address of a store on the command line.

use std::{env, path::PathBuf};

use clap::Args;
use leasehold::{Config, ConfigError, StoreUrl};

/// The place of a configuration, as every command takes it.
#[derive(Args)]
pub(crate) struct Source {
    /// The configuration file [default: the one that LEASEHOLD_CONFIG names, else ~/.config/leasehold/config.toml or
    /// /etc/leasehold/config.toml if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The address of the store, in place of store.url
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

impl Source {
    /// Reads the configuration. Variables named `LEASEHOLD_…` override the file, and the address on the command line overrides
    /// both. The working directory does not matter: a lock must not depend on where a command was started.
    pub(crate) fn config(&self) -> Result<Config, ConfigError> {
        let mut config = match &self.config {
            Some(file) => Config::from_file(file)?,
            None => Config::load_first(usual_files())?,
        };
        if let Some(url) = &self.store {
            config.store.url = url.as_str().into();
            config.add_source("--store");
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

/// Returns the files of this user and of this machine.
fn usual_files() -> impl Iterator<Item = PathBuf> {
    const NAME: &str = "leasehold/config.toml";
    let own = env::home_dir().filter(|home| home.is_absolute()).map(|home| home.join(".config").join(NAME));
    own.into_iter().chain([PathBuf::from("/etc").join(NAME)])
}

/// Returns the sources of a configuration in words.
pub(crate) fn in_words(config: &Config) -> String {
    match config.sources() {
        [] => "the defaults".to_owned(),
        sources => sources.join(", "),
    }
}
