//! Times: as people read them, and in seconds for programs.

use std::time::{Duration, SystemTime};

use serde::Serializer;

/// Formats a duration as precisely as a reader needs: `340ms`, `1.2s`, `42s`, `3m 20s`, `2days 4h`.
pub(crate) fn span(span: Duration) -> String {
    let millis = span.as_millis();
    match millis {
        0..1_000 => format!("{millis}ms"),
        1_000..10_000 => format!("{}.{}s", millis / 1_000, millis % 1_000 / 100),
        _ => {
            let whole = humantime::format_duration(Duration::from_secs(span.as_secs())).to_string();
            whole.split(' ').take(2).collect::<Vec<_>>().join(" ")
        }
    }
}

/// Formats a time as `2026-01-31T08:30:00.250Z`. The format has the years 1970 to 9999: a time before or after them is the
/// nearest one of these.
pub(crate) fn stamp(time: SystemTime) -> String {
    const END: Duration = Duration::from_millis(253_402_300_799_999);
    let time = time.clamp(SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH + END);
    humantime::format_rfc3339_millis(time).to_string()
}

/// Writes a duration as a number of seconds.
pub(crate) fn seconds<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(in_seconds(*span))
}

/// Writes a duration as a number of seconds, and `null` where it is not known.
pub(crate) fn seconds_if_known<S: Serializer>(span: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    match span {
        Some(span) => to.serialize_some(&in_seconds(*span)),
        None => to.serialize_none(),
    }
}

/// Returns the seconds, to the millisecond.
fn in_seconds(span: Duration) -> f64 {
    span.as_millis() as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_as_precise_as_a_reader_needs() {
        for (millis, expected) in [
            (0, "0ms"),
            (340, "340ms"),
            (1_250, "1.2s"),
            (42_900, "42s"),
            (200_000, "3m 20s"),
            (3_600_000, "1h"),
            (187_265_000, "2days 4h"),
        ] {
            assert_eq!(span(Duration::from_millis(millis)), expected);
        }
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
