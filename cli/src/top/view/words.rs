//! Figures as text: durations, counts and rates, each in few columns.

use std::time::Duration;

/// Stands for a figure that is not known.
pub(super) const UNKNOWN: &str = "-";

/// Returns a duration in at most six columns: `350ms`, `4.2s`, `3m05s`, `2h05m`, `12d04h`.
pub(super) fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 if time.is_zero() => "0s".to_owned(),
        0 => format!("{}ms", time.as_millis()),
        1..60 => format!("{seconds}.{}s", time.subsec_millis() / 100),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// Returns a duration, or a sign that it is not known.
pub(super) fn maybe(known: Option<Duration>) -> String {
    known.map_or_else(|| UNKNOWN.to_owned(), time)
}

/// Returns a number with a comma after each thousand.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns events a second, with a digit behind the point while there are few.
pub(super) fn rate(rate: f64) -> String {
    match rate < 100.0 {
        true => format!("{rate:.1}"),
        false => count(rate.round() as u64),
    }
}

/// Shortens a text to this many characters. The end of a name tells as much as its beginning, so its middle goes.
pub(super) fn shorten(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let (front, back) = (kept.div_ceil(2), kept / 2);
    let start: String = text.chars().take(front).collect();
    let end: String = text.chars().skip(length - back).collect();
    if width == 0 { String::new() } else { format!("{start}…{end}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_fits_into_six_columns() {
        for (millis, expected) in [
            (0, "0s"),
            (1, "1ms"),
            (999, "999ms"),
            (1_000, "1.0s"),
            (1_949, "1.9s"),
            (59_999, "59.9s"),
            (60_000, "1m00s"),
            (3_599_999, "59m59s"),
            (7_500_000, "2h05m"),
            (99 * 86_400_000, "99d00h"),
        ] {
            assert_eq!(time(Duration::from_millis(millis)), expected);
        }
    }

    #[test]
    fn counts_have_commas_and_small_rates_a_point() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.26, 99.94, 1_234.6].map(rate), ["0.3", "99.9", "1,235"]);
    }

    #[test]
    fn the_middle_of_a_long_name_goes() {
        assert_eq!(shorten("orders/2026/0001", 9), "orde…0001");
        assert_eq!(shorten("köln", 4), "köln");
        assert_eq!([shorten("abc", 2), shorten("abc", 1), shorten("abc", 0)], ["a…", "…", ""]);
    }
}
