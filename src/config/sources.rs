//! The sources of settings: the embedded defaults, then a text, then environment variables.

use std::{collections::BTreeMap, ffi::OsString, fmt::Display, path::Path};

use toml::{Table, Value};

use crate::config::{
    Config, ConfigError,
    variables::{FILE, Meaning, PREFIX, another_file, is_near_store, meaning},
};

/// The settings of all sources so far. A later source overrides an earlier one.
pub(super) struct ConfigSources {
    merged: Table,
    config: Config,
    /// The settings that a source named, such as `lease.ttl`, each with that source. The embedded file does not count.
    said: BTreeMap<String, String>,
}

/// The table that settings stand below in the file of an application, which has others.
const TABLE: &str = "leasehold";

/// One setting, as one source gives it.
struct GivenSetting {
    origin: String,
    section: String,
    key: String,
    value: Value,
}

impl ConfigSources {
    /// Returns the settings of the embedded `config.toml`.
    pub(super) fn defaults() -> Self {
        const VALID: &str = "the embedded config.toml is tested to be valid";
        let merged: Table = toml::from_str(Config::DEFAULT_TOML).expect(VALID);
        let config = merged.clone().try_into().expect(VALID);
        Self { merged, config, said: BTreeMap::new() }
    }

    pub(super) fn text(self, origin: &str, text: &str) -> Result<Self, ConfigError> {
        self.table(origin, origin, parsed(origin, text)?)
    }

    pub(super) fn file(self, path: &Path, text: &str) -> Result<Self, ConfigError> {
        let origin = another_file(path);
        self.table(path.display(), &origin, parsed(&origin, text)?)
    }

    /// Adds the settings of a file that was found in a folder which may be somebody else's. It is passed over if it belongs
    /// to them: it has other tables, and neither one for this library nor any of its sections.
    pub(super) fn found_file(self, path: &Path, text: &str) -> Result<Self, ConfigError> {
        let (path, origin) = (path.display(), another_file(path));
        let table = parsed(&origin, text)?;
        let is_ours = |name: &String| name == TABLE || self.merged.contains_key(name);
        if table.is_empty() || table.keys().any(is_ours) {
            return self.table(path, &origin, table);
        }
        tracing::warn!(
            "{path} is passed over: it has no table [{TABLE}] and no section of this library; {FILE} can name another file"
        );
        Ok(self)
    }

    /// Adds the settings of a source of this name, which errors call `origin`.
    fn table(mut self, name: impl Display, origin: &str, mut table: Table) -> Result<Self, ConfigError> {
        self.config.add_source(&name.to_string());
        let (origin, sections) = match table.remove(TABLE) {
            Some(Value::Table(own)) => (format!("{origin}: [{TABLE}]"), own),
            Some(_) => {
                let message = format!("{TABLE}: a table [{TABLE}] was expected, not a value");
                return Err(ConfigError::parse(origin, message));
            }
            None => (origin.to_owned(), table),
        };
        let mut settings = Vec::new();
        for (section, body) in sections {
            if !self.merged.contains_key(&section) {
                let known: Vec<&str> = self.merged.keys().map(String::as_str).collect();
                let known = known.join(", ");
                let message = format!("{section}: unknown section `{section}`, expected one of {known}");
                return Err(ConfigError::parse(&origin, message));
            }
            let Value::Table(body) = body else {
                let message = format!("{section}: a section [{section}] was expected, not a value");
                return Err(ConfigError::parse(&origin, message));
            };
            settings.extend(body.into_iter().map(|(key, value)| GivenSetting {
                origin: origin.clone(),
                section: section.clone(),
                key,
                value,
            }));
        }
        self.apply(settings)?;
        Ok(self)
    }

