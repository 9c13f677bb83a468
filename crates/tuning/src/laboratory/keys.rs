//! Keys of TOML tables, and what is wrong with them.

use leasehold::{Config, ConfigError, InvalidValue, rules::without_addresses};
use toml::{Table, Value};

/// Returns the error of a text that cannot be read, in one line: without the text itself, which may contain a password.
pub(super) fn parse_error(origin: &str, text: &str, error: &toml::de::Error) -> ConfigError {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| format!("line {}: ", 1 + before.matches('\n').count()));
    let message = format!("{}{}", line.unwrap_or_default(), error.message()).replace('\n', " ");
    ConfigError::Parse { origin: origin.to_owned(), message: without_addresses(&message) }
}

/// Returns true if a key belongs to a section of a configuration. Others are those of the workload itself.
pub(super) fn is_setting(key: &str) -> bool {
    let section = key.split('.').next().unwrap_or_default();
    toml::from_str::<Table>(Config::DEFAULT_TOML).is_ok_and(|sections| sections.contains_key(section))
}

/// Sets a value in a table, below a key with dots.
pub(super) fn set(table: &mut Table, key: &str, value: Value) -> Result<(), InvalidValue> {
    let mut steps: Vec<&str> = key.split('.').collect();
    let last = steps.pop().filter(|last| !last.is_empty());
    let Some(last) = last else { return Err(InvalidValue::new("key", key, "words with dots between them")) };
    let mut inner = table;
    for step in steps {
        let next = inner.entry(step).or_insert_with(|| Value::Table(Table::new()));
        inner = next.as_table_mut().ok_or_else(|| {
            InvalidValue::new(
                key,
                "a value below a value",
                format!("{step} is no section with keys of its own"),
            )
        })?;
    }
    inner.insert(last.to_owned(), value);
    Ok(())
}

/// Returns the value that a text on the command line stands for: whatever TOML makes of it, and else a string.
pub(super) fn typed(text: &str) -> Value {
    let parsed: Result<Table, _> = toml::from_str(&format!("value = {text}"));
    let value = parsed.ok().and_then(|mut table| table.remove("value"));
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}
