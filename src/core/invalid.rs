//! The refusal of an invalid value: its field, the value, and the allowed values.

use std::{error, fmt, time::Duration};

use crate::core::{cut, exact};

/// A value from outside that is refused before anything is sent to a store.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidValue {
    /// The name of the field, as written in the API or in `config.toml` (`lease.ttl`).
    pub field: String,
    /// The given value, shortened if it is long.
    pub value: String,
    /// The allowed values, in words.
    pub allowed: String,
}

impl InvalidValue {
    /// Creates a refusal from the field, the value and the allowed values. A value longer than 80 characters is cut.
    pub fn new(field: impl Into<String>, value: impl fmt::Display, allowed: impl Into<String>) -> Self {
        const SHOWN: usize = 80;
        let (field, value) = (field.into(), value.to_string());
        // The store's own words about its address show nothing secret.
        let value = if field == "store.url" { value } else { without_addresses(&value) };
        Self { field, value: cut(&value, SHOWN), allowed: allowed.into() }
    }
}

/// Returns a text without what follows `://`, which may contain a password wherever it was meant to stand. What an
/// error says behind the value in quotes stays.
pub fn without_addresses(text: &str) -> String {
    const SEPARATOR: &str = "://";
    let Some(at) = text.find(SEPARATOR) else { return text.to_owned() };
    let (shown, hidden) = text.split_at(at + SEPARATOR.len());
    let end = ["\", expected", "`, expected"].iter().filter_map(|end| hidden.rfind(end)).max();
    format!("{shown}…{}", end.map_or("", |end| &hidden[end..]))
}

/// Refuses a duration outside of its bounds.
///
/// # Errors
/// [`InvalidValue`], which names the field, the value and both bounds.
pub fn in_range(field: &str, value: Duration, least: Duration, most: Duration) -> Result<(), InvalidValue> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(InvalidValue::new(field, exact(value), format!("{} to {}", exact(least), exact(most))))
}

/// Refuses a value that is not allowed.
pub(crate) fn ensure(
    is_allowed: bool,
    field: &str,
    value: impl fmt::Display,
    allowed: impl Into<String>,
) -> Result<(), InvalidValue> {
    if is_allowed { Ok(()) } else { Err(InvalidValue::new(field, value, allowed)) }
}

/// Refuses a number that is zero.
pub(crate) fn not_zero<N: Default + PartialEq + fmt::Display>(
    field: &str,
    value: N,
) -> Result<(), InvalidValue> {
    ensure(value != N::default(), field, value, "1 or more")
}

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, value, allowed } = self;
        write!(f, "invalid {field}: {value} (allowed: {allowed})")
    }
}

impl error::Error for InvalidValue {}

super::readable_debug!(InvalidValue);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_is_cut_after_80_characters_and_debug_shows_the_same_text() {
        let refused = InvalidValue::new("owner", "ü".repeat(81), "1 to 512 bytes");
        let text = format!("invalid owner: {}… (allowed: 1 to 512 bytes)", "ü".repeat(80));
        assert_eq!(
            (refused.to_string(), format!("{refused:?}")),
            (text.clone(), format!("InvalidValue({text})"))
        );
        assert_eq!(InvalidValue::new("owner", "ü".repeat(80), "").value, "ü".repeat(80));
    }
    #[test]
    fn an_address_is_hidden_and_the_bounds_are_told() {
        let told = |text| InvalidValue::new("lease.ttl", text, "").value;
        assert_eq!(told("`redis://me:secret@h`, expected a duration"), "`redis://…`, expected a duration");
        let secs = Duration::from_secs;
        let refused = in_range("lease.ttl", secs(9), secs(1), secs(8)).unwrap_err();
        assert_eq!(refused.to_string(), "invalid lease.ttl: 9s (allowed: 1s to 8s)");
        assert_eq!((in_range("", secs(8), secs(1), secs(8)), not_zero("", 1)), (Ok(()), Ok(())));
        assert_eq!(not_zero("n", 0).unwrap_err().to_string(), "invalid n: 0 (allowed: 1 or more)");
    }
}
