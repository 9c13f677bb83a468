//! Times in JSON: numbers of seconds, in fields that end in `_seconds` or `_seconds_ago`, and moments in UTC.

use std::time::{Duration, SystemTime};

use humantime_serde::re::humantime;
use serde::{Serialize, Serializer};

/// Writes a duration as a number of seconds, to the millisecond.
///
/// # Errors
/// The errors of the serializer.
pub fn seconds<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(in_seconds(*span))
}

/// Writes a duration as a number of seconds, and `null` where it is not known.
///
/// # Errors
/// The errors of the serializer.
pub fn seconds_if_known<S: Serializer>(span: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    span.map(in_seconds).serialize(to)
}

fn in_seconds(span: Duration) -> f64 {
    span.as_millis() as f64 / 1_000.0
}

/// Formats a moment as `2026-01-31T08:30:00.250Z`. The format has the years 1970 to 9999: a time before or after them is the
/// nearest one of these.
pub fn stamp(time: SystemTime) -> String {
    const END: Duration = Duration::from_millis(253_402_300_799_999);
    let time = time.clamp(SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH + END);
    humantime::format_rfc3339_millis(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact_to_the_millisecond() {
        assert_eq!(in_seconds(Duration::from_micros(1_234_567)), 1.234);
    }

    #[test]
    fn a_time_is_in_utc() {
        assert_eq!(stamp(SystemTime::UNIX_EPOCH + Duration::from_millis(250)), "1970-01-01T00:00:00.250Z");
    }

    #[test]
    fn a_time_that_the_format_does_not_have_is_the_nearest_one() {
        let far = Duration::from_secs(1_000_000_000_000);
        assert_eq!(stamp(SystemTime::UNIX_EPOCH + far), "9999-12-31T23:59:59.999Z");
        assert_eq!(stamp(SystemTime::UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000Z");
    }
}
