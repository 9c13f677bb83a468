//! The target `config`: a file and variables, of which errors name the place and show no password.

use leasehold::{Config, ConfigError};
use toml::{Table, Value};

use crate::secrets;

/// The line between the file and the variables of an input.
const BETWEEN: &str = "\n---\n";

/// Reads a text as a configuration: a file, and perhaps a line `---` and variables, one a line.
pub fn config(data: &[u8]) {
    let text = secrets::planted(&String::from_utf8_lossy(data));
    let (file, variables) = text.split_once(BETWEEN).unwrap_or((&text, ""));
    let variables: Vec<(&str, &str)> = variables.lines().filter_map(|line| line.split_once('=')).collect();
    let read = |file: &str| Config::from_sources("file", file, variables.iter().copied());
    match read(file) {
        Ok(config) => {
            shows_no_password(&config);
            assert!(config.check().is_ok() && config.settings().check().is_ok(), "{config:?}");
            let table: Table = file.parse().expect("a file that was read");
            let written = toml::to_string(&table).expect("a table that was read");
            assert_eq!(read(&written).expect("the same settings"), config, "{written}");
            is_the_same_by_variables(&table, &config, &variables);
        }
        Err(error) => {
            secrets::are_kept(format!("{error} {error:?}"));
            names_its_place(&error);
            assert_eq!(read(file).expect_err("an error").to_string(), error.to_string());
        }
    }
}

fn shows_no_password(config: &Config) {
    let store = &config.store;
    let files = [&store.tls_ca, &store.tls_certificate, &store.tls_key];
    // No file has a password in its name. This one was written in the wrong place.
    if !files.iter().any(|file| secrets::is_in(&file.to_string_lossy())) {
        secrets::are_kept(format!("{config:?}"));
    }
}

fn names_its_place(error: &ConfigError) {
    let text = error.to_string();
    assert!(!text.contains('\n'), "more than one line: {text:?}");
    match error {
        ConfigError::OutOfBounds { invalid, .. } | ConfigError::Invalid(invalid) => {
            let (section, key) = invalid.field.split_once('.').expect("a section and a key");
            assert!(Config::DEFAULT_TOML.contains(&format!("[{section}]")), "{text}");
            assert!(Config::DEFAULT_TOML.contains(&format!("{key} = ")), "{text}");
        }
        ConfigError::Parse { origin, message } => {
            let (place, reason) = message.split_once(": ").unwrap_or(("", message));
            assert!(!place.is_empty() || origin.starts_with("LEASEHOLD_"), "{text}");
            assert!(!reason.is_empty(), "{text}");
        }
        other => panic!("a text leads to no such error: {other}"),
    }
}

/// Checks that the settings of a file mean the same as variables.
fn is_the_same_by_variables(table: &Table, expected: &Config, more: &[(&str, &str)]) {
    let sections = match table.get("leasehold") {
        Some(Value::Table(own)) => own,
        _ => table,
    };
    let settings = sections.iter().flat_map(|(section, body)| {
        let keys = body.as_table().into_iter().flatten();
        keys.map(move |(key, value)| (format!("LEASEHOLD_{section}_{key}").to_uppercase(), value))
    });
    let as_text = |(name, value): (String, &Value)| match value {
        Value::String(text) => Some((name, text.clone())),
        Value::Integer(number) => Some((name, number.to_string())),
        Value::Float(number) => Some((name, number.to_string())),
        Value::Boolean(flag) => Some((name, flag.to_string())),
        _ => None,
    };
    let Some(mut variables) = settings.map(as_text).collect::<Option<Vec<_>>>() else { return };
    // A variable is over the same setting of a file.
    variables.retain(|(name, _)| !more.iter().any(|(given, _)| given == name));
    variables.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let read = Config::from_sources("", "", variables).expect("the same settings as variables");
    assert_eq!(read, *expected);
}
