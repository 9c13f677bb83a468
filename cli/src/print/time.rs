//! Durations as people read them.

use std::time::Duration;

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
    }
}
