//! The token of the console: from a file, or from the environment. It is never an argument, which everybody could read.

use std::{env, fs, path::Path};

use crate::Failure;

const VARIABLE: &str = "LEASEHOLD_CONSOLE_TOKEN";

/// Reads the token. A file goes before the environment.
pub(super) fn read(file: Option<&Path>) -> Result<Option<String>, Failure> {
    let text = match file {
        Some(file) => {
            let text = fs::read_to_string(file);
            Some(text.map_err(|error| format!("cannot read the token in {}: {error}", file.display()))?)
        }
        None => match env::var(VARIABLE) {
            Ok(text) => Some(text),
            Err(env::VarError::NotPresent) => None,
            Err(env::VarError::NotUnicode(_)) => return Err(format!("{VARIABLE} is not text").into()),
        },
    };
    Ok(text.map(|text| text.trim().to_owned()))
}
