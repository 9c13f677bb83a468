//! The reasons why a configuration is refused.

use std::{io, path::PathBuf};

use crate::{
    config::variables::another_file,
    core::{InvalidValue, readable_debug, without_addresses},
    request::StartError,
};

/// A configuration that cannot be used. Nothing was started, and nothing was sent to a store.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}", another_file(path))]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The reason why it cannot be read.
        #[source]
        source: io::Error,
    },
    /// One setting is unknown or invalid, whatever the others are.
    #[error("{origin}: {message}")]
    Parse {
        /// The file, or the environment variable.
        origin: String,
        /// The setting, what was found, and what is allowed. One line.
        message: String,
    },
    /// A setting that a source gave is out of its bounds, or contradicts another one.
    #[error("{origin}: {invalid}")]
    OutOfBounds {
        /// The file, or the environment variable.
        origin: String,
        /// The setting, what was found, and what is allowed.
        invalid: InvalidValue,
    },
    /// A setting that code gave is out of its bounds, or contradicts another one.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// The configuration is valid, but the lock manager does not start.
    #[error(transparent)]
    Start(#[from] StartError),
}

impl ConfigError {
    /// Creates the error of an invalid setting, in one line and without a password.
    pub(super) fn parse(origin: &str, message: impl Into<String>) -> Self {
        let message = without_addresses(&message.into().replace('\n', " "));
        Self::Parse { origin: origin.to_owned(), message }
    }
}

readable_debug!(ConfigError);
