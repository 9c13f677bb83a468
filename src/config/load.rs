//! The ways to a configuration: a file, a text, or the environment.

use std::{
    env,
    ffi::OsString,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use crate::config::{Config, ConfigError, sources::ConfigSources, variables};

/// The name of the file in the working directory of an application.
const USUAL: &str = "config.toml";

impl Config {
    /// Reads the configuration from the usual places: the one way to start that suits most applications.
    ///
    /// The file is the one that the variable `LEASEHOLD_CONFIG` names. Without that variable it is `config.toml` in
    /// the working directory, if it is there. Settings that it leaves out have their defaults, and variables named
    /// `LEASEHOLD_<SECTION>_<KEY>` override it.
    ///
    /// An application has its own settings in the same file if those for locks stand below a table `[leasehold]`:
    /// `[leasehold.lease]`. Then the rest of the file is not read. A `config.toml` that has neither this table nor any section
    /// of this library belongs to somebody else: it is passed over, and a warning says so.
    ///
    /// # Errors
    /// [`ConfigError`] when a file that is named, or is there, cannot be read, or when its content or the environment
    /// is invalid.
    pub fn load() -> Result<Self, ConfigError> {
        if let Some(path) = env::var_os(variables::FILE) {
            return Self::from_file(path);
        }
        match found(Path::new(USUAL))? {
            Some(sources) => sources.variables(env::vars_os())?.checked(),
            None => Self::from_env(),
        }
    }

    /// Reads the file that the variable `LEASEHOLD_CONFIG` names, or without it the first of these files that is there, or
    /// none. The environment of the process overrides it. It is for commands, which do not depend on the working directory.
    ///
    /// A folder that is not there, or that may not be searched, has no file.
    ///
    /// # Errors
    /// [`ConfigError`] as for [`load`](Self::load).
    pub fn load_first(files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Result<Self, ConfigError> {
        if let Some(path) = env::var_os(variables::FILE) {
            return Self::from_file(path);
        }
        for path in files {
            let path = path.into();
            if let Some(text) = text_if_there(&path)? {
                return ConfigSources::defaults().file(&path, &text)?.variables(env::vars_os())?.checked();
            }
        }
        Self::from_env()
    }

    /// Reads a file. The environment of the process overrides it. If it has a table `[leasehold]`, only that is read.
    ///
    /// # Errors
    /// [`ConfigError`] when the file cannot be read, or when its content or the environment is invalid.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let text = text(path)?;
        ConfigSources::defaults().file(path, &text)?.variables(env::vars_os())?.checked()
    }

    /// Reads the environment of the process and no file. Settings that it leaves out have their defaults.
    ///
    /// # Errors
    /// [`ConfigError`] when the environment is invalid.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_sources("", "", env::vars_os())
    }

    /// Reads a text. Settings that it leaves out have their defaults. The environment is not read.
    ///
    /// # Errors
    /// [`ConfigError`] when the text is invalid.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        Self::from_sources("config", text, [("", ""); 0])
    }

    /// Reads a text, which errors call `origin`, and these variables instead of the environment.
    ///
    /// # Errors
    /// [`ConfigError`] when they are invalid.
    pub fn from_sources(
        origin: &str,
        text: &str,
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Result<Self, ConfigError> {
        ConfigSources::defaults().text(origin, text)?.variables(variables)?.checked()
    }
}

impl Default for Config {
    /// Returns the embedded [`DEFAULT_TOML`](Self::DEFAULT_TOML).
    fn default() -> Self {
        ConfigSources::defaults().config()
    }
}

/// Returns the settings of a file that was not named; `None` if there is none, or if it belongs to somebody else.
fn found(path: &Path) -> Result<Option<ConfigSources>, ConfigError> {
    let Some(text) = text_if_there(path)? else { return Ok(None) };
    let sources = ConfigSources::defaults().found_file(path, &text)?;
    if sources.is_none() {
        tracing::warn!(
            "{} is passed over: it has no table [leasehold] and no section of this library; {} can name another file",
            path.display(),
            variables::FILE
        );
    }
    Ok(sources)
}

fn text(path: &Path) -> Result<String, ConfigError> {
    fs::read_to_string(path).map_err(|source| ConfigError::Io { path: path.to_owned(), source })
}

/// Returns the text of a file; `None` if there is none, as far as this process may see.
fn text_if_there(path: &Path) -> Result<Option<String>, ConfigError> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(None),
        Ok(_) => text(path).map(Some),
        Err(source) => match source.kind() {
            // The folder may be one that this process may not search, or no folder.
            ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::NotADirectory => Ok(None),
            _ => Err(ConfigError::Io { path: path.to_owned(), source }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the TTL in seconds that a file of this text sets; `None` if it belongs to somebody else.
    fn ttl(text: &str) -> Result<Option<u64>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(USUAL);
        fs::write(&path, text).unwrap();
        let config = found(&path).and_then(|found| found.map(ConfigSources::checked).transpose());
        let config = config.map_err(|error| {
            let told = error.to_string();
            assert!(
                told.contains(&path.display().to_string()) && told.contains("LEASEHOLD_CONFIG"),
                "{told}"
            );
            told
        })?;
        if let Some(config) = &config {
            assert_eq!(config.sources(), [path.display().to_string()]);
        }
        Ok(config.map(|config| config.lease.ttl.as_secs()))
    }

    #[test]
    fn a_file_is_ours_if_it_has_a_table_or_a_section_of_ours() {
        for (text, expected) in [
            ("", Some(30)),
            ("lease.ttl = '7s'", Some(7)),
            ("[leasehold]", Some(30)),
            ("[leasehold.lease]\nttl = '7s'", Some(7)),
            ("[leasehold.lease]\nttl = '7s'\n[lease]\nttl = 5\n[store]\nkind = 'books'\n[database]", Some(7)),
            ("title = 'a page'\nbaseURL = 'https://example.org'\n[params]\nlease = 1", None),
            ("[database]\nurl = 'postgres://h'", None),
        ] {
            assert_eq!(ttl(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn an_error_about_a_file_names_it_and_the_variable_for_another_one() {
        for (text, reason) in [
            ("[lease\n", "line 1: unclosed table"),
            ("lease.ttl = 10", "lease.ttl: invalid type"),
            ("lease.ttl = '1ms'", "invalid lease.ttl: 1ms"),
            ("lease.ttl = '30s'\nbackoff.max = '0s'", "invalid backoff.initial"),
            ("[lease]\nttl = '30s'\n[params]\nx = 1", "params: unknown section"),
            ("leasehold = 'mine'", "leasehold: a table [leasehold] was expected, not a value"),
            ("[leasehold.leese]", "[leasehold]: leese: unknown section"),
            ("[leasehold.store]\nurl = 'http://h'", "[leasehold]: invalid store.url"),
            ("leasehold.lease.ttl = '1ms'", "[leasehold]: invalid lease.ttl: 1ms"),
        ] {
            let told = ttl(text).unwrap_err();
            assert!(told.contains(reason), "{text}: {told}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_read_has_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        fs::create_dir(folder.path().join(USUAL)).unwrap();
        for path in [folder.path().join("nowhere").join(USUAL), file.join(USUAL), folder.path().join(USUAL)] {
            assert!(matches!(text_if_there(&path), Ok(None)), "{}", path.display());
        }
    }
}
