//! Times in JSON: numbers of seconds, in fields that end in `_seconds`.

use std::time::Duration;

use serde::{Serialize, Serializer};

/// Writes a duration; `null` if it is not known.
pub(crate) fn if_known<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64()).serialize(to)
}