    /// Adds the settings of variables named `LEASEHOLD_<SECTION>_<KEY>`. Others are ignored.
    pub(super) fn variables(
        mut self,
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Result<Self, ConfigError> {
        let named = variables.into_iter().map(|(name, value)| {
            let name: OsString = name.into();
            (name.to_string_lossy().into_owned(), value.into())
        });
        let mut ours: Vec<(String, OsString)> =
            named.filter(|(name, _)| name.starts_with(PREFIX) && name != FILE).collect();
        // The environment has no order, and the error that is shown should not depend on it.
        ours.sort();
        let (mut settings, mut foreign) = (Vec::new(), Vec::new());
        for (name, value) in ours {
            match meaning(&name, &self.merged) {
                Meaning::Setting(section, key) => {
                    self.config.add_source(&name);
                    settings.push(self.variable(name, section, key, value)?);
                }
                Meaning::Misspelt(likely) => {
                    let message = format!("unknown variable; did you mean {likely}?");
                    return Err(ConfigError::parse(&shown(&name), message));
                }
                Meaning::Foreign => foreign.push((name, value)),
            }
        }
        if !foreign.is_empty() {
            let names: Vec<String> = foreign.iter().map(|(name, _)| shown(name)).collect();
            tracing::debug!(variables = names.join(" "), "passing over variables that name no setting");
        }
        self.apply(settings)?;
        match foreign.iter().find(|(name, value)| is_near_store(name, value)) {
            // Without it, locks would be in the memory of each process.
            Some((name, _)) if !self.said.contains_key("store.url") => {
                let message = "unknown variable, and store.url is not set; did you mean LEASEHOLD_STORE_URL?";
                Err(ConfigError::parse(&shown(name), message))
            }
            _ => Ok(self),
        }
    }

    /// Returns the configuration of all sources, later ones over earlier ones.
    pub(super) fn config(mut self) -> Config {
        self.config.follow(|setting| self.said.contains_key(setting));
        self.config
    }

    /// Returns the same if it is valid. The error names the source of what is not.
    pub(super) fn checked(self) -> Result<Config, ConfigError> {
        let said = self.said.clone();
        let config = self.config();
        config.check().map_err(|error| match error {
            ConfigError::Invalid(invalid) => {
                // What has the default of a setting may contradict what was set.
                let other = || said.iter().find(|(setting, _)| invalid.allowed.contains(&***setting));
                match said.get(&invalid.field).or_else(|| other().map(|(_, origin)| origin)) {
                    Some(origin) => ConfigError::OutOfBounds { origin: origin.clone(), invalid },
                    None => ConfigError::Invalid(invalid),
                }
            }
            other => other,
        })?;
        Ok(config)
    }

    fn variable(
        &self,
        name: String,
        section: &str,
        key: &str,
        value: OsString,
    ) -> Result<GivenSetting, ConfigError> {
        let Ok(text) = value.into_string() else {
            return Err(ConfigError::parse(&name, format!("{section}.{key}: the value is not valid UTF-8")));
        };
        // A variable has no type, and no setting takes both a string and something else.
        let number = || text.parse().map(Value::Integer).or_else(|_| text.parse().map(Value::Float));
        let value = match text.parse().map(Value::Boolean).or_else(|_| number()) {
            Ok(value) if self.with(section, key, value.clone()).is_ok() => value,
            _ => Value::String(text),
        };
        Ok(GivenSetting { origin: name, section: section.to_owned(), key: key.to_owned(), value })
    }

    /// Adds the settings of one source, and refuses those that contradict each other.
    fn apply(&mut self, settings: Vec<GivenSetting>) -> Result<(), ConfigError> {
        let mut backoff_key = None;
        for GivenSetting { origin, section, key, value } in settings {
            (self.merged, self.config) = self
                .with(&section, &key, value)
                .map_err(|message| ConfigError::parse(&origin, format!("{section}.{key}: {message}")))?;
            self.said.insert(format!("{section}.{key}"), origin.clone());
            if section == "backoff" && key != "preset" {
                backoff_key.get_or_insert((origin, key));
            }
        }
        match (backoff_key, self.merged["backoff"].get("preset")) {
            (Some((origin, key)), Some(preset)) => {
                let message =
                    format!("backoff.{key} contradicts backoff.preset = {preset}; set one or the other");
                Err(ConfigError::parse(&origin, message))
            }
            _ => Ok(()),
        }
    }

    /// Returns the settings with one more, of a section that there is. It is tried alone, so that an error can only be about
    /// this one.
    fn with(&self, section: &str, key: &str, value: Value) -> Result<(Table, Config), String> {
        let mut merged = self.merged.clone();
        if let Some(Value::Table(body)) = merged.get_mut(section) {
            body.insert(key.to_owned(), value);
        }
        let config: Config =
            merged.clone().try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        Ok((merged, Config { read_from: self.config.read_from.clone(), ..config }))
    }
}

fn parsed(origin: &str, text: &str) -> Result<Table, ConfigError> {
    toml::from_str(text).map_err(|error| {
        // The rendered error would show the line itself, which may contain a password.
        let before = error.span().and_then(|span| text.as_bytes().get(..span.start)).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        ConfigError::parse(origin, format!("line {line}: {}", error.message()))
    })
}

/// Returns the name of an unknown variable as it is shown: up to what no name has. A URL with a password may stand behind that.
fn shown(name: &str) -> String {
    match name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_') {
        Some(end) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
