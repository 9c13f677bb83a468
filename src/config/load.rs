//! The ways to a configuration: a file, a text, or the environment.

use std::{
    env,
    ffi::OsString,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use crate::config::{Config, ConfigError, sources::ConfigSources, variables};

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
        let (path, mut sources) = (Path::new("config.toml"), ConfigSources::defaults());
        if is_there(path)? {
            sources = sources.found_file(path, &text(path)?)?;
        }
        sources.variables(env::vars_os())?.checked()
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
            if is_there(&path)? {
                return Self::from_file(path);
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
        ConfigSources::defaults().file(path, &text(path)?)?.variables(env::vars_os())?.checked()
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

fn text(path: &Path) -> Result<String, ConfigError> {
    fs::read_to_string(path).map_err(|source| ConfigError::Io { path: path.to_owned(), source })
}

/// Returns true if there is a file, as far as this process may see.
fn is_there(path: &Path) -> Result<bool, ConfigError> {
    match fs::metadata(path) {
        Ok(found) => Ok(!found.is_dir()),
        Err(source) => match source.kind() {
            // The folder may be one that this process may not search, or no folder.
            ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::NotADirectory => Ok(false),
            _ => Err(ConfigError::Io { path: path.to_owned(), source }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sources that count when a file of this text is found, and the TTL in seconds.
    fn found(text: &str) -> Result<(Vec<String>, u64), ConfigError> {
        let config = ConfigSources::defaults().found_file(Path::new("/its/file.toml"), text)?.checked()?;
        Ok((config.sources().to_vec(), config.lease.ttl.as_secs()))
    }

    #[test]
    fn a_file_is_ours_by_its_table_or_a_section_and_an_error_names_it_and_the_variable_for_another_one() {
        let (ours, foreign) = (|ttl| Ok((vec!["/its/file.toml".to_owned()], ttl)), || Ok((vec![], 30)));
        for (text, expected) in [
            ("", ours(30)),
            ("lease.ttl = '7s'", ours(7)),
            ("[leasehold]", ours(30)),
            ("[leasehold.lease]\nttl = '7s'", ours(7)),
            ("[leasehold.lease]\nttl = '7s'\n[lease]\nttl = 5\n[store]\nkind = 'books'\n[database]", ours(7)),
            ("title = 'a page'\nbaseURL = 'https://example.org'\n[params]\nlease = 1", foreign()),
            ("[database]\nurl = 'postgres://h'", foreign()),
            ("[lease\n", Err("line 1: unclosed table")),
            ("lease.ttl = 10", Err("lease.ttl: invalid type")),
            ("lease.ttl = '1ms'", Err("invalid lease.ttl: 1ms")),
            ("lease.ttl = '30s'\nbackoff.max = '0s'", Err("invalid backoff.initial")),
            ("[lease]\nttl = '30s'\n[params]\nx = 1", Err("params: unknown section")),
            ("leasehold = 'mine'", Err("leasehold: a table [leasehold] was expected, not a value")),
            ("[leasehold.leese]", Err("[leasehold]: leese: unknown section")),
            ("[leasehold.store]\nurl = 'http://h'", Err("[leasehold]: invalid store.url")),
            ("leasehold.lease.ttl = '1ms'", Err("[leasehold]: invalid lease.ttl: 1ms")),
        ] {
            match (found(text), expected) {
                (Ok(told), Ok(expected)) => assert_eq!(told, expected, "{text}"),
                (Err(told), Err(reason)) => {
                    for part in ["/its/file.toml", "LEASEHOLD_CONFIG", reason] {
                        assert!(told.to_string().contains(part), "{text}: {told}");
                    }
                }
                (told, _) => panic!("{text}: {told:?}"),
            }
        }
    }

    #[test]
    fn a_folder_that_cannot_be_read_has_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let below = |path: &str| folder.path().join(path);
        fs::write(below("file"), "").unwrap();
        fs::create_dir(below("config.toml")).unwrap();
        for path in ["nowhere/config.toml", "file/config.toml", "config.toml"].map(below) {
            assert!(matches!(is_there(&path), Ok(false)), "{}", path.display());
        }
    }
}
