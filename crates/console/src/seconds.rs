//! Times in JSON: numbers of seconds, in fields that end in `_seconds` or `_seconds_ago`.

use serde::{Serialize, Serializer};

/// Writes milliseconds.
pub(crate) fn of_millis<S: Serializer>(millis: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(*millis as f64 / 1e3)
}

/// Writes milliseconds; `null` if they are not known.
pub(crate) fn of_known_millis<S: Serializer>(millis: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    millis.map(|millis| millis as f64 / 1e3).serialize(to)
}
